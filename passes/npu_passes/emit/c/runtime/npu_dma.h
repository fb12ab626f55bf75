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

/* Hints, where a compiler can be told. Not inlined: a loop that needs all registers has them.
 * Inlined in any case: what is the same in each call is known there. A value that is in a register
 * from here on, not one more sum, nor in memory since before. An address of a word. */
#ifdef __GNUC__
#define NPU_DMA_APART __attribute__((noinline, unused)) static
#define NPU_DMA_WITHIN __attribute__((always_inline)) static inline
#define NPU_DMA_RARE(condition) __builtin_expect(condition, 0)
#define NPU_DMA_HERE(value) __asm__("" : "+r"(value))
#define NPU_DMA_ALIGNED(address) __builtin_assume_aligned(address, 4)
#else
#define NPU_DMA_APART static inline
#define NPU_DMA_WITHIN static inline
#define NPU_DMA_RARE(condition) (condition)
#define NPU_DMA_HERE(value) (void)(value)
#define NPU_DMA_ALIGNED(address) (address)
#endif

/* Whether code may take more room to take less time. */
#ifdef __OPTIMIZE_SIZE__
#define NPU_DMA_FAST 0
#else
#define NPU_DMA_FAST 1
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

/* What the blocks of a transfer have in common. In the target and in the source: bytes from a row
 * to the next, and from a channel to the next. In the index: bits from a block to the one below,
 * and from a channel to the next. Four bytes that are all zero. With `move` set, what is not zero
 * moves and the index is kept; else it is only counted. */
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

/* At most nine bits of the index, as many as `ones` has; the others of their bytes stay. */
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

/* Rows of blocks, `strips` of them in each of `channels` channels: `count` whole ones side by side,
 * eight at most, and a ragged one, if any, the columns of which `mask` has.
 *
 * That one is four words as well, `edge` bytes into the rows, which reach into the block beside it:
 * they go first, then the block beside it is moved, or filled, or does not matter. And where blocks
 * have fewer than four rows, the last one stands for the others.
 *
 * `ones` has a one for each block, `all` is what `npu_dma_four` begins with. All of it is here and
 * not in variables, also what changes with each row: the registers are for what each block needs.
 */
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

/* Counts in `moved` the columns that move. */
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

/* The same, with a loop for each direction. */
NPU_DMA_APART void npu_dma_sparse(npu_dma_rows *rows, int leaves)
{
    if (leaves) {
        npu_dma_strips(rows, 1);
    } else {
        npu_dma_strips(rows, 0);
    }
}

/* Rows of blocks of a map that is `side` blocks wide: each byte of the index has eight of them, 128
 * bytes one behind the other. Gives the columns that move. */
NPU_DMA_WITHIN size_t npu_dma_bytes(unsigned char *to, const unsigned char *from, uint32_t zeros,
                                    unsigned char *index, size_t bytes, size_t side, int leaves)
{
    const unsigned char *const end = index + bytes;
    size_t moved = 0;
    for (; index != end; ++index, to += 128, from += 128) {
        to = (unsigned char *)NPU_DMA_ALIGNED(to);
        from = (const unsigned char *)NPU_DMA_ALIGNED(from);
        const npu_dma_to t = {to, to + 4 * side, to + 8 * side, to + 12 * side};
        const npu_dma_from f = {from, from + 4 * side, from + 8 * side, from + 12 * side};
        unsigned flags = (32u << 9) + (leaves ? 255u : *index);
        flags = npu_dma_eight(t, f, zeros, flags, 8, side, leaves);
        if (leaves) {
            *index = (unsigned char)flags;
        }
        moved += flags >> 9;
    }
    return moved;
}

/* The same for some of the widths, so that the distances of rows are constants. */
NPU_DMA_APART size_t npu_dma_dense(const npu_dma_job *job, unsigned char *to,
                                   const unsigned char *from, unsigned char *index, size_t bytes)
{
    const uint32_t zeros = job->zeros;
    const int leaves = job->leaves;
    switch (job->columns) {
    case 8:
        return leaves ? npu_dma_bytes(to, from, zeros, index, bytes, 8, 1)
                      : npu_dma_bytes(to, from, zeros, index, bytes, 8, 0);
    case 4:
        return leaves ? npu_dma_bytes(to, from, zeros, index, bytes, 4, 1)
                      : npu_dma_bytes(to, from, zeros, index, bytes, 4, 0);
    default:
        return leaves ? npu_dma_bytes(to, from, zeros, index, bytes, 2, 1)
                      : npu_dma_bytes(to, from, zeros, index, bytes, 2, 0);
    }
}

/* Whether `npu_dma_dense` takes whole rows of blocks, those of all channels as one. Aligned, since
 * then words are words on any processor. */
static inline int npu_dma_is_dense(const npu_dma_job *job, const unsigned char *to,
                                   const unsigned char *from, size_t bit, size_t width)
{
    return NPU_DMA_FAST && job->channels == 1 && bit % 8 == 0 && width == job->step &&
           width == job->pitch && (width == 32 || width == 16 || width == 8) &&
           (((uintptr_t)to | (uintptr_t)from) & 3) == 0;
}

/* The bytes of a word that are its last `wide` columns, or its first ones, all ones. */
static inline uint32_t npu_dma_mask(size_t wide, int last)
{
    static const unsigned char bytes[10] = {0, 0, 0, 255, 255, 255, 255, 0, 0, 0};
    return wide == 0 ? 0 : npu_dma_word(bytes + (last ? wide - 1 : 7 - wide));
}

