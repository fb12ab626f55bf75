/* Runs of a row as bit planes, coded and decoded. */

#ifdef NPU_DMA_PLANES

/* What the runs of a transfer have in common. `leaves`, `move`, `step` and `pitch` are as in
 * npu_dma_job. `columns`: runs of a row of the map. `zeros`: four zero elements, 0 or -128. */
typedef struct {
    int leaves;
    int move;
    size_t step;
    size_t pitch;
    size_t columns;
    uint32_t zeros;
    unsigned char *index;
} npu_dma_planar;

/* The codes of `count` runs, at most eight, from run `at` on: four bits each, the first lowest. */
NPU_DMA_WITHIN uint32_t npu_dma_get_codes(const unsigned char *index, size_t at, size_t count)
{
    const unsigned char *const byte = index + at / 2;
    const uint32_t codes = at % 2 ? byte[0] >> 4 | npu_dma_get_bytes(byte + 1, count / 2) << 4
                                  : npu_dma_get_bytes(byte, (count + 1) / 2);
    return codes & UINT32_MAX >> 4 * (8 - count);
}

NPU_DMA_WITHIN void npu_dma_put_codes(unsigned char *index, size_t at, size_t count, uint32_t codes)
{
    unsigned char *byte = index + at / 2;
    if (at % 2) {
        *byte = (unsigned char)((*byte & 15u) | codes << 4);
        ++byte;
        codes >>= 4;
        --count;
    }
    npu_dma_put_bytes(byte, codes, count / 2);
    if (count % 2) {
        byte += count / 2;
        *byte = (unsigned char)((*byte & 240u) | (codes >> 4 * (count - 1) & 15u));
    }
}

/* The sum of the planes of eight codes: of 8 eight planes, of others their lower three bits. */
NPU_DMA_WITHIN size_t npu_dma_sum_codes(uint32_t codes)
{
    const uint32_t low = codes & 0x77777777u;
    const uint32_t planes = low | (codes & ~(low + 0x77777777u) & 0x88888888u);
    return ((planes & 0x0F0F0F0Fu) + (planes >> 4 & 0x0F0F0F0Fu)) * 0x01010101u >> 24;
}

/* The words of a run of 9 to 16 elements, and back. */
NPU_DMA_WITHIN npu_dma_quad npu_dma_get_quad(const unsigned char *from, size_t n, uint32_t zeros)
{
    const size_t third = n < 12 ? n - 4 : 8;
    const npu_dma_quad x = {npu_dma_word(from) ^ zeros, npu_dma_word(from + 4) ^ zeros,
                            npu_dma_word(from + third) ^ zeros, npu_dma_word(from + n - 4) ^ zeros};
    return x;
}

NPU_DMA_WITHIN void npu_dma_put_quad(unsigned char *to, npu_dma_quad x, size_t n, uint32_t zeros)
{
    npu_dma_put(to, x.a ^ zeros);
    npu_dma_put(to + 4, x.b ^ zeros);
    npu_dma_put(to + (n < 12 ? n - 4 : 8), x.c ^ zeros);
    npu_dma_put(to + n - 4, x.d ^ zeros);
}

/* Whether the planes of a run of 9 to 16 elements have fewer bytes than the elements. */
NPU_DMA_WITHIN int npu_dma_saves(uint32_t all, size_t n)
{
    return n == 16 ? (all & NPU_DMA_TOPS) == 0 : 2 * npu_dma_width(all) < n;
}

/* Code a run of 9 to 16 elements into its planes. Returns its code. */
NPU_DMA_WITHIN unsigned npu_dma_code(unsigned char *to, const unsigned char *from, size_t n,
                                     uint32_t zeros)
{
    npu_dma_quad x = npu_dma_get_quad(from, n, zeros);
    uint32_t all = x.a | x.b | x.c | x.d;
    unsigned code = 0;
    if (!npu_dma_saves(all, n)) {
        code = 8;
        x.a = npu_dma_fold(x.a);
        x.b = npu_dma_fold(x.b);
        x.c = npu_dma_fold(x.c);
        x.d = npu_dma_fold(x.d);
        all = x.a | x.b | x.c | x.d;
        if (!npu_dma_saves(all, n)) {
            npu_dma_put_quad(to, npu_dma_get_quad(from, n, 0), n, 0);
            return code;
        }
    }
    if (all == 0) {
        return 0;
    }
    return code + (all & 0xF0F0F0F0u ? npu_dma_put_planes(to, x, 0) : npu_dma_put_planes(to, x, 1));
}

/* Decode a run of 9 to 16 elements that has `width` planes, a constant from 1 to 7. */
NPU_DMA_WITHIN void npu_dma_decode_as(unsigned char *to, const unsigned char *from, size_t n,
                                      unsigned width, int is_signed, uint32_t zeros)
{
    npu_dma_quad x = npu_dma_get_planes(from, width);
    if (is_signed) {
        x.a = npu_dma_unfold(x.a);
        x.b = npu_dma_unfold(x.b);
        x.c = npu_dma_unfold(x.c);
        x.d = npu_dma_unfold(x.d);
    }
    npu_dma_put_quad(to, x, n, zeros);
}

