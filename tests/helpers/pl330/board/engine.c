/* The engine on registers that are only memory: what it writes there, and what it does alone. */
#include <stdio.h>
#include <string.h>

#include "npu_pl330.h"

#define CHECK(what)                                  \
    do {                                             \
        if (!(what)) {                               \
            printf("%d: %s\n", __LINE__, #what);     \
            return 1;                                \
        }                                            \
    } while (0)

enum { INTEN = 0x020 / 4, INTMIS = 0x028 / 4, INTCLR = 0x02C / 4, FSRC = 0x034 / 4 };
enum { DBGINST0 = 0xD08 / 4, DBGINST1 = 0xD0C / 4 };

static const unsigned char code[14] = {0xbc, 0, 0, 0, 0, 0, 0xbc, 2, 0, 0, 0, 0, 0x34, 0x08};
static const npu_dma_shape rows = {4, 1, {{3, 4, 8}}};
static const npu_dma_shape other = {4, 1, {{3, 8, 8}}};
static const npu_pl330_program programs[1] = {{{4, 1, {{3, 4, 8}}}, 1, 4, 0, 8, 4, 14, code}};

static uint32_t registers[1024];
static uint64_t memory[8];
static npu_dma engine;

static int word_at(const unsigned char *bytes, const void *address)
{
    const uint32_t low = (uint32_t)(uintptr_t)address;
    return bytes[0] == (low & 255) && bytes[1] == (low >> 8 & 255) &&
           bytes[2] == (low >> 16 & 255) && bytes[3] == low >> 24;
}

int main(void)
{
    unsigned char *const from = (unsigned char *)memory + 4, *const to = (unsigned char *)memory + 40;
    const unsigned char *const patched = (const unsigned char *)engine.code[1];
    npu_dma_token first, second;

    npu_pl330_init(&engine, registers, programs, 1);
    CHECK(registers[INTEN] == 0xFF);
    registers[INTMIS] = 0xFF; /* every event has come */
    first = npu_dma_start(&engine, 1, NPU_DMA_READ, to, from, &rows);
    CHECK(registers[DBGINST0] == (1u << 24 | 0xA0u << 16));
    CHECK(registers[DBGINST1] == (uint32_t)(uintptr_t)patched);
    CHECK(patched[0] == 0xbc && patched[12] == 0x34);
    CHECK(word_at(patched + 2, from) && word_at(patched + 8, to));
    registers[INTCLR] = 0;
    second = npu_dma_start(&engine, 1, NPU_DMA_WEIGHTS, to, from, &rows);
    CHECK(registers[INTCLR] == 2); /* the first one has been waited for */
    registers[INTCLR] = 0;
    npu_dma_wait(&engine, first);
    CHECK(registers[INTCLR] == 0);
    npu_dma_wait(&engine, second);
    CHECK(registers[INTCLR] == 2);
    CHECK(engine.errors == 0);

    /* Another shape, another channel, another place: there is no program, the core copies. */
    for (unsigned byte = 0; byte < 24; ++byte) {
        from[byte] = (unsigned char)(byte + 1);
    }
    npu_dma_wait(&engine, npu_dma_start(&engine, 1, NPU_DMA_WRITE, to, from, &other));
    CHECK(to[0] == 1 && to[3] == 4 && to[4] == 0 && to[8] == 9 && to[16] == 17);
    CHECK(engine.errors == 1);
    npu_dma_wait(&engine, npu_dma_start(&engine, 2, NPU_DMA_WRITE, to, from, &rows));
    npu_dma_wait(&engine, npu_dma_start(&engine, 1, NPU_DMA_WRITE, to, from + 4, &rows));
    CHECK(engine.errors == 3);

    /* A fault: the channel is killed, and the run goes on. */
    registers[INTMIS] = 0;
    registers[FSRC] = 2;
    npu_dma_wait(&engine, npu_dma_start(&engine, 1, NPU_DMA_READ, to, from, &rows));
    CHECK(registers[DBGINST0] == (0x01u << 16 | 1u << 8 | 1u));
    CHECK(engine.errors == 4);
    npu_dma_reads(&engine);
    npu_dma_writes(&engine);
    CHECK(engine.counters.transfers == 6);
    CHECK(engine.counters.weight_bytes == 12);
    CHECK(engine.counters.feature_map_read_bytes == 24);
    CHECK(engine.counters.feature_map_write_bytes == 36);
    CHECK(engine.counters.feature_map_reads == 1 && engine.counters.feature_map_writes == 1);
    return 0;
}
