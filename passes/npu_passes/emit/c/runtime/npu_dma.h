/* Transfers between memory on the chip and memory off it, for programs printed by npu-dialect.
 *
 * A program starts a transfer, computes, and waits; until then it touches neither side. Transfers
 * of one channel are done in the order of their starts, those of different channels in any order.
 *
 * As it stands, this header is the host's engine: it copies, and counts. There is nothing to link.
 *
 *   NPU_DMA_STRICT     defined: copies at the wait only, after it has filled the target with 0xA5
 *                      at the start. What a real engine might get wrong shows: wrong results, or
 *                      `npu_dma_mistakes` (a transfer waited for twice or not at all, one side
 *                      written while it runs, more transfers at a time than NPU_DMA_RUNNING).
 *   NPU_DMA_EXTERNAL   defined: only declarations, for an engine of your own. It defines
 *                      `struct npu_dma` and the functions (`npu_dma_start_blocks` if a program
 *                      has transfers in blocks).
 *
 * C99 and C++; no allocation, no globals: each run may have its own `npu_dma`.
 */
#ifndef NPU_DMA_H
#define NPU_DMA_H

#include <stddef.h>
#include <stdint.h>

#define NPU_DMA_AXES 6

/* What a transfer carries: learned parameters, or part of a feature map into the chip or out. */
typedef enum { NPU_DMA_WEIGHTS, NPU_DMA_READ, NPU_DMA_WRITE } npu_dma_kind;

/* `count` steps along an axis: bytes from one to the next, in the target and in the source. */
typedef struct {
    size_t count;
    ptrdiff_t to;
    ptrdiff_t from;
} npu_dma_axis;

/* Runs of `bytes` bytes that lie one behind the other, along `axes` axes, the outermost first. */
typedef struct {
    size_t bytes;
    int axes;
    npu_dma_axis axis[NPU_DMA_AXES];
} npu_dma_shape;

/* Blocks of `block` x `block` elements of a channel, of a map [N, C, H, W] off the chip: those that
 * are all `zero` are not moved. `map` and `part` are the elements along the axes of the map and of
 * the part that moves, `chip` and `dram` the bytes from one to the next.
 *
 * The index has a bit for each block, 1 if it is not zero: for block (n, c, y, x) of a map with R
 * rows and S columns of blocks, bit ((n * C + c) * R + y) * S + x, the least significant one of a
 * byte first. */
typedef struct {
    size_t element;
    size_t block;
    unsigned char zero;
    size_t map[4];
    size_t part[4];
    size_t chip[4];
    size_t dram[4];
} npu_dma_blocks;

/* A transfer that has been started. */
typedef uint32_t npu_dma_token;

typedef struct npu_dma npu_dma;

/* What went over the border of the chip. */
typedef struct {
    uint64_t weight_bytes;
    uint64_t feature_map_read_bytes;
    uint64_t feature_map_write_bytes;
    uint64_t feature_map_reads;
    uint64_t feature_map_writes;
    uint64_t transfers;
} npu_dma_counters;

#ifdef NPU_DMA_EXTERNAL

#ifdef __cplusplus
extern "C" {
#endif

/* Start a transfer on a channel; the shape stays where it is until the wait. */
npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                            const void *from, const npu_dma_shape *shape);
/* The same for the blocks of a map that are not zero. Into the chip, the others become zero there;
 * out of it, the index learns which they are, and nothing is said of their place in the map. */
npu_dma_token npu_dma_start_blocks(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                                   const void *from, const void *map, void *index,
                                   const npu_dma_shape *shape, const npu_dma_blocks *blocks);
/* Wait until a transfer is done; each is waited for once. */
void npu_dma_wait(npu_dma *dma, npu_dma_token token);
/* A layer begins to read, or to write, a feature map that lies off the chip. */
void npu_dma_reads(npu_dma *dma);
void npu_dma_writes(npu_dma *dma);

#ifdef __cplusplus
}
#endif

#else