/* The same for any `width`; from 8 on, the elements are there as they are. */
NPU_DMA_WITHIN void npu_dma_decode_any(unsigned char *to, const unsigned char *from, size_t n,
                                       unsigned width, int is_signed, uint32_t zeros)
{
    const npu_dma_quad empty = {0, 0, 0, 0};
    switch (width) {
    case 0:
        npu_dma_put_quad(to, empty, n, zeros);
        return;
    case 1:
        npu_dma_decode_as(to, from, n, 1, is_signed, zeros);
        return;
    case 2:
        npu_dma_decode_as(to, from, n, 2, is_signed, zeros);
        return;
    case 3:
        npu_dma_decode_as(to, from, n, 3, is_signed, zeros);
        return;
    case 4:
        npu_dma_decode_as(to, from, n, 4, is_signed, zeros);
        return;
    case 5:
        npu_dma_decode_as(to, from, n, 5, is_signed, zeros);
        return;
    case 6:
        npu_dma_decode_as(to, from, n, 6, is_signed, zeros);
        return;
    case 7:
        npu_dma_decode_as(to, from, n, 7, is_signed, zeros);
        return;
    default:
        npu_dma_put_quad(to, npu_dma_get_quad(from, n, 0), n, 0);
    }
}

/* Decode a run of 9 to 16 elements. Codes that the coder does not write stay within the run. */
NPU_DMA_WITHIN void npu_dma_decode(unsigned char *to, const unsigned char *from, size_t n,
                                   unsigned code, uint32_t zeros)
{
    if (n < 16 && 2 * (code & 7) >= n) {
        code = 8;
    }
    if (NPU_DMA_RARE(code > 8)) {
        npu_dma_decode_any(to, from, n, code - 8, 1, zeros);
    } else {
        npu_dma_decode_any(to, from, n, code, 0, zeros);
    }
}

/* The two words of a run of at most eight elements. Fewer than four are bytes of the first one. */
NPU_DMA_WITHIN uint32_t npu_dma_get_few(const unsigned char *from, size_t n, uint32_t *y)
{
    if (n < 4) {
        *y = 0x01010101u * from[0];
        return (*y & 0xFF0000FFu) | (uint32_t)from[n / 2] << 8 | (uint32_t)from[n - 1] << 16;
    }
    *y = npu_dma_word(from + n - 4);
    return npu_dma_word(from);
}

NPU_DMA_WITHIN void npu_dma_put_few(unsigned char *to, size_t n, uint32_t x, uint32_t y)
{
    if (n < 4) {
        to[0] = (unsigned char)x;
        to[n / 2] = (unsigned char)(x >> 8);
        to[n - 1] = (unsigned char)(x >> 16);
        return;
    }
    npu_dma_put(to, x);
    npu_dma_put(to + n - 4, y);
}

/* Code a run of at most eight elements. Returns its code. */
NPU_DMA_WITHIN unsigned npu_dma_code_few(unsigned char *to, const unsigned char *from, size_t n,
                                         uint32_t zeros)
{
    uint32_t y, x = npu_dma_get_few(from, n, &y) ^ zeros;
    unsigned code = 0, width;
    y ^= zeros;
    width = npu_dma_width(x | y);
    if (width >= n) {
        code = 8;
        x = npu_dma_fold(x);
        y = npu_dma_fold(y);
        width = npu_dma_width(x | y);
        if (width >= n) {
            x = npu_dma_get_few(from, n, &y);
            npu_dma_put_few(to, n, x, y);
            return code;
        }
    }
    npu_dma_cross(&x, &y, 4, 0x0F0F0F0Fu);
    npu_dma_put_bytes(to, npu_dma_four_planes(x), width < 4 ? width : 4);
    if (width > 4) {
        npu_dma_put_bytes(to + 4, npu_dma_four_planes(y), width - 4);
    }
    return width == 0 ? 0 : code + width;
}

NPU_DMA_WITHIN void npu_dma_decode_few(unsigned char *to, const unsigned char *from, size_t n,
                                       unsigned code, uint32_t zeros)
{
    const unsigned width = code > 8 ? code - 8 : code;
    uint32_t x, y = 0;
    if (width >= n) {
        x = npu_dma_get_few(from, n, &y);
        npu_dma_put_few(to, n, x, y);
        return;
    }
    x = npu_dma_four_planes(npu_dma_get_bytes(from, width < 4 ? width : 4));
    if (width > 4) {
        y = npu_dma_four_planes(npu_dma_get_bytes(from + 4, width - 4));
    }
    npu_dma_cross(&x, &y, 4, 0x0F0F0F0Fu);
    if (code > 8) {
        x = npu_dma_unfold(x);
        y = npu_dma_unfold(y);
    }
    npu_dma_put_few(to, n, x ^ zeros, y ^ zeros);
}

#endif
