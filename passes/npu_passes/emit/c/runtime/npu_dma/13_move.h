/* All blocks of a transfer, and the number of bytes of the index that hold their bits. */

/* The number of bytes of the index that hold bits of some blocks: `count` bits from bit `bit` on,
 * in times[0] rows of blocks of each of times[1] channels of each of times[2] images; apart[0],
 * apart[1] and apart[2] are the bits from one to the next. */
static inline size_t npu_dma_met(size_t bit, size_t count, const size_t *times, const size_t *apart)
{
    size_t met = 0, last = SIZE_MAX, left[3] = {times[0], times[1], times[2]};
    /* A gap of fewer than eight bits has no byte of its own: runs with such gaps are one run. */
    for (int axis = 0; axis < 3 && (times[axis] == 1 || apart[axis] - count < 8); ++axis) {
        count += (times[axis] - 1) * apart[axis];
        left[axis] = 1;
    }
    for (size_t n = 0; n < left[2]; ++n) {
        for (size_t c = 0; c < left[1]; ++c) {
            for (size_t y = 0; y < left[0]; ++y) {
                const size_t at = bit + n * apart[2] + c * apart[1] + y * apart[0];
                const size_t first = at / 8, end = (at + count - 1) / 8;
                met += end - first + (first != last);
                last = end;
            }
        }
    }
    return met;
}

#ifdef NPU_DMA_PLANES

/* The same as npu_dma_move, for a transfer of bit planes. */
static inline uint64_t npu_dma_move_planes(const npu_dma_blocks *blocks, int leaves, void *to,
                                           const void *from, const void *map, void *index, int move)
{
    const size_t *const t = leaves ? blocks->dram : blocks->chip;
    const size_t *const f = leaves ? blocks->chip : blocks->dram;
    const size_t wide = blocks->map[3], high = blocks->map[2], columns = (wide + 15) / 16;
    const unsigned char *const begin = (const unsigned char *)(leaves ? (const void *)to : from);
    size_t rows = blocks->part[2], channels = blocks->part[1], width = blocks->part[3];
    size_t at[4], rest = (size_t)(begin - (const unsigned char *)map);
    for (int axis = 0; axis < 4; ++axis) {
        at[axis] = rest / blocks->dram[axis];
        rest %= blocks->dram[axis];
    }
    const size_t first = ((at[0] * blocks->map[1] + at[1]) * high + at[2]) * columns + at[3] / 16;
    const size_t count = (at[3] + width - 1) / 16 - at[3] / 16 + 1;
    const size_t times[3] = {rows, channels, blocks->part[0]};
    const size_t apart[3] = {4 * columns, 4 * high * columns, 4 * blocks->map[1] * high * columns};
    const npu_dma_planar job = {leaves, move, t[2], f[2], columns,
                                blocks->zero * 0x01010101u & NPU_DMA_TOPS, (unsigned char *)index};
    uint64_t moved = npu_dma_met(4 * first, 4 * count, times, apart);
    if (rows == high && t[1] == rows * t[2] && f[1] == rows * f[2]) {
        rows *= channels; /* Contiguous channels are like one channel with more rows. */
        channels = 1;
    }
    for (size_t n = 0; n < blocks->part[0]; ++n) {
        for (size_t c = 0; c < channels; ++c) {
            moved += npu_dma_run_band(&job, (unsigned char *)to + n * t[0] + c * t[1],
                                      (const unsigned char *)from + n * f[0] + c * f[1],
                                      first + (n * blocks->map[1] + c) * high * columns, rows,
                                      at[3], width, wide);
        }
    }
    return moved;
}

#endif

/* Returns the bytes that a transfer of blocks moves, including those of the index that hold bits of
 * its blocks; with `move` set it moves them. */
static inline uint64_t npu_dma_move(const npu_dma_blocks *blocks, int leaves, void *to,
                                    const void *from, const void *map, void *index, int move)
{
#ifdef NPU_DMA_PLANES
    if (blocks->planes) {
        return npu_dma_move_planes(blocks, leaves, to, from, map, index, move);
    }
#endif
    const size_t *const t = leaves ? blocks->dram : blocks->chip;
    const size_t *const f = leaves ? blocks->chip : blocks->dram;
    const size_t block = blocks->block, width = blocks->part[3];
    size_t height = blocks->part[2], channels = blocks->part[1];
    const size_t rows = (blocks->map[2] + block - 1) / block;
    const size_t columns = (blocks->map[3] + block - 1) / block;
    const unsigned char *const begin = (const unsigned char *)(leaves ? (const void *)to : from);
    size_t at[4], rest = (size_t)(begin - (const unsigned char *)map);
    if (height == blocks->map[2] && height % block == 0 && t[1] == height * t[2] &&
        f[1] == height * f[2]) { /* Contiguous channels are like one channel with more rows. */
        height *= channels;
        channels = 1;
    }
    for (int axis = 0; axis < 4; ++axis) {
        at[axis] = rest / blocks->dram[axis];
        rest %= blocks->dram[axis];
    }
    const size_t times[3] = {(at[2] + height - 1) / block - at[2] / block + 1, channels,
                             blocks->part[0]};
    const size_t apart[3] = {columns, rows * columns, blocks->map[1] * rows * columns};
    const size_t first = (block - at[2] % block) % block;
    const size_t head = first < height ? first : height, tail = (height - head) % block;
    const size_t bands[3] = {head, height - head - tail, tail};
    const size_t bit =
        ((at[0] * blocks->map[1] + at[1]) * rows + at[2] / block) * columns + at[3] / block;
    const npu_dma_job job = {leaves, move, t[2], f[2], channels, t[1], f[1], columns, apart[1],
                             blocks->zero * 0x01010101u, (unsigned char *)index};
    const size_t count = (at[3] + width - 1) / block - at[3] / block + 1;
    uint64_t moved = npu_dma_met(bit, count, times, apart);
    for (size_t n = 0; n < blocks->part[0]; ++n) {
        unsigned char *band_to = (unsigned char *)to + n * t[0];
        const unsigned char *band_from = (const unsigned char *)from + n * f[0];
        size_t band_bit = bit + n * apart[2];
        for (int band = 0; band < 3; ++band) {
            if (bands[band] > 0) {
                moved += npu_dma_band(&job, blocks, band_to, band_from, band_bit, bands[band],
                                      at[3], width);
                band_to += bands[band] * t[2];
                band_from += bands[band] * f[2];
                band_bit += (bands[band] + block - 1) / block * columns;
            }
        }
    }
    return moved;
}