#include <string.h>

/* Not inlined, where a compiler can be told: a loop that needs all registers has them. And an
 * address that is in a register from here on, not one more sum. */
#ifdef __GNUC__
#define NPU_DMA_APART __attribute__((noinline, unused)) static
#define NPU_DMA_HERE(address) __asm__("" : "+r"(address))
#else
#define NPU_DMA_APART static inline
#define NPU_DMA_HERE(address) (void)(address)
#endif

#ifndef NPU_DMA_RUNNING
#define NPU_DMA_RUNNING 32
#endif

/* A transfer that runs; its token is 0 once it is done. */
typedef struct {
    npu_dma_token token;
    uint32_t sum;
    const npu_dma_shape *shape;
    void *to;
    const void *from;
    const npu_dma_blocks *blocks; /* NULL if all of it moves */
    const void *map;
    void *index;
    int leaves;
} npu_dma_transfer;

struct npu_dma {
    npu_dma_counters counters;
    npu_dma_token last;
    uint32_t errors;
    npu_dma_transfer running[NPU_DMA_RUNNING];
};

/* Call this before the first run; call it again to count from zero. */
static inline void npu_dma_init(npu_dma *dma)
{
    memset(dma, 0, sizeof *dma);
}

/* Errors, and transfers that were not waited for. Always 0 without NPU_DMA_STRICT. */
static inline uint32_t npu_dma_mistakes(const npu_dma *dma)
{
    uint32_t count = dma->errors;
    for (int slot = 0; slot < NPU_DMA_RUNNING; ++slot) {
        count += dma->running[slot].token != 0;
    }
    return count;
}

/* Go on to the next run: `at` counts along the axes, `to` and `from` are its places. 0 at the
 * end. */
static inline int npu_dma_next(const npu_dma_shape *shape, size_t *at, ptrdiff_t *to,
                               ptrdiff_t *from)
{
    for (int axis = shape->axes - 1; axis >= 0; --axis) {
        const npu_dma_axis *const step = &shape->axis[axis];
        if (++at[axis] < step->count) {
            *to += step->to;
            *from += step->from;
            return 1;
        }
        at[axis] = 0;
        *to -= (ptrdiff_t)(step->count - 1) * step->to;
        *from -= (ptrdiff_t)(step->count - 1) * step->from;
    }
    return 0;
}

static inline void npu_dma_copy(const npu_dma_shape *shape, void *to, const void *from)
{
    size_t at[NPU_DMA_AXES] = {0};
    ptrdiff_t t = 0, f = 0;
    do {
        memcpy((unsigned char *)to + t, (const unsigned char *)from + f, shape->bytes);
    } while (npu_dma_next(shape, at, &t, &f));
}

/* What the blocks of a transfer have in common: bytes from a row to the next in the target and in
 * the source, blocks side by side in the map, four bytes that are all zero, and the index. With
 * `move` set, what is not zero moves and the index is kept; else it is only counted. */
typedef struct {
    int leaves;
    int move;
    size_t step;
    size_t pitch;
    size_t columns;
    uint32_t zeros;
    unsigned char *index;
} npu_dma_job;

/* Four bytes at any address, as a word that is compared and copied, in whatever order. */
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

/* A row of a block that moves: a word at a time, for rows are short. No loop at the ends of rows:
 * compilers make a call of one, for three bytes. */
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

/* A row of zeros. */
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

/* One block: `rows` runs of `bytes` bytes. Gives the bytes that move. */
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

/* What rows of blocks have in common: bytes from the first row of a block to its second, third and
 * fourth, in the target and in the source, four bytes that are all zero, blocks side by side, eight
 * at most, and columns of a ragged one behind them. Where a block has fewer rows, the last one
 * stands for the others: what moves twice is the same. */
typedef struct {
    size_t to[3];
    size_t from[3];
    uint32_t zeros;
    size_t count;
    size_t wide;
} npu_dma_rows;

