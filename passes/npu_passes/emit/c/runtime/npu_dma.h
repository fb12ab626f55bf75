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

#else

#include <string.h>

#ifndef NPU_DMA_RUNNING
#define NPU_DMA_RUNNING 32
#endif

/* A transfer that runs; its token is 0 once it is done. */
typedef struct {
    npu_dma_token token;
    uint32_t sum;
    const npu_dma_shape *shape;
    void *to;
    const void *from;
    const npu_dma_blocks *blocks; /* NULL if all of it moves */
    const void *map;
    void *index;
    int leaves;
} npu_dma_transfer;

struct npu_dma {
    npu_dma_counters counters;
    npu_dma_token last;
    uint32_t errors;
    npu_dma_transfer running[NPU_DMA_RUNNING];
};

/* Call this before the first run; call it again to count from zero. */
static inline void npu_dma_init(npu_dma *dma)
{
    memset(dma, 0, sizeof *dma);
}

/* Errors, and transfers that were not waited for. Always 0 without NPU_DMA_STRICT. */
static inline uint32_t npu_dma_mistakes(const npu_dma *dma)
{
    uint32_t count = dma->errors;
    for (int slot = 0; slot < NPU_DMA_RUNNING; ++slot) {
        count += dma->running[slot].token != 0;
    }
    return count;
}

/* Go on to the next run: `at` counts along the axes, `to` and `from` are its places. 0 at the
 * end. */
static inline int npu_dma_next(const npu_dma_shape *shape, size_t *at, ptrdiff_t *to,
                               ptrdiff_t *from)
{
    for (int axis = shape->axes - 1; axis >= 0; --axis) {
        const npu_dma_axis *const step = &shape->axis[axis];
        if (++at[axis] < step->count) {
            *to += step->to;
            *from += step->from;
            return 1;
        }
        at[axis] = 0;
        *to -= (ptrdiff_t)(step->count - 1) * step->to;
        *from -= (ptrdiff_t)(step->count - 1) * step->from;
    }
    return 0;
}

static inline void npu_dma_copy(const npu_dma_shape *shape, void *to, const void *from)
{
    size_t at[NPU_DMA_AXES] = {0};
    ptrdiff_t t = 0, f = 0;
    do {
        memcpy((unsigned char *)to + t, (const unsigned char *)from + f, shape->bytes);
    } while (npu_dma_next(shape, at, &t, &f));
}

/* Whether `bytes` bytes are all `zero`. */
static inline int npu_dma_is_zero(const unsigned char *run, size_t bytes, unsigned char zero)
{
    for (size_t byte = 0; byte < bytes; ++byte) {
        if (run[byte] != zero) {
            return 0;
        }
    }
    return 1;
}

/* One block of a transfer: `rows` runs of `bytes` bytes. Gives the bytes that move; with `move` set
 * it moves them, and keeps the index. */
static inline size_t npu_dma_block(const npu_dma_blocks *blocks, int leaves, unsigned char *to,
                                   const unsigned char *from, size_t rows, size_t bytes,
                                   unsigned char *index, unsigned char mask, int move)
{
    const size_t step = leaves ? blocks->dram[2] : blocks->chip[2];
    const size_t pitch = leaves ? blocks->chip[2] : blocks->dram[2];
    int full = (*index & mask) != 0;
    if (leaves) {
        full = 0;
        for (size_t row = 0; row < rows && !full; ++row) {
            full = !npu_dma_is_zero(from + row * pitch, bytes, blocks->zero);
        }
        if (move) {
            *index = (unsigned char)(full ? *index | mask : *index & ~mask);
        }
    }
    for (size_t row = 0; row < rows && move; ++row) {
        if (full) {
            memcpy(to + row * step, from + row * pitch, bytes);
        } else if (!leaves) {
            memset(to + row * step, blocks->zero, bytes);
        }
    }
    return full ? rows * bytes : 0;
}

/* The end of the block that an element is in, or of the part. */
static inline size_t npu_dma_block_end(size_t at, size_t block, size_t end)
{
    const size_t next = at / block * block + block;
    return next < end ? next : end;
}

/* The blocks of one channel of a transfer. `at` is where it begins in the map, `channel` counts
 * those of all images, `last` is the byte of the index that was met last. */
