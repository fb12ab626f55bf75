/* Rows of blocks as wide as their map: each byte of the index has eight blocks. */

/* Rows of blocks of a map that is `side` blocks wide: each byte of the index has eight of them, 128
 * bytes one behind the other. Gives the columns that move. */
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

/* The same for some of the widths, so that the distances of rows are constants. */
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

/* Whether `npu_dma_dense` takes whole rows of blocks, those of all channels as one. Aligned, since
 * then words are words on any processor. */
static inline int npu_dma_is_dense(const npu_dma_job *job, const unsigned char *to,
                                   const unsigned char *from, size_t bit, size_t width)
{
    return NPU_DMA_FAST && job->channels == 1 && bit % 8 == 0 && width == job->step &&
           width == job->pitch && (width == 32 || width == 16 || width == 8) &&
           (((uintptr_t)to | (uintptr_t)from) & 3) == 0;
}