/* Four rows of a side of a transfer. */
typedef struct {
    unsigned char *a, *b, *c, *d;
} npu_dma_to;
typedef struct {
    const unsigned char *a, *b, *c, *d;
} npu_dma_from;

/* Four words below each other, `at` bytes into the rows: out of the chip unless all are zero. Gives
 * whether they move. */
static inline int npu_dma_word_out(npu_dma_to to, npu_dma_from from, size_t at, uint32_t zeros)
{
    const uint32_t first = npu_dma_word(from.a + at);
    if (first == zeros && npu_dma_word(from.b + at) == zeros &&
        npu_dma_word(from.c + at) == zeros && npu_dma_word(from.d + at) == zeros) {
        return 0;
    }
    npu_dma_put(to.a + at, first);
    npu_dma_put(to.b + at, npu_dma_word(from.b + at));
    npu_dma_put(to.c + at, npu_dma_word(from.c + at));
    npu_dma_put(to.d + at, npu_dma_word(from.d + at));
    return 1;
}

/* The same into the chip, if `full` is set; otherwise zeros. */
static inline int npu_dma_word_in(npu_dma_to to, npu_dma_from from, size_t at, uint32_t zeros,
                                  unsigned full)
{
    if (full) {
        npu_dma_put(to.a + at, npu_dma_word(from.a + at));
        npu_dma_put(to.b + at, npu_dma_word(from.b + at));
        npu_dma_put(to.c + at, npu_dma_word(from.c + at));
        npu_dma_put(to.d + at, npu_dma_word(from.d + at));
        return 1;
    }
    npu_dma_put(to.a + at, zeros);
    npu_dma_put(to.b + at, zeros);
    npu_dma_put(to.c + at, zeros);
    npu_dma_put(to.d + at, zeros);
    return 0;
}

/* A pair of bytes at any address. */
static inline uint16_t npu_dma_pair(const unsigned char *at)
{
    uint16_t pair;
    memcpy(&pair, at, sizeof pair);
    return pair;
}

static inline void npu_dma_put_pair(unsigned char *at, uint16_t pair)
{
    memcpy(at, &pair, sizeof pair);
}

/* Four pairs below each other, as words are. */
static inline int npu_dma_pair_is_zero(npu_dma_from from, size_t at, uint16_t zeros)
{
    return npu_dma_pair(from.a + at) == zeros && npu_dma_pair(from.b + at) == zeros &&
           npu_dma_pair(from.c + at) == zeros && npu_dma_pair(from.d + at) == zeros;
}

static inline void npu_dma_pair_copy(npu_dma_to to, npu_dma_from from, size_t at)
{
    npu_dma_put_pair(to.a + at, npu_dma_pair(from.a + at));
    npu_dma_put_pair(to.b + at, npu_dma_pair(from.b + at));
    npu_dma_put_pair(to.c + at, npu_dma_pair(from.c + at));
    npu_dma_put_pair(to.d + at, npu_dma_pair(from.d + at));
}

static inline void npu_dma_pair_fill(npu_dma_to to, size_t at, uint16_t zeros)
{
    npu_dma_put_pair(to.a + at, zeros);
    npu_dma_put_pair(to.b + at, zeros);
    npu_dma_put_pair(to.c + at, zeros);
    npu_dma_put_pair(to.d + at, zeros);
}

static inline npu_dma_to npu_dma_rows_to(const npu_dma_rows *rows, unsigned char *to)
{
    npu_dma_to four = {to, to + rows->to[0], to + rows->to[1], to + rows->to[2]};
    NPU_DMA_HERE(four.b);
    NPU_DMA_HERE(four.c);
    NPU_DMA_HERE(four.d);
    return four;
}

static inline npu_dma_from npu_dma_rows_from(const npu_dma_rows *rows, const unsigned char *from)
{
    npu_dma_from four = {from, from + rows->from[0], from + rows->from[1], from + rows->from[2]};
    NPU_DMA_HERE(four.b);
    NPU_DMA_HERE(four.c);
    NPU_DMA_HERE(four.d);
    return four;
}

