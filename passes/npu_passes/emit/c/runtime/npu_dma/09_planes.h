/* Runs of a row as bit planes: how bytes become planes and planes bytes. */

#ifdef NPU_DMA_PLANES

/* A run is 16 bytes, or fewer at the end of a row. It is transposed, so that its planes, the bits
 * of equal weight, are together. Planes above the highest bit that is set do not move.
 *
 * Four words have the bytes of a run of more than eight; in a shorter run the last word, or the
 * last two, overlap the one before. Bits change places in two steps: four bits of a word with four
 * of another one, then pairs of bits. After that word k has planes 2 k and 2 k + 1, alternating.
 * Runs of at most eight bytes are two words, which become one byte for each plane. */

#define NPU_DMA_TOPS 0x80808080u

typedef struct {
    uint32_t a, b, c, d;
} npu_dma_quad;

/* Byte by byte, signed d becomes 2 d, or -2 d - 1 if it is negative; and back. */
NPU_DMA_WITHIN uint32_t npu_dma_fold(uint32_t x)
{
    const uint32_t signs = x >> 7 & 0x01010101u;
    return (x & 0x7F7F7F7Fu) << 1 ^ ((signs << 8) - signs);
}

NPU_DMA_WITHIN uint32_t npu_dma_unfold(uint32_t x)
{
    const uint32_t signs = x & 0x01010101u;
    return (x >> 1 & 0x7F7F7F7Fu) ^ ((signs << 8) - signs);
}

/* The upper bits of each group of 2 `by` bits of x change places with the lower bits in y. `mask`
 * has the lower bits. */
NPU_DMA_WITHIN void npu_dma_cross(uint32_t *x, uint32_t *y, int by, uint32_t mask)
{
    const uint32_t other = (*x >> by ^ *y) & mask;
    *y ^= other;
    *x ^= other << by;
}

/* The planes of four words, and back; `few`: at most four planes. */
NPU_DMA_WITHIN npu_dma_quad npu_dma_transpose(npu_dma_quad x, int few)
{
    if (few) {
        x.a |= x.c << 4;
        x.b |= x.d << 4;
        x.c = x.d = 0;
    } else {
        npu_dma_cross(&x.a, &x.c, 4, 0x0F0F0F0Fu);
        npu_dma_cross(&x.b, &x.d, 4, 0x0F0F0F0Fu);
        npu_dma_cross(&x.c, &x.d, 2, 0x33333333u);
    }
    npu_dma_cross(&x.a, &x.b, 2, 0x33333333u);
    return x;
}

NPU_DMA_WITHIN npu_dma_quad npu_dma_restore(npu_dma_quad x, int few)
{
    npu_dma_cross(&x.a, &x.b, 2, 0x33333333u);
    if (few) {
        x.c = x.a >> 4 & 0x0F0F0F0Fu;
        x.d = x.b >> 4 & 0x0F0F0F0Fu;
        x.a &= 0x0F0F0F0Fu;
        x.b &= 0x0F0F0F0Fu;
    } else {
        npu_dma_cross(&x.c, &x.d, 2, 0x33333333u);
        npu_dma_cross(&x.a, &x.c, 4, 0x0F0F0F0Fu);
        npu_dma_cross(&x.b, &x.d, 4, 0x0F0F0F0Fu);
    }
    return x;
}

/* A plane of even weight of 16 elements, alone in a word, as a half word; and back. */
NPU_DMA_WITHIN void npu_dma_put_half(unsigned char *to, uint32_t x)
{
    const uint16_t half = (uint16_t)(x | x >> 15);
    memcpy(to, &half, sizeof half);
}

NPU_DMA_WITHIN uint32_t npu_dma_get_half(const unsigned char *from)
{
    uint16_t half;
    memcpy(&half, from, sizeof half);
    return (half | (uint32_t)half << 15) & 0x55555555u;
}

/* The number of planes of the bits of four bytes. */
NPU_DMA_WITHIN unsigned npu_dma_width(uint32_t all)
{
    static const unsigned char widths[16] = {0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4};
    all |= all >> 16;
    all = (all | all >> 8) & 255;
    return all > 15 ? widths[all >> 4] + 4u : widths[all];
}

/* Store the last planes of 16 elements, one or two, as word `at`. Returns the number of all. */
NPU_DMA_WITHIN unsigned npu_dma_top(unsigned char *to, uint32_t last, unsigned at)
{
    if (last & 0xAAAAAAAAu) {
        npu_dma_put(to + 4 * at, last);
        return 2 * at + 2;
    }
    npu_dma_put_half(to + 4 * at, last);
    return 2 * at + 1;
}

/* Store the planes of 16 elements, two in a word. Returns their number. */
NPU_DMA_WITHIN unsigned npu_dma_put_planes(unsigned char *to, npu_dma_quad x, int few)
{
    x = npu_dma_transpose(x, few);
    if (few && x.b == 0) {
        return npu_dma_top(to, x.a, 0);
    }
    npu_dma_put(to, x.a);
    if (few) {
        return npu_dma_top(to, x.b, 1);
    }
    npu_dma_put(to + 4, x.b);
    if (x.d == 0) {
        return npu_dma_top(to, x.c, 2);
    }
    npu_dma_put(to + 8, x.c);
    return npu_dma_top(to, x.d, 3);
}

/* Load `width` planes of 16 elements; `width` is a constant from 1 to 7. */
NPU_DMA_WITHIN npu_dma_quad npu_dma_get_planes(const unsigned char *from, unsigned width)
{
    npu_dma_quad x = {0, 0, 0, 0};
    x.a = width > 1 ? npu_dma_word(from) : npu_dma_get_half(from);
    if (width > 2) {
        x.b = width > 3 ? npu_dma_word(from + 4) : npu_dma_get_half(from + 4);
    }
    if (width > 4) {
        x.c = width > 5 ? npu_dma_word(from + 8) : npu_dma_get_half(from + 8);
    }
    if (width > 6) {
        x.d = npu_dma_get_half(from + 12);
    }
    return npu_dma_restore(x, width <= 4);
}

/* Four planes of eight elements, from four bits of each element to a byte for each plane; and back.
 * Both steps are their own inverse, and their order does not matter. */
NPU_DMA_WITHIN uint32_t npu_dma_four_planes(uint32_t x)
{
    uint32_t other = (x >> 14 ^ x) & 0x0000CCCCu;
    x ^= other ^ other << 14;
    other = (x >> 7 ^ x) & 0x00AA00AAu;
    return x ^ other ^ other << 7;
}

/* Store the first `count` bytes of a word, at most four, from the lowest on; and load them. Four of
 * them are one instruction on many processors. */
NPU_DMA_WITHIN void npu_dma_put_bytes(unsigned char *to, uint32_t x, size_t count)
{
    if (count == 4) {
        to[0] = (unsigned char)x;
        to[1] = (unsigned char)(x >> 8);
        to[2] = (unsigned char)(x >> 16);
        to[3] = (unsigned char)(x >> 24);
        return;
    }
    for (size_t at = 0; at < count; ++at, x >>= 8) {
        to[at] = (unsigned char)x;
    }
}

NPU_DMA_WITHIN uint32_t npu_dma_get_bytes(const unsigned char *from, size_t count)
{
    uint32_t x = 0;
    if (count == 4) {
        return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    }
    while (count-- > 0) {
        x = x << 8 | from[count];
    }
    return x;
}

#endif
