/* What the engine asks of caches, on registers that are only memory: each byte that moves is cleaned
 * or invalidated, and no other. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { CLEANED = 1, INVALIDATED = 2, FENCED = 4 };

static unsigned char memory[512], marks[512];
static int calls, fences;

static void mark(const void *address, size_t bytes, int what)
{
    const ptrdiff_t first = (const unsigned char *)address - memory;
    ++calls;
    for (size_t byte = 0; byte < bytes && first >= 0 && first + (ptrdiff_t)byte < 512; ++byte) {
        marks[first + (ptrdiff_t)byte] |= (unsigned char)what;
    }
}

#define NPU_PL330_CLEAN(address, bytes) mark(address, bytes, CLEANED)
#define NPU_PL330_INVALIDATE(address, bytes) mark(address, bytes, INVALIDATED)
#define NPU_PL330_BARRIER(address, bytes) (++fences, mark(address, bytes, FENCED))
#include "npu_pl330.c"

#define CHECK(what)                              \
    do {                                         \
        if (!(what)) {                           \
            printf("%d: %s\n", __LINE__, #what); \
            return 1;                            \
        }                                        \
    } while (0)

/* Runs of 4 bytes, 8 apart in the source; in the target two of them touch. */
static const npu_dma_shape rows = {4, 2, {{3, 16, 24}, {2, 4, 8}}};
static const unsigned char code[14] = {0xbc, 0, 0, 0, 0, 0, 0xbc, 2, 0, 0, 0, 0, 0x34, 0x08};
static npu_pl330_program programs[1] = {{{4, 2, {{3, 16, 24}, {2, 4, 8}}}, 1, 4, 0, 4, 0, 4, 0, 14, code}};
static uint32_t registers[1024];
static npu_dma engine;

/* Whether exactly the bytes that move have a mark, on one side. */
static int exact(const npu_dma_shape *shape, const unsigned char *first, int target, int what)
{
    unsigned char wanted[512];
    memset(wanted, 0, sizeof wanted);
    for (int row = 0; row < 3; ++row) {
        for (int run = 0; run < 2; ++run) {
            const ptrdiff_t at = first - memory +
                                 row * (target ? shape->axis[0].to : shape->axis[0].from) +
                                 run * (target ? shape->axis[1].to : shape->axis[1].from);
            memset(wanted + at, what, 4);
        }
    }
    for (int byte = 0; byte < 512; ++byte) {
        if ((marks[byte] & what) != wanted[byte]) {
            return 0;
        }
    }
    return 1;
}

int main(void)
{
    unsigned char *const from = memory + 8, *const to = memory + 256;
    npu_dma_token token;
    programs[0].key = npu_pl330_key(&rows, 1);
    npu_pl330_init(&engine, registers, programs, 1);
    registers[INTMIS] = 0xFF;
    token = npu_dma_start(&engine, 1, NPU_DMA_READ, to, from, &rows);
    CHECK(exact(&rows, from, 0, CLEANED) && exact(&rows, to, 1, INVALIDATED));
    CHECK(fences == 1 && calls == 6 + 3 + 2); /* the last two are for the code */
    memset(marks, 0, sizeof marks);
    npu_dma_wait(&engine, token);
    CHECK(exact(&rows, to, 1, INVALIDATED) && fences == 2);
    CHECK(marks[256] & FENCED && marks[256 + 2 * 16 + 7] & FENCED && !(marks[256 + 40] & FENCED));

    /* Without a program the core copies, and its caches hold the target. */
    memset(marks, 0, sizeof marks);
    npu_dma_wait(&engine, npu_dma_start(&engine, 2, NPU_DMA_READ, to, from, &rows));
    CHECK(engine.errors == 1 && exact(&rows, to, 1, CLEANED));
    return 0;
}
