/* Blocks of 4 x 4 bytes in maps of 14 columns: three blocks and a narrower one beside them. */

/* Move rows of four blocks, each of `high` rows; `high` is a constant. Rows of the target and of
 * the source are contiguous, so the offsets of all words are constants. Four bits of a byte of the
 * index are for a row of blocks. Returns the columns that move. */
NPU_DMA_WITHIN size_t npu_dma_fourteen(const npu_dma_job *job, unsigned char *to,
                                       const unsigned char *from, size_t bit, size_t strips,
                                       size_t high, int leaves)
{
    const ptrdiff_t rows = (ptrdiff_t)(14 * high * strips);
    const ptrdiff_t skip_to = (ptrdiff_t)job->channel_step - rows;
    const ptrdiff_t skip_from = (ptrdiff_t)job->channel_pitch - rows;
    unsigned char *const index = job->index;
    size_t rest = strips, channels = job->channels, moved = 0;
    uint32_t zeros = job->zeros;
    NPU_DMA_HERE(zeros);
    for (;;) {
        unsigned char *const byte = index + bit / 8;
        const unsigned place = bit & 4, old = *byte;
        unsigned flags = (14u << 4) + (leaves ? 15u : old >> place & 15u);
        NPU_DMA_UNROLLED
        for (unsigned nth = 0; nth < 4; ++nth) {
            const unsigned wide = nth < 3 ? 4 : 2;
            if (!npu_dma_plain(to + 4 * nth, from + 4 * nth, 14, 14, high, wide, zeros, leaves,
                               (flags >> nth & 1) != 0)) {
                flags -= (wide << 4) + (leaves ? 1u << nth : 0);
            }
        }
        if (leaves) {
            *byte = (unsigned char)(old ^ ((old >> place ^ flags) & 15) << place);
        }
        moved += flags >> 4;
        to += 14 * high;
        from += 14 * high;
        bit += 4;
        if (--rest == 0) {
            if (--channels == 0) {
                return moved;
            }
            rest = strips;
            to += skip_to;
            from += skip_from;
            bit += job->channel_bits - 4 * strips;
        }
    }
}

/* The same for blocks of four rows and of two, as at the bottom of 14 rows. Returns the bytes. */
NPU_DMA_APART size_t npu_dma_narrow(const npu_dma_job *job, unsigned char *to,
                                    const unsigned char *from, size_t bit, size_t strips,
                                    size_t high)
{
    const int leaves = job->leaves;
    if (high == 4) {
        return 4 * (leaves ? npu_dma_fourteen(job, to, from, bit, strips, 4, 1)
                           : npu_dma_fourteen(job, to, from, bit, strips, 4, 0));
    }
    return 2 * (leaves ? npu_dma_fourteen(job, to, from, bit, strips, 2, 1)
                       : npu_dma_fourteen(job, to, from, bit, strips, 2, 0));
}
