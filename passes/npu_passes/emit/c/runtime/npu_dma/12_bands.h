/* Rows of blocks, moved in the way that suits their size: dense, as words, or one by one. */

/* A word with all bits set in its last `wide` bytes, or in its first ones. */
static inline uint32_t npu_dma_mask(size_t wide, int last)
{
    static const unsigned char bytes[10] = {0, 0, 0, 255, 255, 255, 255, 0, 0, 0};
    return wide == 0 ? 0 : npu_dma_word(bytes + (last ? wide - 1 : 7 - wide));
}

/* Move blocks of at most 4 x 4 bytes: in each channel `strips` rows of blocks, each `high` rows of
 * `width` columns, fewer than 36. The first block has bit `bit`. A narrower block is the last one
 * of several, or the only one, with other blocks of the map to its right. Returns the bytes that
 * move. */
static inline size_t npu_dma_words(const npu_dma_job *job, unsigned char *to,
                                   const unsigned char *from, size_t bit, size_t strips,
                                   size_t high, size_t width)
{
    const size_t second = high > 1, third = high > 2 ? 2 : second, fourth = high > 3 ? 3 : third;
    const size_t step = job->step, pitch = job->pitch, count = width / 4, ragged = width % 4;
    const npu_dma_to t = {to, to + second * step, to + third * step, to + fourth * step};
    const npu_dma_from f = {from, from + second * pitch, from + third * pitch,
                            from + fourth * pitch};
    npu_dma_rows rows;
    rows.to = t;
    rows.from = f;
    rows.strip_to = (ptrdiff_t)(4 * step);
    rows.strip_from = (ptrdiff_t)(4 * pitch);
    rows.channel_to = (ptrdiff_t)job->channel_step - (ptrdiff_t)(strips - 1) * rows.strip_to;
    rows.channel_from = (ptrdiff_t)job->channel_pitch - (ptrdiff_t)(strips - 1) * rows.strip_from;
    rows.strip_bits = job->columns;
    rows.channel_bits = job->channel_bits - (strips - 1) * job->columns;
    rows.strips = rows.rest = strips;
    rows.channels = job->channels;
    rows.index = job->index;
    rows.bit = bit;
    rows.count = count;
    rows.edge = count > 0 ? width - 4 : 0;
    rows.zeros = job->zeros;
    rows.mask = npu_dma_mask(ragged, count > 0);
    rows.ragged = (unsigned)ragged;
    rows.ones = (1u << (count + (ragged > 0))) - 1;
    rows.all = ((unsigned)width << 9) + (job->leaves ? rows.ones : 0);
    rows.moved = 0;
    npu_dma_sparse(&rows, job->leaves);
    return high * rows.moved;
}

/* Move or count `rows` rows of `width` elements in each channel. The first element is in column `x`
 * of the map, and in the block of bit `bit`. Returns the bytes that move. */
NPU_DMA_APART size_t npu_dma_band(const npu_dma_job *job, const npu_dma_blocks *blocks,
                                  unsigned char *to, const unsigned char *from, size_t bit,
                                  size_t rows, size_t x, size_t width)
{
    const size_t block = blocks->block, element = blocks->element;
    const size_t high = rows < block ? rows : block;
    size_t strips = rows < block ? 1 : rows / block;
    size_t moved = 0, wide = block - x % block, count = 1;
    /* The words of a narrower block overlap the block beside it, which must be a whole one. */
    const int words = job->move && element == 1 && block == 4 && width >= 4 + wide % 4;
    if (words && high == 4 && npu_dma_is_dense(job, to, from, bit, width)) {
        const size_t bytes = strips * job->columns / 8;
        moved = 4 * npu_dma_dense(job, to, from, job->index + bit / 8, bytes);
        strips -= 8 * bytes / job->columns;
        if (strips == 0) {
            return moved;
        }
        to += 128 * bytes;
        from += 128 * bytes;
        bit += 8 * bytes;
    }
    if (NPU_DMA_FAST && words && width == 14 && job->step == 14 && job->pitch == 14 &&
        (high == 4 || high == 2)) {
        return npu_dma_narrow(job, to, from, bit, strips, high);
    }
    for (; width > 0; width -= wide, bit += count, wide = block, count = 1) {
        wide = wide < width ? wide : width;
        if (words) {
            if (wide == 4) {
                wide = width < 36 ? width : 32;
                count = wide / 4;
            }
            moved += npu_dma_words(job, to, from, bit, strips, high, wide);
        } else {
            count = wide == block ? width / block : 1;
            const npu_dma_field field = {to, from, bit, strips, count, high, wide * element};
            wide *= count;
            moved += npu_dma_tall(job, &field);
        }
        to += wide * element;
        from += wide * element;
    }
    return moved;
}
