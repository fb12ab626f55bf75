/* Blocks of four rows of four bytes: each row is a word, up to eight blocks at a time. */

/* Pointers to four rows of the target, and of the source. */
typedef struct {
    unsigned char *a, *b, *c, *d;
} npu_dma_to;
typedef struct {
    const unsigned char *a, *b, *c, *d;
} npu_dma_from;

/* The same rows, `bytes` bytes further on. */
NPU_DMA_WITHIN npu_dma_to npu_dma_to_next(npu_dma_to t, ptrdiff_t bytes)
{
    t.a += bytes;
    t.b += bytes;
    t.c += bytes;
    t.d += bytes;
    NPU_DMA_HERE(t.a);
    NPU_DMA_HERE(t.b);
    NPU_DMA_HERE(t.c);
    NPU_DMA_HERE(t.d);
    return t;
}

NPU_DMA_WITHIN npu_dma_from npu_dma_from_next(npu_dma_from f, ptrdiff_t bytes)
{
    f.a += bytes;
    f.b += bytes;
    f.c += bytes;
    f.d += bytes;
    NPU_DMA_HERE(f.a);
    NPU_DMA_HERE(f.b);
    NPU_DMA_HERE(f.c);
    NPU_DMA_HERE(f.d);
    return f;
}

/* Move one block of four words, one in each row, `at` bytes from the pointers. Off the chip, it
 * moves unless all of its bytes in `mask` are zero. Onto the chip, it moves if its `bit` is set in
 * `flags`; otherwise the target is filled with zeros.
 *
 * `flags` has nine bits of the index, and above them the number of columns that move. The caller
 * counts all blocks as moving, as most of them do. Returns `flags`; if this block does not move,
 * its `columns` are subtracted, and off the chip its bit, too. */
NPU_DMA_WITHIN unsigned npu_dma_four(npu_dma_to t, npu_dma_from f, size_t at, uint32_t zeros,
                                     uint32_t mask, unsigned flags, unsigned bit, unsigned columns,
                                     int leaves)
{
    const uint32_t first = leaves || flags & bit ? npu_dma_word(f.a + at) : zeros;
    if (leaves) {
        if (NPU_DMA_RARE(((first ^ zeros) & mask) == 0) &&
            ((npu_dma_word(f.b + at) ^ zeros) & mask) == 0 &&
            ((npu_dma_word(f.c + at) ^ zeros) & mask) == 0 &&
            ((npu_dma_word(f.d + at) ^ zeros) & mask) == 0) {
            return flags - bit - (columns << 9);
        }
    } else if (!(flags & bit)) {
        npu_dma_put(t.a + at, zeros);
        npu_dma_put(t.b + at, zeros);
        npu_dma_put(t.c + at, zeros);
        npu_dma_put(t.d + at, zeros);
        return flags - (columns << 9);
    }
    npu_dma_put(t.a + at, first);
    npu_dma_put(t.b + at, npu_dma_word(f.b + at));
    npu_dma_put(t.c + at, npu_dma_word(f.c + at));
    npu_dma_put(t.d + at, npu_dma_word(f.d + at));
    return flags;
}

/* Move block `nth` of several, of which `side` are side by side and the next ones below those. */
NPU_DMA_WITHIN unsigned npu_dma_nth(npu_dma_to t, npu_dma_from f, uint32_t zeros, unsigned flags,
                                    size_t nth, size_t side, int leaves)
{
    return npu_dma_four(t, f, nth / side * side * 16 + nth % side * 4, zeros, UINT32_MAX, flags,
                        1u << nth, 4, leaves);
}

/* Move `count` blocks, at most eight. There is no loop, so that offsets and bits are constants,
 * which need no registers. */
NPU_DMA_WITHIN unsigned npu_dma_eight(npu_dma_to t, npu_dma_from f, uint32_t zeros, unsigned flags,
                                      size_t count, size_t side, int leaves)
{
    switch (count) {
    case 8:
        flags = npu_dma_nth(t, f, zeros, flags, 7, side, leaves);
        /* fall through */
    case 7:
        flags = npu_dma_nth(t, f, zeros, flags, 6, side, leaves);
        /* fall through */
    case 6:
        flags = npu_dma_nth(t, f, zeros, flags, 5, side, leaves);
        /* fall through */
    case 5:
        flags = npu_dma_nth(t, f, zeros, flags, 4, side, leaves);
        /* fall through */
    case 4:
        flags = npu_dma_nth(t, f, zeros, flags, 3, side, leaves);
        /* fall through */
    case 3:
        flags = npu_dma_nth(t, f, zeros, flags, 2, side, leaves);
        /* fall through */
    case 2:
        flags = npu_dma_nth(t, f, zeros, flags, 1, side, leaves);
        /* fall through */
    case 1:
        flags = npu_dma_nth(t, f, zeros, flags, 0, side, leaves);
        /* fall through */
    default:
        return flags;
    }
}