static inline uint64_t npu_dma_channel(const npu_dma_blocks *blocks, int leaves, unsigned char *to,
                                       const unsigned char *from, const size_t *at,
                                       size_t channel, unsigned char *index, size_t *last,
                                       int move)
{
    const size_t block = blocks->block;
    const size_t bottom = at[2] + blocks->part[2], right = at[3] + blocks->part[3];
    const size_t rows = (blocks->map[2] + block - 1) / block;
    const size_t columns = (blocks->map[3] + block - 1) / block;
    const size_t *const t = leaves ? blocks->dram : blocks->chip;
    const size_t *const f = leaves ? blocks->chip : blocks->dram;
    uint64_t moved = 0;
    for (size_t y = at[2], high; y < bottom; y = high) {
        high = npu_dma_block_end(y, block, bottom);
        for (size_t x = at[3], wide; x < right; x = wide) {
            const size_t bit = (channel * rows + y / block) * columns + x / block;
            const size_t down = y - at[2], along = x - at[3];
            wide = npu_dma_block_end(x, block, right);
            moved += bit / 8 != *last;
            *last = bit / 8;
            moved += npu_dma_block(blocks, leaves, to + down * t[2] + along * t[3],
                                   from + down * f[2] + along * f[3], high - y,
                                   (wide - x) * blocks->element, index + bit / 8,
                                   (unsigned char)(1u << bit % 8), move);
        }
    }
    return moved;
}

/* Bytes that a transfer of blocks moves, those of the index that it meets included; with `move` set
 * it moves them. */
static inline uint64_t npu_dma_move(const npu_dma_blocks *blocks, int leaves, void *to,
                                    const void *from, const void *map, void *index, int move)
{
    const size_t *const t = leaves ? blocks->dram : blocks->chip;
    const size_t *const f = leaves ? blocks->chip : blocks->dram;
    const unsigned char *const begin = (const unsigned char *)(leaves ? (const void *)to : from);
    size_t rest = (size_t)(begin - (const unsigned char *)map);
    size_t at[4], last = SIZE_MAX;
    uint64_t moved = 0;
    for (int axis = 0; axis < 4; ++axis) {
        at[axis] = rest / blocks->dram[axis];
        rest %= blocks->dram[axis];
    }
    for (size_t n = 0; n < blocks->part[0]; ++n) {
        for (size_t c = 0; c < blocks->part[1]; ++c) {
            const size_t channel = (at[0] + n) * blocks->map[1] + at[1] + c;
            moved += npu_dma_channel(blocks, leaves, (unsigned char *)to + n * t[0] + c * t[1],
                                     (const unsigned char *)from + n * f[0] + c * f[1], at,
                                     channel, (unsigned char *)index, &last, move);
        }
    }
    return moved;
}

#ifdef NPU_DMA_STRICT

/* The place of a transfer that runs, or with token 0 a free place. NULL if there is none. */
static inline npu_dma_transfer *npu_dma_find(npu_dma *dma, npu_dma_token token)
{
    for (int slot = 0; slot < NPU_DMA_RUNNING; ++slot) {
        if (dma->running[slot].token == token) {
            return &dma->running[slot];
        }
    }
    return NULL;
}

static inline void npu_dma_poison(const npu_dma_shape *shape, void *to)
{
    size_t at[NPU_DMA_AXES] = {0};
    ptrdiff_t t = 0, f = 0;
    do {
        memset((unsigned char *)to + t, 0xA5, shape->bytes);
    } while (npu_dma_next(shape, at, &t, &f));
}

/* Whether nobody wrote the target since it was filled with 0xA5. */
static inline int npu_dma_is_poison(const npu_dma_shape *shape, const void *to)
{
    size_t at[NPU_DMA_AXES] = {0};
    ptrdiff_t t = 0, f = 0;
    do {
        const unsigned char *const run = (const unsigned char *)to + t;
        for (size_t byte = 0; byte < shape->bytes; ++byte) {
            if (run[byte] != 0xA5) {
                return 0;
            }
        }
    } while (npu_dma_next(shape, at, &t, &f));
    return 1;
}

/* A checksum of the source (FNV-1a). */
static inline uint32_t npu_dma_sum(const npu_dma_shape *shape, const void *from)
{
    size_t at[NPU_DMA_AXES] = {0};
    ptrdiff_t t = 0, f = 0;
    uint32_t sum = 2166136261u;
    do {
        const unsigned char *const run = (const unsigned char *)from + f;
        for (size_t byte = 0; byte < shape->bytes; ++byte) {
            sum = (sum ^ run[byte]) * 16777619u;
        }
    } while (npu_dma_next(shape, at, &t, &f));
    return sum;
}

