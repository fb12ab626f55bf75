/* Bits of the index, and rows of blocks that lie anywhere in their map. */

/* Write the bits of `ones`, at most nine, into the index from `bit` on; other bits do not
 * change. */
static inline void npu_dma_put_bits(unsigned char *index, size_t bit, unsigned ones, unsigned flags)
{
    unsigned char *byte = index + bit / 8;
    const unsigned place = bit % 8, mask = ones << place, bits = flags << place;
    NPU_DMA_HERE(byte);
    byte[0] = (unsigned char)(byte[0] ^ ((byte[0] ^ bits) & mask));
    if (mask > 255) {
        byte[1] = (unsigned char)(byte[1] ^ ((byte[1] ^ bits >> 8) & mask >> 8));
    }
}

static inline unsigned npu_dma_get_bits(const unsigned char *index, size_t bit, unsigned ones)
{
    const unsigned char *const byte = index + bit / 8;
    const unsigned place = bit % 8;
    unsigned flags = byte[0];
    if (ones << place > 255) {
        flags |= (unsigned)byte[1] << 8;
    }
    return flags >> place & ones;
}

/* Rows of blocks, `strips` of them in each of `channels` channels. A row has `count` whole blocks
 * side by side, at most eight, and maybe a narrower one; `mask` has its columns, 0 if there is
 * none.
 *
 * The narrower block moves as four words as well, `edge` bytes from the pointers. They overlap the
 * block beside it, so they move first. After that, the block beside it moves or is filled with
 * zeros, or its bytes do not matter because it is zero and moves off the chip. If blocks have fewer
 * than four rows, the pointers of the missing rows are those of the last row.
 *
 * `ones` has a bit for each block. `all` is added to `flags` before blocks move (see npu_dma_four).
 * Everything is in this struct and not in variables, also what changes from row to row, so that the
 * registers are free for what each block needs. */
typedef struct {
    npu_dma_to to;
    npu_dma_from from;
    ptrdiff_t strip_to; /* from a row of blocks to the next */
    ptrdiff_t strip_from;
    ptrdiff_t channel_to; /* from the last row of blocks of a channel to the next channel */
    ptrdiff_t channel_from;
    size_t strip_bits;
    size_t channel_bits;
    size_t strips;
    size_t rest; /* rows of blocks that this channel still has */
    size_t channels;
    unsigned char *index;
    size_t bit;
    size_t count;
    size_t edge;
    uint32_t zeros;
    uint32_t mask;
    unsigned ragged;
    unsigned ones;
    unsigned all;
    size_t moved;
} npu_dma_rows;

/* Move all rows of blocks; the columns that move are added to `moved`. */
NPU_DMA_WITHIN void npu_dma_strips(npu_dma_rows *rows, int leaves)
{
    npu_dma_to t = rows->to;
    npu_dma_from f = rows->from;
    for (;;) {
        unsigned flags = leaves ? 0 : npu_dma_get_bits(rows->index, rows->bit, rows->ones);
        if (rows->mask != 0) {
            flags = npu_dma_four(t, f, rows->edge, rows->zeros, rows->mask, flags,
                                 1u << rows->count, rows->ragged, leaves);
        }
        uint32_t zeros = rows->zeros;
        flags += rows->all;
        NPU_DMA_HERE(zeros);
        NPU_DMA_HERE(flags);
        flags = npu_dma_eight(t, f, zeros, flags, rows->count, 8, leaves);
        NPU_DMA_HERE(flags);
        rows->moved += flags >> 9;
        if (leaves) {
            npu_dma_put_bits(rows->index, rows->bit, rows->ones, flags);
        }
        if (--rows->rest > 0) {
            rows->bit += rows->strip_bits;
            t = npu_dma_to_next(t, rows->strip_to);
            f = npu_dma_from_next(f, rows->strip_from);
        } else if (--rows->channels > 0) {
            rows->rest = rows->strips;
            rows->bit += rows->channel_bits;
            t = npu_dma_to_next(t, rows->channel_to);
            f = npu_dma_from_next(f, rows->channel_from);
        } else {
            return;
        }
    }
}

/* The same, compiled as a loop of its own for each direction. */
NPU_DMA_APART void npu_dma_sparse(npu_dma_rows *rows, int leaves)
{
    if (leaves) {
        npu_dma_strips(rows, 1);
    } else {
        npu_dma_strips(rows, 0);
    }
}