/* A block of one to three columns out of the chip: a byte below another, or two pairs, which
 * overlap. Gives whether it moves. */
NPU_DMA_APART unsigned npu_dma_edge_out(const npu_dma_rows *rows, unsigned char *to,
                                   const unsigned char *from)
{
    const npu_dma_to t = npu_dma_rows_to(rows, to);
    const npu_dma_from f = npu_dma_rows_from(rows, from);
    if (rows->wide == 1) {
        const unsigned char zero = (unsigned char)rows->zeros;
        if (*f.a == zero && *f.b == zero && *f.c == zero && *f.d == zero) {
            return 0;
        }
        *t.a = *f.a;
        *t.b = *f.b;
        *t.c = *f.c;
        *t.d = *f.d;
        return 1;
    }
    const size_t second = rows->wide - 2;
    const uint16_t zeros = (uint16_t)rows->zeros;
    if (npu_dma_pair_is_zero(f, 0, zeros) && npu_dma_pair_is_zero(f, second, zeros)) {
        return 0;
    }
    npu_dma_pair_copy(t, f, 0);
    npu_dma_pair_copy(t, f, second);
    return 1;
}

/* The same into the chip, if `full` is set; otherwise zeros. */
NPU_DMA_APART void npu_dma_edge_in(const npu_dma_rows *rows, unsigned char *to,
                                   const unsigned char *from, unsigned full)
{
    const npu_dma_to t = npu_dma_rows_to(rows, to);
    const npu_dma_from f = npu_dma_rows_from(rows, from);
    if (rows->wide == 1) {
        const unsigned char zero = (unsigned char)rows->zeros;
        *t.a = full ? *f.a : zero;
        *t.b = full ? *f.b : zero;
        *t.c = full ? *f.c : zero;
        *t.d = full ? *f.d : zero;
    } else if (full) {
        npu_dma_pair_copy(t, f, 0);
        npu_dma_pair_copy(t, f, rows->wide - 2);
    } else {
        npu_dma_pair_fill(t, 0, (uint16_t)rows->zeros);
        npu_dma_pair_fill(t, rows->wide - 2, (uint16_t)rows->zeros);
    }
}

/* A row of blocks out of the chip. Gives their bits of the index, and in the bits above the ninth
 * how many columns move. */
NPU_DMA_APART unsigned npu_dma_words_out(const npu_dma_rows *rows, unsigned char *to,
                                         const unsigned char *from)
{
    const npu_dma_to t = npu_dma_rows_to(rows, to);
    const npu_dma_from f = npu_dma_rows_from(rows, from);
    const uint32_t zeros = rows->zeros;
    unsigned flags = 0;
    switch (rows->count) {
    case 8:
        flags += npu_dma_word_out(t, f, 28, zeros) ? 2048 + 128 : 0;
        /* fall through */
    case 7:
        flags += npu_dma_word_out(t, f, 24, zeros) ? 2048 + 64 : 0;
        /* fall through */
    case 6:
        flags += npu_dma_word_out(t, f, 20, zeros) ? 2048 + 32 : 0;
        /* fall through */
    case 5:
        flags += npu_dma_word_out(t, f, 16, zeros) ? 2048 + 16 : 0;
        /* fall through */
    case 4:
        flags += npu_dma_word_out(t, f, 12, zeros) ? 2048 + 8 : 0;
        /* fall through */
    case 3:
        flags += npu_dma_word_out(t, f, 8, zeros) ? 2048 + 4 : 0;
        /* fall through */
    case 2:
        flags += npu_dma_word_out(t, f, 4, zeros) ? 2048 + 2 : 0;
        /* fall through */
    case 1:
        flags += npu_dma_word_out(t, f, 0, zeros) ? 2048 + 1 : 0;
        /* fall through */
    default:
        break;
    }
    if (rows->wide > 0) {
        const size_t at = 4 * rows->count;
        if (npu_dma_edge_out(rows, to + at, from + at)) {
            flags += (1u << rows->count) + 512 * (unsigned)rows->wide;
        }
    }
    return flags;
}

