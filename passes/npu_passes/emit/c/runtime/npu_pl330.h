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
 * two addresses into it, and has the manager thread start it. When its last store is done, a
 * channel signals the event of its own number. The core polls that event as an interrupt of the
 * controller, with NPU_PL330_IDLE() in between. The engine, the maps and the parameters must lie in
 * memory that is not cached.
 *
 * Programs rely on alignment: maps and parameters must begin at multiples of 8.
 */
#ifndef NPU_PL330_H
#define NPU_PL330_H

#ifndef NPU_DMA_EXTERNAL
#define NPU_DMA_EXTERNAL
#endif
#include "npu_dma.h"

#define NPU_PL330_CHANNELS 8

/* Bytes of the longest program. */
#ifndef NPU_PL330_CODE_BYTES
#define NPU_PL330_CODE_BYTES 1024
#endif

/* Microcode of a channel, and the transfers that it can do: those of one shape, to addresses that
 * are `to_rest` modulo `to_modulus`, from addresses that are `from_rest` modulo `from_modulus`. */
typedef struct {
    npu_dma_shape shape;
    unsigned channel;
    unsigned to_modulus;
    unsigned to_rest;
    unsigned from_modulus;
    unsigned from_rest;
    size_t bytes;
    const unsigned char *code;
} npu_pl330_program;

struct npu_dma {
    volatile uint32_t *registers;
    const npu_pl330_program *programs;
    size_t program_count;
    npu_dma_counters counters;
    /* Faults of the controller, and transfers without a program, which the core copies. */
    uint32_t errors;
    uint32_t started[NPU_PL330_CHANNELS];
    uint32_t finished[NPU_PL330_CHANNELS];
    uint32_t code[NPU_PL330_CHANNELS][(NPU_PL330_CODE_BYTES + 3) / 4];
};

#ifdef __cplusplus
extern "C" {
#endif

/* Call this before the first run; call it again to count from zero. */
void npu_pl330_init(npu_dma *dma, volatile uint32_t *registers, const npu_pl330_program *programs,
                    size_t program_count);

#ifdef __cplusplus
}
#endif

#endif
