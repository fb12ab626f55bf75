/* The DMA engine of npu_dma.h on a PL-330, without an operating system.
 *
 * Compile npu_pl330.c, what `npu-opt -t pl330-c` prints, and the program itself with
 * NPU_DMA_EXTERNAL defined, then
 *
 *     extern const npu_pl330_program net_programs[];
 *     extern const size_t net_program_count;
 *     static npu_dma engine;
 *     npu_pl330_init(&engine, (volatile uint32_t *)0xF8003000, net_programs, net_program_count);
 *     net_run(image, scores, on_chip, dram, &engine);
 *
 * Each transfer has a program. The engine copies it to the code buffer of the channel, writes the
 * two addresses into it, and has the manager thread start it. If a burst of the program would cross
 * a multiple of 4096 bytes at these addresses, which AXI forbids, the engine writes a program of its
 * own, whose bursts end there. When its last store is done, a channel signals the event of its own
 * number. The core polls that event as an interrupt of the controller.
 *
 * Programs rely on alignment: maps and parameters must begin at multiples of 8.
 *
 * What a platform may define when it compiles npu_pl330.c (NPU_PL330_PLATFORM names a header that
 * is included first, as in -DNPU_PL330_PLATFORM='"platform.h"'):
 *
 *   NPU_PL330_CLEAN(address, bytes)        write what caches hold of these bytes to memory: the
 *                                          engine is about to read them
 *   NPU_PL330_INVALIDATE(address, bytes)   forget what caches hold of these bytes, and write back
 *                                          what shares a line with them: the engine is about to
 *                                          write them, or has written them
 *   NPU_PL330_BARRIER(address, bytes)      stands between accesses to these bytes by the core and
 *                                          by the engine; `dsb` on Arm
 *   NPU_PL330_IDLE(dma, channel)           what the core does each time that it has found nothing
 *                                          done; with interrupts, it sleeps (see below)
 *   NPU_PL330_POLLS                        after so many times, the wait ends with
 *                                          NPU_PL330_TIMEOUT; 0: never
 *   NPU_PL330_CODE_BYTES                   bytes of a channel's code buffer, also for users of this
 *                                          header
 *
 * Without the first two, the engine, the maps and the parameters must lie in memory that is not
 * cached. With them, no line of a cache may hold bytes of a transfer's target and others that the
 * core writes before the wait.
 *
 * With interrupts, the handler of the controller's events calls `npu_pl330_interrupt`, and
 * NPU_PL330_IDLE sleeps: with interrupts masked, if `dma->signalled[channel]` is 0, it executes WFI.
 * The line of faults must wake the core as well; its handler disables it.
 */
#ifndef NPU_PL330_H
#define NPU_PL330_H

#ifndef NPU_DMA_EXTERNAL
#define NPU_DMA_EXTERNAL
#endif
#include "npu_dma.h"

#define NPU_PL330_CHANNELS 8

/* Bytes of the longest program; programs that the engine cuts at pages are longer than others. */
#ifndef NPU_PL330_CODE_BYTES
#define NPU_PL330_CODE_BYTES 4096
#endif

/* Why a run has ended: what `npu_dma_status` returns, and with it the run. */
enum {
    NPU_PL330_CHANNEL_FAULT = 4, /* a channel has met a fault */
    NPU_PL330_MANAGER_FAULT = 5, /* the manager thread could not start a channel */
    NPU_PL330_TIMEOUT = 6        /* the controller was not done after NPU_PL330_POLLS polls */
};

/* Microcode of a channel, and the transfers that it can do: those of one shape, to addresses that
 * are `to_rest` modulo `to_modulus`, from addresses that are `from_rest` modulo `from_modulus`; the
 * moduli are powers of 2. `burst`: the bytes of each burst; 0 if they differ. `key`: what
 * `npu_pl330_key` returns for shape and channel. A table has its programs in the order of keys. */
typedef struct {
    npu_dma_shape shape;
    unsigned channel;
    unsigned to_modulus;
    unsigned to_rest;
    unsigned from_modulus;
    unsigned from_rest;
    unsigned burst;
    uint32_t key;
    size_t bytes;
    const unsigned char *code;
} npu_pl330_program;

/* What was read from the controller when a run ended: its state, the type of the fault (FTRn or
 * FTRD), and the address of the instruction (CPCn or DPC). `channel` is NPU_PL330_CHANNELS for the
 * manager. */
typedef struct {
    unsigned channel;
    uint32_t state;
    uint32_t type;
    uint32_t address;
} npu_pl330_fault;

struct npu_dma {
    volatile uint32_t *registers;
    const npu_pl330_program *programs;
    size_t program_count;
    npu_dma_counters counters;
    /* 0, or why the run has ended; nothing moves until the next `npu_pl330_init`. */
    int status;
    npu_pl330_fault fault;
    /* Faults and time-outs, and transfers that the core has copied because there is no program. */
    uint32_t errors;
    /* Transfers whose bursts the engine has cut at multiples of 4096 bytes. */
    uint32_t cut;
    /* Whether `npu_pl330_interrupt` has seen the event of a channel since its last start. */
    volatile unsigned char signalled[NPU_PL330_CHANNELS];
    uint32_t started[NPU_PL330_CHANNELS];
    uint32_t finished[NPU_PL330_CHANNELS];
    /* The transfer that was started last on a channel. */
    struct {
        void *to;
        const npu_dma_shape *shape;
    } latest[NPU_PL330_CHANNELS];
    uint32_t code[NPU_PL330_CHANNELS][(NPU_PL330_CODE_BYTES + 3) / 4];
};

#ifdef __cplusplus
extern "C" {
#endif

/* Call this before the first run; call it again to count from zero, and after a run that has ended
 * with a status of this engine. Channels that are not stopped are killed. */
void npu_pl330_init(npu_dma *dma, volatile uint32_t *registers, const npu_pl330_program *programs,
                    size_t program_count);

/* The handler of the interrupts of channels (on a Zynq: lines 46 to 49 and 72 to 75). */
void npu_pl330_interrupt(npu_dma *dma);

/* The key of a shape on a channel, by which programs are found. */
uint32_t npu_pl330_key(const npu_dma_shape *shape, unsigned channel);

/* For transfers that the core does in the place of a channel: wait until the channel is done, which
 * returns 0 if the run has ended; and count the transfer when its target is written. */
int npu_pl330_take(npu_dma *dma, unsigned channel);
npu_dma_token npu_pl330_moved(npu_dma *dma, unsigned channel, npu_dma_kind kind, uint64_t bytes,
                              void *to, const npu_dma_shape *shape);

#ifdef __cplusplus
}
#endif

#endif
