/* What a program knows of the engine: the types, and the functions of an engine of your own. */

/* Transfers between memory on the chip and memory off it, for programs printed by npu-dialect.
 *
 * A program starts a transfer, computes, and waits; until then it touches neither side. Transfers
 * of one channel are done in the order of their starts, those of different channels in any order.
 *
 * As it stands, this header is the host's engine: it copies, and counts. There is nothing to link.
 *
 *   NPU_DMA_STRICT     defined: copies at the wait only, after it has filled the target with 0xA5
 *                      at the start. What a real engine might get wrong shows: wrong results, or
 *                      `npu_dma_mistakes` (a transfer waited for twice or not at all, one side
 *                      written while it runs, more transfers at a time than NPU_DMA_RUNNING).
 *   NPU_DMA_EXTERNAL   defined: only declarations, for an engine of your own. It defines
 *                      `struct npu_dma` and the functions (`npu_dma_start_blocks` if a program
 *                      has transfers in blocks).
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

/* `count` steps along an axis: bytes from one to the next, in the target and in the source. */
typedef struct {
    size_t count;
    ptrdiff_t to;
    ptrdiff_t from;
} npu_dma_axis;

/* Runs of `bytes` bytes that lie one behind the other, along `axes` axes, the outermost first. */
typedef struct {
    size_t bytes;
    int axes;
    npu_dma_axis axis[NPU_DMA_AXES];
} npu_dma_shape;

/* Blocks of `block` x `block` elements of a channel, of a map [N, C, H, W] off the chip: those that
 * are all `zero` are not moved. `map` and `part` are the elements along the axes of the map and of
 * the part that moves, `chip` and `dram` the bytes from one to the next.
 *
 * The index has a bit for each block, 1 if it is not zero: for block (n, c, y, x) of a map with R
 * rows and S columns of blocks, bit ((n * C + c) * R + y) * S + x, the least significant one of a
 * byte first. */
typedef struct {
    size_t element;
    size_t block;
    unsigned char zero;
    size_t map[4];
    size_t part[4];
    size_t chip[4];
    size_t dram[4];
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
/* The same for the blocks of a map that are not zero. Into the chip, the others become zero there;
 * out of it, the index learns which they are, and nothing is said of their place in the map. */
npu_dma_token npu_dma_start_blocks(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                                   const void *from, const void *map, void *index,
                                   const npu_dma_shape *shape, const npu_dma_blocks *blocks);
/* Wait until a transfer is done; each is waited for once. */
void npu_dma_wait(npu_dma *dma, npu_dma_token token);
/* A layer begins to read, or to write, a feature map that lies off the chip. */
void npu_dma_reads(npu_dma *dma);
void npu_dma_writes(npu_dma *dma);

#ifdef __cplusplus
}
#endif