/* The same into the chip, given their bits of the index. */
NPU_DMA_APART unsigned npu_dma_words_in(const npu_dma_rows *rows, unsigned char *to,
                                        const unsigned char *from, unsigned flags)
{
    const npu_dma_to t = npu_dma_rows_to(rows, to);
    const npu_dma_from f = npu_dma_rows_from(rows, from);
    const uint32_t zeros = rows->zeros;
    switch (rows->count) {
    case 8:
        flags += npu_dma_word_in(t, f, 28, zeros, flags & 128) ? 2048 : 0;
        /* fall through */
    case 7:
        flags += npu_dma_word_in(t, f, 24, zeros, flags & 64) ? 2048 : 0;
        /* fall through */
    case 6:
        flags += npu_dma_word_in(t, f, 20, zeros, flags & 32) ? 2048 : 0;
        /* fall through */
    case 5:
        flags += npu_dma_word_in(t, f, 16, zeros, flags & 16) ? 2048 : 0;
        /* fall through */
    case 4:
        flags += npu_dma_word_in(t, f, 12, zeros, flags & 8) ? 2048 : 0;
        /* fall through */
    case 3:
        flags += npu_dma_word_in(t, f, 8, zeros, flags & 4) ? 2048 : 0;
        /* fall through */
    case 2:
        flags += npu_dma_word_in(t, f, 4, zeros, flags & 2) ? 2048 : 0;
        /* fall through */
    case 1:
        flags += npu_dma_word_in(t, f, 0, zeros, flags & 1) ? 2048 : 0;
        /* fall through */
    default:
        break;
    }
    if (rows->wide > 0) {
        const size_t at = 4 * rows->count;
        const unsigned full = flags >> rows->count & 1;
        npu_dma_edge_in(rows, to + at, from + at, full);
        flags += full * 512 * (unsigned)rows->wide;
    }
    return flags;
}

/* At most nine bits of the index; the others of their bytes stay. */
static inline void npu_dma_put_bits(unsigned char *index, size_t bit, size_t count, unsigned flags)
{
    unsigned char *const byte = index + bit / 8;
    const unsigned place = bit % 8, mask = ((1u << count) - 1) << place;
    flags <<= place;
    byte[0] = (unsigned char)((byte[0] & ~mask) | flags);
    if (mask > 255) {
        byte[1] = (unsigned char)((byte[1] & ~(mask >> 8)) | flags >> 8);
    }
}

static inline unsigned npu_dma_get_bits(const unsigned char *index, size_t bit, size_t count)
{
    const unsigned char *const byte = index + bit / 8;
    const unsigned place = bit % 8;
    unsigned flags = byte[0];
    if (place + count > 8) {
        flags |= (unsigned)byte[1] << 8;
    }
    return flags >> place & ((1u << count) - 1);
}

/* Blocks of at most 4 x 4 bytes: `strips` rows of those in `width` columns, fewer than 36, the
 * first one that of bit `bit`, each of `high` rows. Gives the bytes that move. */
NPU_DMA_APART size_t npu_dma_words(const npu_dma_job *job, unsigned char *to,
                                   const unsigned char *from, size_t bit, size_t strips,
                                   size_t high, size_t width)
{
    const size_t second = high > 1, third = high > 2 ? 2 : second, fourth = high > 3 ? 3 : third;
    const size_t count = width / 4, wide = width % 4, bits = count + (wide > 0);
    const npu_dma_rows rows = {{second * job->step, third * job->step, fourth * job->step},
                               {second * job->pitch, third * job->pitch, fourth * job->pitch},
                               job->zeros,
                               count,
                               wide};
    const size_t step = 4 * job->step, pitch = 4 * job->pitch, columns = job->columns;
    unsigned char *const index = job->index;
    size_t full = 0;
    if (job->leaves) {
        for (;; to += step, from += pitch, bit += columns) {
            const unsigned flags = npu_dma_words_out(&rows, to, from);
            npu_dma_put_bits(index, bit, bits, flags & 511);
            full += flags >> 9;
            if (--strips == 0) {
                break;
            }
        }
    } else {
        for (;; to += step, from += pitch, bit += columns) {
            full += npu_dma_words_in(&rows, to, from, npu_dma_get_bits(index, bit, bits)) >> 9;
            if (--strips == 0) {
                break;
            }
        }
    }
    return high * full;
}

