/* Rows of blocks as wide as their map: each byte of the index has eight blocks. */

/* Move the blocks for `bytes` bytes of the index, in a map that is `side` blocks wide. Each byte of
 * the index is for eight blocks, which are 128 contiguous bytes. Returns the columns that move. */
NPU_DMA_WITHIN size_t npu_dma_bytes(unsigned char *to, const unsigned char *from, uint32_t zeros,
                                    unsigned char *index, size_t bytes, size_t side, int leaves)
{
    const unsigned char *const end = index + bytes;
    size_t moved = 0;
    for (; index != end; ++index, to += 128, from += 128) {
        to = (unsigned char *)NPU_DMA_ALIGNED(to);
        from = (const unsigned char *)NPU_DMA_ALIGNED(from);
        const npu_dma_to t = {to, to + 4 * side, to + 8 * side, to + 12 * side};
        const npu_dma_from f = {from, from + 4 * side, from + 8 * side, from + 12 * side};
        unsigned flags = (32u << 9) + (leaves ? 255u : *index);
        flags = npu_dma_eight(t, f, zeros, flags, 8, side, leaves);
        if (leaves) {
            *index = (unsigned char)flags;
        }
        moved += flags >> 9;
    }
    return moved;
}

/* The same for maps of 2, 4 or 8 blocks, so that the distances of rows are constants. */
NPU_DMA_APART size_t npu_dma_dense(const npu_dma_job *job, unsigned char *to,
                                   const unsigned char *from, unsigned char *index, size_t bytes)
{
    const uint32_t zeros = job->zeros;
    const int leaves = job->leaves;
    switch (job->columns) {
    case 8:
        return leaves ? npu_dma_bytes(to, from, zeros, index, bytes, 8, 1)
                      : npu_dma_bytes(to, from, zeros, index, bytes, 8, 0);
    case 4:
        return leaves ? npu_dma_bytes(to, from, zeros, index, bytes, 4, 1)
                      : npu_dma_bytes(to, from, zeros, index, bytes, 4, 0);
    default:
        return leaves ? npu_dma_bytes(to, from, zeros, index, bytes, 2, 1)
                      : npu_dma_bytes(to, from, zeros, index, bytes, 2, 0);
    }
}

/* Whether `npu_dma_dense` can move some rows: they are as wide as the map, and all channels are
 * one. Addresses must be multiples of 4, as some processors load only such words at once. */
static inline int npu_dma_is_dense(const npu_dma_job *job, const unsigned char *to,
                                   const unsigned char *from, size_t bit, size_t width)
{
    return NPU_DMA_FAST && job->channels == 1 && bit % 8 == 0 && width == job->step &&
           width == job->pitch && (width == 32 || width == 16 || width == 8) &&
           (((uintptr_t)to | (uintptr_t)from) & 3) == 0;
}
