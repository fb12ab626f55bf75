/* What the strict engine checks at the wait: slots, targets, and checksums of sources. */

#ifndef NPU_DMA_EXTERNAL

#ifdef NPU_DMA_STRICT

/* The slot of a running transfer; for token 0 a free slot. NULL if there is none. */
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

/* Whether the target still is as the start has filled it, with 0xA5. */
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
