/* What blocks of any size need: a job, words at any address, and rows of constant length. */

/* What the blocks of a transfer have in common. `leaves`: they move off the chip. `move`: they
 * move, and the index is updated; else their bytes are only counted. `step` and `pitch`: the bytes
 * from a row to the next in the target and in the source; `channel_step` and `channel_pitch`: those
 * from a channel to the next. `columns` and `channel_bits`: the bits of the index from a block to
 * the one below it, and from a channel to the next. `zeros`: four bytes of zero elements. */
typedef struct {
    int leaves;
    int move;
    size_t step;
    size_t pitch;
    size_t channels;
    size_t channel_step;
    size_t channel_pitch;
    size_t columns;
    size_t channel_bits;
    uint32_t zeros;
    unsigned char *index;
} npu_dma_job;

/* The four bytes at any address as a word, in the order of the machine, to compare and to copy. */
static inline uint32_t npu_dma_word(const unsigned char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline void npu_dma_put(unsigned char *at, uint32_t word)
{
    memcpy(at, &word, sizeof word);
}

/* Rows of `bytes` bytes, which is a constant: 16, 8, 4, 2 or 1. Is a row all zero? */
NPU_DMA_WITHIN int npu_dma_is_zero(const unsigned char *run, size_t bytes, uint32_t zeros)
{
    uint32_t other = 0;
    if (bytes == 1) {
        return *run == (unsigned char)zeros;
    }
    if (bytes == 2) {
        uint16_t half;
        memcpy(&half, run, sizeof half);
        return half == (uint16_t)zeros;
    }
    NPU_DMA_UNROLLED
    for (size_t at = 0; at < bytes; at += 4) {
        other |= npu_dma_word(run + at) ^ zeros;
    }
    return other == 0;
}

/* Fill a row with zeros. */
NPU_DMA_WITHIN void npu_dma_fill(unsigned char *to, size_t bytes, uint32_t zeros)
{
    if (bytes < 4) {
        memcpy(to, &zeros, bytes & 3);
        return;
    }
    NPU_DMA_UNROLLED
    for (size_t at = 0; at < bytes; at += 4) {
        npu_dma_put(to + at, zeros);
    }
}