/* Rows of blocks: `rows` rows of `width` elements, the first of which is in column `x` of the map
 * and in the block of bit `bit`. Gives the bytes that move. */
static inline size_t npu_dma_strips(const npu_dma_job *job, const npu_dma_blocks *blocks,
                                    unsigned char *to, const unsigned char *from, size_t bit,
                                    size_t rows, size_t x, size_t width)
{
    const size_t block = blocks->block, element = blocks->element;
    const size_t strips = rows < block ? 1 : rows / block, high = rows < block ? rows : block;
    const int words = job->move && element == 1 && block == 4;
    size_t moved = 0, wide = block - x % block, count = 1;
    for (; width > 0; width -= wide, bit += count, wide = block, count = 1) {
        wide = wide < width ? wide : width;
        if (words) {
            if (wide == 4) {
                wide = width < 36 ? width : 32;
                count = wide / 4;
            }
            moved += npu_dma_words(job, to, from, bit, strips, high, wide);
        } else {
            for (size_t strip = 0; strip < strips; ++strip) {
                moved += npu_dma_block(job, to + strip * block * job->step,
                                       from + strip * block * job->pitch,
                                       bit + strip * job->columns, high, wide * element);
            }
        }
        to += wide * element;
        from += wide * element;
    }
    return moved;
}

/* Bytes of the index that `strips` rows of `count` blocks meet, the one that was `last` not counted
 * again; those of a row are `columns` bits behind those of the one above. */
static inline size_t npu_dma_met(size_t bit, size_t strips, size_t count, size_t columns,
                                 size_t *last)
{
    size_t met = 0;
    if (columns - count < 8) { /* Between two rows there is no byte that is not met. */
        count += (strips - 1) * columns;
        strips = 1;
    }
    for (; strips > 0; --strips, bit += columns) {
        const size_t first = bit / 8, end = (bit + count - 1) / 8;
        met += end - first + (first != *last);
        *last = end;
    }
    return met;
}

/* The blocks of one channel: rows of the block that the part begins in, of those that it has as a
 * whole, and of the one that it ends in. */
static inline size_t npu_dma_channel(const npu_dma_job *job, const npu_dma_blocks *blocks,
                                     unsigned char *to, const unsigned char *from, size_t bit,
                                     const size_t *bands, size_t x)
{
    size_t moved = 0, row = 0;
    for (int band = 0; band < 3; ++band) {
        if (bands[band] > 0) {
            moved += npu_dma_strips(job, blocks, to + row * job->step, from + row * job->pitch, bit,
                                    bands[band], x, blocks->part[3]);
            bit += (bands[band] + blocks->block - 1) / blocks->block * job->columns;
            row += bands[band];
        }
    }
    return moved;
}

/* Bytes that a transfer of blocks moves, those of the index that it meets included; with `move` set
 * it moves them. */
