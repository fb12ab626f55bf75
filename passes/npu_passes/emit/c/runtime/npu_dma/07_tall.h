/* Blocks of any size, side by side: their rows are compared, copied and filled word by word. */

/* Blocks side by side: in each channel of the job `strips` rows of `count` blocks, from bit `bit`
 * on. A block is `high` rows of `bytes` bytes. */
typedef struct {
    unsigned char *to;
    const unsigned char *from;
    size_t bit;
    size_t strips;
    size_t count;
    size_t high;
    size_t bytes;
} npu_dma_field;

/* What happens to a block. */
typedef enum { NPU_DMA_TEST, NPU_DMA_CARRY, NPU_DMA_CLEAR } npu_dma_act;

/* Do something to `rows` rows of `bytes` bytes; `bytes` and `act` are constants. Returns 0 if a row
 * was tested that is not all zero. */
NPU_DMA_WITHIN int npu_dma_column(const npu_dma_job *job, unsigned char *to,
                                  const unsigned char *from, size_t rows, size_t bytes,
                                  npu_dma_act act)
{
    const size_t step = job->step, pitch = job->pitch;
    const uint32_t zeros = job->zeros;
    do {
        if (act == NPU_DMA_CARRY) {
            memcpy(to, from, bytes);
        } else if (act == NPU_DMA_CLEAR) {
            npu_dma_fill(to, bytes, zeros);
        } else if (!npu_dma_is_zero(from, bytes, zeros)) {
            return 0;
        }
        to += step;
        from += pitch;
    } while (--rows > 0);
    return 1;
}

/* The same for a block of any size, column by column: a loop along a row would begin anew in each
 * row. The last word of a row may reach into the one before it. */
NPU_DMA_WITHIN int npu_dma_columns(const npu_dma_job *job, unsigned char *to,
                                   const unsigned char *from, size_t rows, size_t bytes,
                                   npu_dma_act act)
{
    int same = 1;
    for (size_t at = 0, wide; at < bytes && same; at += wide) {
        if (bytes - at >= 16) {
            wide = 16;
            same = npu_dma_column(job, to + at, from + at, rows, 16, act);
        } else if (bytes >= 4) {
            wide = 4;
            at = bytes - at < 4 ? bytes - 4 : at;
            same = npu_dma_column(job, to + at, from + at, rows, 4, act);
        } else {
            wide = 1;
            same = npu_dma_column(job, to + at, from + at, rows, 1, act);
        }
    }
    return same;
}

/* Move or count one block; `full` is its bit of the index, of a block that comes. Returns whether
 * it moves. */
NPU_DMA_APART int npu_dma_block(const npu_dma_job *job, unsigned char *to,
                                const unsigned char *from, size_t rows, size_t bytes, int full)
{
    if (job->leaves) {
        full = !npu_dma_columns(job, to, from, rows, bytes, NPU_DMA_TEST);
    }
    if (job->move && full) {
        npu_dma_columns(job, to, from, rows, bytes, NPU_DMA_CARRY);
    } else if (job->move && !job->leaves) {
        npu_dma_columns(job, to, from, rows, bytes, NPU_DMA_CLEAR);
    }
    return full;
}

/* Whether a block of constant `rows` and `bytes` is all zero. */
NPU_DMA_WITHIN int npu_dma_is_empty(const unsigned char *from, size_t pitch, size_t rows,
                                    size_t bytes, uint32_t zeros)
{
    if (bytes == 16 && npu_dma_word(from) != zeros) {
        return 0; /* The first word of a long row often says so. */
    }
    NPU_DMA_UNROLLED
    for (size_t row = 0; row < rows; ++row) {
        if (!npu_dma_is_zero(from + row * pitch, bytes, zeros)) {
            return 0;
        }
    }
    return 1;
}

/* Move a block of constant `rows` and `bytes`, at most eight rows: code without loops. Rows of 16
 * bytes are aligned words, which some processors move with one instruction. */
NPU_DMA_WITHIN int npu_dma_plain(unsigned char *to, const unsigned char *from, size_t step,
                                 size_t pitch, size_t rows, size_t bytes, uint32_t zeros,
                                 int leaves, int full)
{
    if (leaves) {
        full = !npu_dma_is_empty(from, pitch, rows, bytes, zeros);
    }
    NPU_DMA_UNROLLED
    for (size_t row = 0; row < rows; ++row, to += step, from += pitch) {
        if (full && bytes == 16) {
            memcpy(NPU_DMA_ALIGNED(to), NPU_DMA_ALIGNED(from), 16);
        } else if (full) {
            memcpy(to, from, bytes);
        } else if (!leaves) {
            npu_dma_fill(to, bytes, zeros);
        }
    }
    return full;
}

