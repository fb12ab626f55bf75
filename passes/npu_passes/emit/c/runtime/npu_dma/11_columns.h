/* The runs of a transfer as bit planes: whole ones, and the columns of others. */

#ifdef NPU_DMA_PLANES

/* Move whole runs: `count` in each of `rows` rows, from run `at` on. Returns the bytes that move. */
NPU_DMA_WITHIN size_t npu_dma_whole_runs(const npu_dma_planar *job, unsigned char *to,
                                         const unsigned char *from, size_t at, size_t rows,
                                         size_t count, int leaves)
{
    const size_t skip_to = job->step - 16 * count, skip_from = job->pitch - 16 * count;
    size_t planes = 0;
    for (; rows > 0; --rows) {
        for (size_t rest = count, some; rest > 0; rest -= some, at += some) {
            some = rest < 8 ? rest : 8;
            const unsigned char *const end = from + 16 * some;
            uint32_t codes = leaves ? 0 : npu_dma_get_codes(job->index, at, some);
            planes += leaves ? 0 : npu_dma_sum_codes(codes);
            uint32_t zeros = job->zeros;
            NPU_DMA_HERE(zeros);
            for (; from != end; to += 16, from += 16) {
                if (leaves) {
                    codes = codes >> 4 | (uint32_t)npu_dma_code(to, from, 16, zeros) << 28;
                } else {
                    npu_dma_decode(to, from, 16, codes & 15u, zeros);
                    codes >>= 4;
                }
            }
            if (leaves) {
                codes >>= 4 * (8 - some);
                npu_dma_put_codes(job->index, at, some, codes);
                planes += npu_dma_sum_codes(codes);
            }
        }
        to += skip_to;
        from += skip_from;
        at += job->columns - count;
    }
    return 2 * planes;
}

/* The same, compiled as a loop of its own for each direction. Rows without a gap are one row. */
NPU_DMA_APART size_t npu_dma_runs(const npu_dma_planar *job, unsigned char *to,
                                  const unsigned char *from, size_t at, size_t rows, size_t count)
{
    if (count == job->columns && job->step == 16 * count && job->pitch == 16 * count) {
        count *= rows;
        rows = 1;
    }
    return job->leaves ? npu_dma_whole_runs(job, to, from, at, rows, count, 1)
                       : npu_dma_whole_runs(job, to, from, at, rows, count, 0);
}

/* Move or count one run of `n` elements in each of `rows` rows, of which the part has `take`
 * elements behind the first `skip`; `to` and `from` are at the first of these. Runs that leave the
 * chip are whole. Returns the bytes that move. */
NPU_DMA_APART size_t npu_dma_run_column(const npu_dma_planar *job, unsigned char *to,
                                        const unsigned char *from, size_t at, size_t rows, size_t n,
                                        size_t skip, size_t take)
{
    unsigned char whole[16];
    size_t moved = 0;
    for (; rows > 0; --rows, to += job->step, from += job->pitch, at += job->columns) {
        unsigned char *const place = job->move && take == n ? to : whole;
        unsigned code;
        if (job->leaves) {
            code = n > 8 ? npu_dma_code(place, from, n, job->zeros)
                         : npu_dma_code_few(place, from, n, job->zeros);
            if (job->move) {
                npu_dma_put_codes(job->index, at, 1, code);
            }
        } else {
            code = npu_dma_get_codes(job->index, at, 1);
            if (job->move && n > 8) {
                npu_dma_decode(place, from - skip, n, code, job->zeros);
            } else if (job->move) {
                npu_dma_decode_few(place, from - skip, n, code, job->zeros);
            }
            if (job->move && take < n) {
                memcpy(to, whole + skip, take);
            }
        }
        const size_t bytes = (code > 8 ? code - 8 : code) << (n > 8);
        moved += bytes < n ? bytes : n;
    }
    return moved;
}

/* Move or count `rows` rows of `width` elements from column `x` on, in a map of `wide` columns. The
 * first element is in run `at`. Returns the bytes that move. */
static inline size_t npu_dma_run_band(const npu_dma_planar *job, unsigned char *to,
                                      const unsigned char *from, size_t at, size_t rows, size_t x,
                                      size_t width, size_t wide)
{
    size_t moved = 0;
    while (width > 0) {
        const size_t skip = x % 16, rest = wide - (x - skip), n = rest < 16 ? rest : 16;
        size_t take = n - skip < width ? n - skip : width, count = 1;
        if (job->move && take == 16) {
            count = width / 16;
            moved += npu_dma_runs(job, to, from, at, rows, count);
            take = 16 * count;
        } else {
            moved += npu_dma_run_column(job, to, from, at, rows, n, skip, take);
        }
        to += take;
        from += take;
        at += count;
        x += take;
        width -= take;
    }
    return moved;
}

#endif