static inline uint64_t npu_dma_move(const npu_dma_blocks *blocks, int leaves, void *to,
                                    const void *from, const void *map, void *index, int move)
{
    const size_t *const t = leaves ? blocks->dram : blocks->chip;
    const size_t *const f = leaves ? blocks->chip : blocks->dram;
    const size_t block = blocks->block, width = blocks->part[3];
    size_t height = blocks->part[2], channels = blocks->part[1];
    const size_t rows = (blocks->map[2] + block - 1) / block;
    const size_t columns = (blocks->map[3] + block - 1) / block;
    const npu_dma_job job = {leaves,  move, t[2], f[2], columns, blocks->zero * 0x01010101u,
                             (unsigned char *)index};
    const unsigned char *const begin = (const unsigned char *)(leaves ? (const void *)to : from);
    size_t at[4], rest = (size_t)(begin - (const unsigned char *)map), last = SIZE_MAX;
    uint64_t moved = 0;
    if (height == blocks->map[2] && height % block == 0 && t[1] == height * t[2] &&
        f[1] == height * f[2]) { /* Channels one behind the other are one with more rows. */
        height *= channels;
        channels = 1;
    }
    for (int axis = 0; axis < 4; ++axis) {
        at[axis] = rest / blocks->dram[axis];
        rest %= blocks->dram[axis];
    }
    const size_t strips = (at[2] + height - 1) / block - at[2] / block + 1;
    const size_t count = (at[3] + width - 1) / block - at[3] / block + 1;
    const size_t first = (block - at[2] % block) % block;
    const size_t head = first < height ? first : height, tail = (height - head) % block;
    const size_t bands[3] = {head, height - head - tail, tail};
    for (size_t n = 0; n < blocks->part[0]; ++n) {
        for (size_t c = 0; c < channels; ++c) {
            const size_t channel = (at[0] + n) * blocks->map[1] + at[1] + c;
            const size_t bit = (channel * rows + at[2] / block) * columns + at[3] / block;
            moved += npu_dma_met(bit, strips, count, columns, &last);
            moved += npu_dma_channel(&job, blocks, (unsigned char *)to + n * t[0] + c * t[1],
                                     (const unsigned char *)from + n * f[0] + c * f[1], bit,
                                     bands, at[3]);
        }
    }
    return moved;
}

#ifdef NPU_DMA_STRICT

/* The place of a transfer that runs, or with token 0 a free place. NULL if there is none. */
static inline npu_dma_transfer *npu_dma_find(npu_dma *dma, npu_dma_token token)
{
    for (int slot = 0; slot < NPU_DMA_RUNNING; ++slot) {
        if (dma->running[slot].token == token) {
            return &dma->running[slot];
        }
    }
    return NULL;
}

static inline void npu_dma_poison(const npu_dma_shape *shape, void *to)
{
    size_t at[NPU_DMA_AXES] = {0};
    ptrdiff_t t = 0, f = 0;
    do {
        memset((unsigned char *)to + t, 0xA5, shape->bytes);
    } while (npu_dma_next(shape, at, &t, &f));
}

/* Whether nobody wrote the target since it was filled with 0xA5. */
static inline int npu_dma_is_poison(const npu_dma_shape *shape, const void *to)
{
    size_t at[NPU_DMA_AXES] = {0};
    ptrdiff_t t = 0, f = 0;
    do {
        const unsigned char *const run = (const unsigned char *)to + t;
        for (size_t byte = 0; byte < shape->bytes; ++byte) {
            if (run[byte] != 0xA5) {
                return 0;
            }
        }
    } while (npu_dma_next(shape, at, &t, &f));
    return 1;
}

/* A checksum of the source (FNV-1a). */
static inline uint32_t npu_dma_sum(const npu_dma_shape *shape, const void *from)
{
    size_t at[NPU_DMA_AXES] = {0};
    ptrdiff_t t = 0, f = 0;
    uint32_t sum = 2166136261u;
    do {
        const unsigned char *const run = (const unsigned char *)from + f;
        for (size_t byte = 0; byte < shape->bytes; ++byte) {
            sum = (sum ^ run[byte]) * 16777619u;
        }
    } while (npu_dma_next(shape, at, &t, &f));
    return sum;
}

#endif

