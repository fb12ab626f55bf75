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
 *                      `struct npu_dma` and the four functions.
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

/* Start a transfer on a channel; the shape stays where it is until the wait. */
static inline npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                                          const void *from, const npu_dma_shape *shape)
{
    uint64_t bytes = shape->bytes;
    (void)channel;
    for (int axis = 0; axis < shape->axes; ++axis) {
        bytes *= shape->axis[axis].count;
    }
    if (kind == NPU_DMA_WEIGHTS) {
        dma->counters.weight_bytes += bytes;
    } else if (kind == NPU_DMA_READ) {
        dma->counters.feature_map_read_bytes += bytes;
    } else {
        dma->counters.feature_map_write_bytes += bytes;
    }
    ++dma->counters.transfers;
    dma->last += dma->last == UINT32_MAX ? 2u : 1u;
#ifdef NPU_DMA_STRICT
    npu_dma_transfer *const transfer = npu_dma_find(dma, 0);
    if (transfer != NULL) {
        npu_dma_poison(shape, to);
        transfer->token = dma->last;
        transfer->sum = npu_dma_sum(shape, from);
        transfer->shape = shape;
        transfer->to = to;
        transfer->from = from;
        return dma->last;
    }
    ++dma->errors;
#endif
    npu_dma_copy(shape, to, from);
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
    npu_dma_copy(transfer->shape, transfer->to, transfer->from);
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
