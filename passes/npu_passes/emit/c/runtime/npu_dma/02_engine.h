/* The host's engine begins: hints for compilers, its state, and a transfer that moves all of it. */

#endif

#if !defined(NPU_DMA_EXTERNAL) || defined(NPU_DMA_BLOCKS)

#include <string.h>

/* Hints for compilers:
 *
 *   NPU_DMA_APART     the function is not inlined, so that a loop in it has all registers
 *   NPU_DMA_WITHIN    the function is always inlined, so that constant arguments are known in it
 *   NPU_DMA_RARE      the condition seldom holds
 *   NPU_DMA_HERE      the value is in a register here: not in memory, and not computed again later
 *   NPU_DMA_ALIGNED   the address is a multiple of 4
 *   NPU_DMA_UNROLLED  the next loop, of at most eight steps, is straight code
 */
#ifdef __GNUC__
#define NPU_DMA_APART __attribute__((noinline, unused)) static
#define NPU_DMA_WITHIN __attribute__((always_inline)) static inline
#define NPU_DMA_RARE(condition) __builtin_expect(condition, 0)
#define NPU_DMA_HERE(value) __asm__("" : "+r"(value))
#define NPU_DMA_ALIGNED(address) __builtin_assume_aligned(address, 4)
#else
#define NPU_DMA_APART static inline
#define NPU_DMA_WITHIN static inline
#define NPU_DMA_RARE(condition) (condition)
#define NPU_DMA_HERE(value) (void)(value)
#define NPU_DMA_ALIGNED(address) (address)
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define NPU_DMA_UNROLLED _Pragma("GCC unroll 8")
#else
#define NPU_DMA_UNROLLED
#endif

/* Whether code may be larger in order to be faster. */
#ifdef __OPTIMIZE_SIZE__
#define NPU_DMA_FAST 0
#else
#define NPU_DMA_FAST 1
#endif

#ifndef NPU_DMA_EXTERNAL

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

#ifdef NPU_DMA_CLOCK

/* A transfer on the virtual clock, and when it ends. */
typedef struct {
    npu_dma_token token;
    uint64_t end;
} npu_dma_flight;

/* The virtual clock: the time, when the bus and each channel are free, and of the core's cycles
 * those in which it computes and those in which it waits. */
typedef struct {
    uint64_t now;
    uint64_t bus;
    uint64_t compute;
    uint64_t exposed;
    uint64_t free[NPU_DMA_CLOCK_CHANNELS];
    npu_dma_flight flights[NPU_DMA_RUNNING];
} npu_dma_clock;

#endif

struct npu_dma {
#ifdef NPU_DMA_CLOCK
    npu_dma_clock clock;
#endif
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

/* Go on to the next run. `at` counts the steps along the axes; `to` and `from` are the offsets of
 * the run in target and source, in bytes. Returns 0 after the last run. */
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

#endif