/* Count a transfer, and give it a token. */
static inline void npu_dma_count(npu_dma *dma, npu_dma_kind kind, uint64_t bytes)
{
    if (kind == NPU_DMA_WEIGHTS) {
        dma->counters.weight_bytes += bytes;
    } else if (kind == NPU_DMA_READ) {
        dma->counters.feature_map_read_bytes += bytes;
    } else {
        dma->counters.feature_map_write_bytes += bytes;
    }
    ++dma->counters.transfers;
    dma->last += dma->last == UINT32_MAX ? 2u : 1u;
}

#ifdef NPU_DMA_STRICT

/* Note a transfer that has been counted, for its wait. 0 if there is no place for it. */
static inline int npu_dma_note(npu_dma *dma, const npu_dma_transfer *what)
{
    npu_dma_transfer *const transfer = npu_dma_find(dma, 0);
    if (transfer == NULL) {
        ++dma->errors;
        return 0;
    }
    npu_dma_poison(what->shape, what->to);
    *transfer = *what;
    transfer->token = dma->last;
    transfer->sum = npu_dma_sum(what->shape, what->from);
    return 1;
}

#endif

/* Start a transfer on a channel; the shape stays where it is until the wait. */
static inline npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                                          const void *from, const npu_dma_shape *shape)
{
    uint64_t bytes = shape->bytes;
    (void)channel;
    for (int axis = 0; axis < shape->axes; ++axis) {
        bytes *= shape->axis[axis].count;
    }
    npu_dma_count(dma, kind, bytes);
#ifdef NPU_DMA_STRICT
    const npu_dma_transfer what = {0, 0, shape, to, from, NULL, NULL, NULL, 0};
    if (npu_dma_note(dma, &what)) {
        return dma->last;
    }
#endif
    npu_dma_copy(shape, to, from);
    return dma->last;
}

/* The same for the blocks of a map that are not zero. Into the chip, the others become zero there;
 * out of it, the index learns which they are, and nothing is said of their place in the map. */
static inline npu_dma_token npu_dma_start_blocks(npu_dma *dma, int channel, npu_dma_kind kind,
                                                 void *to, const void *from, const void *map,
                                                 void *index, const npu_dma_shape *shape,
                                                 const npu_dma_blocks *blocks)
{
    const int leaves = kind == NPU_DMA_WRITE;
    (void)channel;
    (void)shape;
#ifdef NPU_DMA_STRICT
    const npu_dma_transfer what = {0, 0, shape, to, from, blocks, map, index, leaves};
    npu_dma_count(dma, kind, npu_dma_move(blocks, leaves, to, from, map, index, 0));
    if (npu_dma_note(dma, &what)) {
        return dma->last;
    }
    npu_dma_move(blocks, leaves, to, from, map, index, 1);
#else
    npu_dma_count(dma, kind, npu_dma_move(blocks, leaves, to, from, map, index, 1));
#endif
    return dma->last;
}

/* Wait until a transfer is done; each is waited for once. */
static inline void npu_dma_wait(npu_dma *dma, npu_dma_token token)
{
#ifdef NPU_DMA_STRICT
    npu_dma_transfer *const transfer = token == 0 ? NULL : npu_dma_find(dma, token);
    if (transfer == NULL) {
        ++dma->errors;
        return;
    }
    dma->errors += npu_dma_sum(transfer->shape, transfer->from) != transfer->sum;
    dma->errors += !npu_dma_is_poison(transfer->shape, transfer->to);
    if (transfer->blocks != NULL) {
        npu_dma_move(transfer->blocks, transfer->leaves, transfer->to, transfer->from,
                     transfer->map, transfer->index, 1);
    } else {
        npu_dma_copy(transfer->shape, transfer->to, transfer->from);
    }
    transfer->token = 0;
#else
    (void)dma;
    (void)token;
#endif
}

/* A layer begins to read, or to write, a feature map that lies off the chip. */
static inline void npu_dma_reads(npu_dma *dma)
{
    ++dma->counters.feature_map_reads;
}

static inline void npu_dma_writes(npu_dma *dma)
{
    ++dma->counters.feature_map_writes;
}

#endif

#endif