/* Blocks of at most 4 x 4 bytes: of each channel `strips` rows of those in `width` columns, fewer
 * than 36, the first one that of bit `bit`, each of `high` rows. A ragged one is the last one, or
 * alone and beside others on its right. Gives the bytes that move. */
static inline size_t npu_dma_words(const npu_dma_job *job, unsigned char *to,
                                   const unsigned char *from, size_t bit, size_t strips,
                                   size_t high, size_t width)
{
    const size_t second = high > 1, third = high > 2 ? 2 : second, fourth = high > 3 ? 3 : third;
    const size_t step = job->step, pitch = job->pitch, count = width / 4, ragged = width % 4;
    const npu_dma_to t = {to, to + second * step, to + third * step, to + fourth * step};
    const npu_dma_from f = {from, from + second * pitch, from + third * pitch,
                            from + fourth * pitch};
    npu_dma_rows rows;
    rows.to = t;
    rows.from = f;
    rows.strip_to = (ptrdiff_t)(4 * step);
    rows.strip_from = (ptrdiff_t)(4 * pitch);
    rows.channel_to = (ptrdiff_t)job->channel_step - (ptrdiff_t)(strips - 1) * rows.strip_to;
    rows.channel_from = (ptrdiff_t)job->channel_pitch - (ptrdiff_t)(strips - 1) * rows.strip_from;
    rows.strip_bits = job->columns;
    rows.channel_bits = job->channel_bits - (strips - 1) * job->columns;
    rows.strips = rows.rest = strips;
    rows.channels = job->channels;
    rows.index = job->index;
    rows.bit = bit;
    rows.count = count;
    rows.edge = count > 0 ? width - 4 : 0;
    rows.zeros = job->zeros;
    rows.mask = npu_dma_mask(ragged, count > 0);
    rows.ragged = (unsigned)ragged;
    rows.ones = (1u << (count + (ragged > 0))) - 1;
    rows.all = ((unsigned)width << 9) + (job->leaves ? rows.ones : 0);
    rows.moved = 0;
    npu_dma_sparse(&rows, job->leaves);
    return high * rows.moved;
}

/* Blocks of other sizes: of each channel `strips` blocks below each other. */
static inline size_t npu_dma_each(const npu_dma_job *job, const npu_dma_blocks *blocks,
                                  unsigned char *to, const unsigned char *from, size_t bit,
                                  size_t strips, size_t high, size_t width)
{
    const size_t block = blocks->block, bytes = width * blocks->element;
    size_t moved = 0;
    for (size_t channel = 0; channel < job->channels; ++channel) {
        unsigned char *const t = to + channel * job->channel_step;
        const unsigned char *const f = from + channel * job->channel_pitch;
        for (size_t strip = 0; strip < strips; ++strip) {
            moved += npu_dma_block(job, t + strip * block * job->step,
                                   f + strip * block * job->pitch,
                                   bit + channel * job->channel_bits + strip * job->columns, high,
                                   bytes);
        }
    }
    return moved;
}

/* Rows of blocks: of each channel `rows` rows of `width` elements, the first of which is in column
 * `x` of the map and in the block of bit `bit`. Gives the bytes that move. */
static inline size_t npu_dma_band(const npu_dma_job *job, const npu_dma_blocks *blocks,
                                  unsigned char *to, const unsigned char *from, size_t bit,
                                  size_t rows, size_t x, size_t width)
{
    const size_t block = blocks->block, element = blocks->element;
    const size_t high = rows < block ? rows : block;
    size_t strips = rows < block ? 1 : rows / block;
    size_t moved = 0, wide = block - x % block, count = 1;
    /* As words only if a ragged block is beside a whole one. */
    const int words = job->move && element == 1 && block == 4 && width >= 4 + wide % 4;
    if (words && high == 4 && npu_dma_is_dense(job, to, from, bit, width)) {
        const size_t bytes = strips * job->columns / 8;
        moved = 4 * npu_dma_dense(job, to, from, job->index + bit / 8, bytes);
        strips -= 8 * bytes / job->columns;
        if (strips == 0) {
            return moved;
        }
        to += 128 * bytes;
        from += 128 * bytes;
        bit += 8 * bytes;
    }
    for (; width > 0; width -= wide, bit += count, wide = block, count = 1) {
        wide = wide < width ? wide : width;
        if (words) {
            if (wide == 4) {
                wide = width < 36 ? width : 32;
                count = wide / 4;
            }
            moved += npu_dma_words(job, to, from, bit, strips, high, wide);
        } else {
            moved += npu_dma_each(job, blocks, to, from, bit, strips, high, wide);
        }
        to += wide * element;
        from += wide * element;
    }
    return moved;
}

/* Bytes of the index with a bit of one of the blocks: of `count` side by side from bit `bit` on, in
 * times[0] rows of each of times[1] channels of each of times[2] images, `apart` bits from one to
 * the next. */
static inline size_t npu_dma_met(size_t bit, size_t count, const size_t *times, const size_t *apart)
{
    size_t met = 0, last = SIZE_MAX, left[3] = {times[0], times[1], times[2]};
    /* Fewer than eight bits between two runs have no byte for themselves: they are one run. */
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
    const unsigned char *const begin = (const unsigned char *)(leaves ? (const void *)to : from);
    size_t at[4], rest = (size_t)(begin - (const unsigned char *)map);
    if (height == blocks->map[2] && height % block == 0 && t[1] == height * t[2] &&
        f[1] == height * f[2]) { /* Channels one behind the other are one with more rows. */
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
