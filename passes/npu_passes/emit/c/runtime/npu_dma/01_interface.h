/* What a program knows of the engine: the types, and the functions of an engine of your own. */

/* Transfers between memory on the chip and memory off it, for programs printed by npu-dialect.
 *
 * A program starts a transfer, computes, and waits; before the wait it uses neither target nor
 * source. Transfers of one channel are done in the order of their starts, those of different
 * channels in any order.
 *
 * By default this header contains an engine for the host: it copies, and counts. There is nothing
 * to link.
 *
 *   NPU_DMA_STRICT     if defined, a start fills the target with 0xA5, and only the wait copies. So
 *                      a program that would go wrong on a real engine has wrong results, or is
 *                      counted by `npu_dma_mistakes` (a transfer waited for twice or not at all,
 *                      target or source written while it runs, more than NPU_DMA_RUNNING transfers
 *                      at a time).
 *   NPU_DMA_CLOCK      if defined, the engine has a virtual clock (docs/time.md of npu-dialect). It
 *                      counts cycles of the core by the rules that the compiler counts by. These
 *                      are the machine's numbers: NPU_DMA_CLOCK_CHANNELS, NPU_DMA_CLOCK_SETUP and
 *                      NPU_DMA_CLOCK_JUMP, in cycles, and for the bus NPU_DMA_CLOCK_BYTES in
 *                      NPU_DMA_CLOCK_CYCLES. The core works where the program calls
 *                      `npu_dma_work`, which it does only if that was asked for.
 *   NPU_DMA_EXTERNAL   if defined, there are only declarations, for an engine of your own. It must
 *                      define `struct npu_dma` and the functions (`npu_dma_start_blocks` only if a
 *                      program has transfers in blocks, `npu_dma_status` only if it can fail).
 *   NPU_DMA_PLANES     if defined, the engine for the host and `npu_dma_move` know bit planes. Headers
 *                      of programs that have such transfers define it.
 *   NPU_DMA_BLOCKS     if defined as well, there is also `npu_dma_move`, which moves a transfer in
 *                      blocks with the core.
 *
 * C99 and C++; no allocation, no globals: each run may have its own `npu_dma`.
 */
#ifndef NPU_DMA_H
#define NPU_DMA_H

#include <stddef.h>
#include <stdint.h>

#define NPU_DMA_AXES 6

/* What a transfer carries: learned parameters, or part of a feature map into the chip or out. */
typedef enum { NPU_DMA_WEIGHTS, NPU_DMA_READ, NPU_DMA_WRITE } npu_dma_kind;

/* An axis of `count` steps: the bytes from one to the next, in the target and in the source. */
typedef struct {
    size_t count;
    ptrdiff_t to;
    ptrdiff_t from;
} npu_dma_axis;

/* Runs of `bytes` contiguous bytes, repeated along `axes` axes, the outermost one first. */
typedef struct {
    size_t bytes;
    int axes;
    npu_dma_axis axis[NPU_DMA_AXES];
} npu_dma_shape;

/* Each channel of a map [N, C, H, W] off the chip is divided into blocks of `block` x `block`
 * elements. A block of which every byte is `zero` does not move. `element`: bytes of an element.
 * `map` and `part`: the elements along each axis of the map, and of the part that moves. `chip` and
 * `dram`: the bytes from an element to the next along each axis, on the chip and off it.
 *
 * The index has a bit for each block, which is 1 if the block is not zero. If the map has R rows
 * and S columns of blocks, the bit of block (n, c, y, x) is ((n * C + c) * R + y) * S + x. Bit 0 is
 * the least significant bit of the first byte.
 *
 * With `planes`, a block is a run of 16 bytes of a row, or of fewer at its end. It moves as bit
 * planes, and the index has half a byte for each run, the lower one first. Planes are of the
 * bytes from which `zero`, 0 or 128, was subtracted, modulo 256; of n bytes a plane is (n + 7) / 8.
 * The half byte is the number of planes from the lowest bit on; or 8 and that number, if signed differences d became
 * 2 d, or -2 d - 1 below 0, as that takes fewer; or 8, if the bytes move as they are, since planes
 * would save nothing. */
typedef struct {
    size_t element;
    size_t block;
    unsigned char zero;
    size_t map[4];
    size_t part[4];
    size_t chip[4];
    size_t dram[4];
    int planes;
} npu_dma_blocks;

/* A transfer that has been started. */
typedef uint32_t npu_dma_token;

typedef struct npu_dma npu_dma;

/* What went over the border of the chip. */
typedef struct {
    uint64_t weight_bytes;
    uint64_t feature_map_read_bytes;
    uint64_t feature_map_write_bytes;
    uint64_t feature_map_reads;
    uint64_t feature_map_writes;
    uint64_t transfers;
} npu_dma_counters;

#ifdef NPU_DMA_EXTERNAL

#ifdef __cplusplus
extern "C" {
#endif

/* Start a transfer on a channel; the shape stays where it is until the wait. */
npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                            const void *from, const npu_dma_shape *shape);
/* The same for the blocks of a map that are not zero. Onto the chip, the other blocks are filled
 * with zeros there. Off the chip, the index is updated, and what the map has in the place of the
 * other blocks is undefined. */
npu_dma_token npu_dma_start_blocks(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                                   const void *from, const void *map, void *index,
                                   const npu_dma_shape *shape, const npu_dma_blocks *blocks);
/* Wait until a transfer is done; each is waited for once. */
void npu_dma_wait(npu_dma *dma, npu_dma_token token);
/* 0, or a number greater than 3 once the engine has failed: starts and waits do nothing then, and the
 * run ends and returns the number. In ELF files of GCC and Clang, an engine that never fails may leave
 * it out. */
#ifdef __GNUC__
__attribute__((weak))
#endif
int npu_dma_status(const npu_dma *dma);
/* A layer begins to read, or to write, a feature map that lies off the chip. */
void npu_dma_reads(npu_dma *dma);
void npu_dma_writes(npu_dma *dma);
/* What follows keeps the core busy for some cycles; programs call it only if that was asked for. */
void npu_dma_work(npu_dma *dma, uint64_t cycles);

#ifdef __cplusplus
}
#endif

/* What a run has to return so far. */
static inline int npu_dma_result(const npu_dma *dma)
{
#ifdef __GNUC__
    if (npu_dma_status == NULL) {
        return 0;
    }
#endif
    return npu_dma_status(dma);
}