/* Move or count all blocks of a field, at most eight at a time. `rows` and `bytes` are constants, or
 * 0 if they are not known. Returns the number of blocks that move. */
NPU_DMA_WITHIN size_t npu_dma_field_of(const npu_dma_job *job, const npu_dma_field *field,
                                       size_t rows, size_t bytes, uint32_t zeros, int leaves)
{
    const size_t wide = rows > 0 ? bytes : field->bytes, high = rows > 0 ? rows : field->high;
    const ptrdiff_t down = (ptrdiff_t)(high * job->step), below = (ptrdiff_t)(high * job->pitch);
    unsigned char *strip_to = field->to;
    const unsigned char *strip_from = field->from;
    size_t strip_bit = field->bit, rest = field->strips, channels = job->channels, moved = 0;
    for (;;) {
        unsigned char *to = strip_to;
        const unsigned char *from = strip_from;
        size_t bit = strip_bit;
        for (size_t left = field->count, count; left > 0; left -= count, bit += count) {
            count = left < 8 ? left : 8;
            const unsigned end = 1u << count;
            unsigned flags = leaves ? 0 : npu_dma_get_bits(job->index, bit, end - 1);
            for (unsigned mask = 1; mask != end; mask <<= 1, to += wide, from += wide) {
                int full = (flags & mask) != 0;
                full = rows > 0 ? npu_dma_plain(to, from, job->step, job->pitch, high, wide, zeros,
                                                leaves, full)
                                : npu_dma_block(job, to, from, high, wide, full);
                flags |= full ? mask : 0;
                moved += full ? 1 : 0;
            }
            if (leaves && job->move) {
                npu_dma_put_bits(job->index, bit, end - 1, flags);
            }
        }
        strip_to += down;
        strip_from += below;
        strip_bit += job->columns;
        if (--rest == 0) {
            if (--channels == 0) {
                return moved;
            }
            rest = field->strips;
            strip_to += (ptrdiff_t)job->channel_step - (ptrdiff_t)rest * down;
            strip_from += (ptrdiff_t)job->channel_pitch - (ptrdiff_t)rest * below;
            strip_bit += job->channel_bits - rest * job->columns;
        }
    }
}

/* Whether the blocks of a field have these rows and bytes, and can move as npu_dma_plain does. */
static inline int npu_dma_is_plain(const npu_dma_job *job, const npu_dma_field *field, size_t rows,
                                   size_t bytes)
{
    const uintptr_t places = (uintptr_t)field->to | (uintptr_t)field->from;
    return NPU_DMA_FAST && job->move && field->high == rows && field->bytes == bytes &&
           (bytes != 16 || (job->zeros == 0 && ((places | job->step | job->pitch) & 3) == 0));
}

/* The same, compiled as a loop of its own for each direction and each usual block: 4 x 4 floats,
 * 8 x 8 bytes, 2 x 2 floats and 2 x 2 bytes. Returns the bytes that move. */
NPU_DMA_APART size_t npu_dma_tall(const npu_dma_job *job, const npu_dma_field *field)
{
    const uint32_t zeros = job->zeros;
    const int leaves = job->leaves;
    size_t moved;
    if (npu_dma_is_plain(job, field, 4, 16)) {
        moved = leaves ? npu_dma_field_of(job, field, 4, 16, 0, 1)
                       : npu_dma_field_of(job, field, 4, 16, 0, 0);
    } else if (npu_dma_is_plain(job, field, 8, 8)) {
        moved = leaves ? npu_dma_field_of(job, field, 8, 8, zeros, 1)
                       : npu_dma_field_of(job, field, 8, 8, zeros, 0);
    } else if (npu_dma_is_plain(job, field, 2, 8)) {
        moved = leaves ? npu_dma_field_of(job, field, 2, 8, zeros, 1)
                       : npu_dma_field_of(job, field, 2, 8, zeros, 0);
    } else if (npu_dma_is_plain(job, field, 2, 2)) {
        moved = leaves ? npu_dma_field_of(job, field, 2, 2, zeros, 1)
                       : npu_dma_field_of(job, field, 2, 2, zeros, 0);
    } else {
        moved = npu_dma_field_of(job, field, 0, 0, zeros, leaves);
    }
    return moved * field->high * field->bytes;
}