#endif

/* Count a transfer, and give it a token. */
static inline void npu_dma_count(npu_dma *dma, npu_dma_kind kind, uint64_t bytes)
{
    if (kind == NPU_DMA_WEIGHTS) {
        dma->counters.weight_bytes += bytes;
    } else if (kind == NPU_DMA_READ) {
        dma->counters.feature_map_read_bytes += bytes;
    } else {
        dma->counters.feature_map_write_bytes += bytes;
    }
    ++dma->counters.transfers;
    dma->last += dma->last == UINT32_MAX ? 2u : 1u;
}

#ifdef NPU_DMA_STRICT

/* Note a transfer that has been counted, for its wait. 0 if there is no place for it. */
static inline int npu_dma_note(npu_dma *dma, const npu_dma_transfer *what)
{
    npu_dma_transfer *const transfer = npu_dma_find(dma, 0);
    if (transfer == NULL) {
        ++dma->errors;
        return 0;
    }
    npu_dma_poison(what->shape, what->to);
    *transfer = *what;
    transfer->token = dma->last;
    transfer->sum = npu_dma_sum(what->shape, what->from);
    return 1;
}

#endif

/* Start a transfer on a channel; the shape stays where it is until the wait. */
static inline npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                                          const void *from, const npu_dma_shape *shape)
{
    uint64_t bytes = shape->bytes;
    (void)channel;
    for (int axis = 0; axis < shape->axes; ++axis) {
        bytes *= shape->axis[axis].count;
    }
    npu_dma_count(dma, kind, bytes);
#ifdef NPU_DMA_STRICT
    const npu_dma_transfer what = {0, 0, shape, to, from, NULL, NULL, NULL, 0};
    if (npu_dma_note(dma, &what)) {
        return dma->last;
    }
#endif
    npu_dma_copy(shape, to, from);
    return dma->last;
}

/* The same for the blocks of a map that are not zero. Into the chip, the others become zero there;
 * out of it, the index learns which they are, and nothing is said of their place in the map. */
static inline npu_dma_token npu_dma_start_blocks(npu_dma *dma, int channel, npu_dma_kind kind,
                                                 void *to, const void *from, const void *map,
                                                 void *index, const npu_dma_shape *shape,
                                                 const npu_dma_blocks *blocks)
{
    const int leaves = kind == NPU_DMA_WRITE;
    (void)channel;
    (void)shape;
#ifdef NPU_DMA_STRICT
    const npu_dma_transfer what = {0, 0, shape, to, from, blocks, map, index, leaves};
    npu_dma_count(dma, kind, npu_dma_move(blocks, leaves, to, from, map, index, 0));
    if (npu_dma_note(dma, &what)) {
        return dma->last;
    }
    npu_dma_move(blocks, leaves, to, from, map, index, 1);
#else
    npu_dma_count(dma, kind, npu_dma_move(blocks, leaves, to, from, map, index, 1));
#endif
    return dma->last;
}

/* Wait until a transfer is done; each is waited for once. */
static inline void npu_dma_wait(npu_dma *dma, npu_dma_token token)
{
#ifdef NPU_DMA_STRICT
    npu_dma_transfer *const transfer = token == 0 ? NULL : npu_dma_find(dma, token);
    if (transfer == NULL) {
        ++dma->errors;
        return;
    }
    dma->errors += npu_dma_sum(transfer->shape, transfer->from) != transfer->sum;
    dma->errors += !npu_dma_is_poison(transfer->shape, transfer->to);
    if (transfer->blocks != NULL) {
        npu_dma_move(transfer->blocks, transfer->leaves, transfer->to, transfer->from,
                     transfer->map, transfer->index, 1);
    } else {
        npu_dma_copy(transfer->shape, transfer->to, transfer->from);
    }
    transfer->token = 0;
#else
    (void)dma;
    (void)token;
#endif
}

/* A layer begins to read, or to write, a feature map that lies off the chip. */
static inline void npu_dma_reads(npu_dma *dma)
{
    ++dma->counters.feature_map_reads;
}

static inline void npu_dma_writes(npu_dma *dma)
{
    ++dma->counters.feature_map_writes;
}

#endif

#endif
