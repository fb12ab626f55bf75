/* Blocks of four rows of four bytes: each row is a word, up to eight blocks at a time. */

/* Four rows of a side of a transfer. */
typedef struct {
    unsigned char *a, *b, *c, *d;
} npu_dma_to;
typedef struct {
    const unsigned char *a, *b, *c, *d;
} npu_dma_from;

/* The same rows that many bytes further on. */
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

/* A block: four words below each other, `at` bytes into the rows. Out of the chip it moves unless
 * all that `mask` has of it is zero, into it if `flags` has its `bit`, and zeros do otherwise.
 *
 * `flags` are bits of the index, and above the ninth the columns that move. They come in as if all
 * moved, for most blocks do: if this one does not, the result is less its bit and its `columns`. */
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

/* Block `nth` of some: there are `side` of them side by side, then come those below. */
NPU_DMA_WITHIN unsigned npu_dma_nth(npu_dma_to t, npu_dma_from f, uint32_t zeros, unsigned flags,
                                    size_t nth, size_t side, int leaves)
{
    return npu_dma_four(t, f, nth / side * side * 16 + nth % side * 4, zeros, UINT32_MAX, flags,
                        1u << nth, 4, leaves);
}

/* At most eight blocks. No loop: places and bits are constants, which takes no registers. */
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
