/* Blocks of any size: rows that are all zero, rows that move, and one block. */

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

/* Whether a row of a block is all zero. */
static inline int npu_dma_is_zero(const unsigned char *run, size_t bytes, uint32_t zeros)
{
    for (; bytes >= 4; bytes -= 4, run += 4) {
        if (npu_dma_word(run) != zeros) {
            return 0;
        }
    }
    for (; bytes > 0; --bytes, ++run) {
        if (*run != (unsigned char)zeros) {
            return 0;
        }
    }
    return 1;
}

/* Copy a row of a block, a word at a time, as rows are short. There is no loop for the last bytes,
 * at most three: compilers would turn it into a call. */
static inline void npu_dma_row(unsigned char *to, const unsigned char *from, size_t bytes)
{
    for (; bytes >= 4; bytes -= 4, to += 4, from += 4) {
        npu_dma_put(to, npu_dma_word(from));
    }
    if (bytes & 2) {
        memcpy(to, from, 2);
        to += 2;
        from += 2;
    }
    if (bytes & 1) {
        *to = *from;
    }
}

/* Fill a row with zeros. */
static inline void npu_dma_fill(unsigned char *to, size_t bytes, uint32_t zeros)
{
    for (; bytes >= 4; bytes -= 4, to += 4) {
        npu_dma_put(to, zeros);
    }
    if (bytes & 2) {
        memcpy(to, &zeros, 2);
        to += 2;
    }
    if (bytes & 1) {
        *to = (unsigned char)zeros;
    }
}

/* Move or count one block: `rows` rows of `bytes` bytes, with bit `bit` of the index. Returns the
 * bytes that move. */
static inline size_t npu_dma_block(const npu_dma_job *job, unsigned char *to,
                                   const unsigned char *from, size_t bit, size_t rows, size_t bytes)
{
    unsigned char *const byte = job->index + bit / 8;
    const size_t step = job->step, pitch = job->pitch;
    const unsigned mask = 1u << bit % 8;
    int full = (*byte & mask) != 0;
    if (job->leaves) {
        full = 0;
        for (size_t row = 0; row < rows && !full; ++row) {
            full = !npu_dma_is_zero(from + row * pitch, bytes, job->zeros);
        }
        if (job->move) {
            *byte = (unsigned char)(full ? *byte | mask : *byte & ~mask);
        }
    }
    for (size_t row = 0; row < rows && job->move; ++row) {
        if (full) {
            npu_dma_row(to + row * step, from + row * pitch, bytes);
        } else if (!job->leaves) {
            npu_dma_fill(to + row * step, bytes, job->zeros);
        }
    }
    return full ? rows * bytes : 0;
}
