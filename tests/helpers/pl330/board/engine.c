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

enum { INTEN = 0x020 / 4, INTMIS = 0x028 / 4, INTCLR = 0x02C / 4, FSRD = 0x030 / 4 };
enum { FSRC = 0x034 / 4, FTRD = 0x038 / 4, FTR1 = 0x044 / 4, CSR1 = 0x108 / 4, CPC1 = 0x10C / 4 };
enum { DBGSTATUS = 0xD00 / 4, DBGINST0 = 0xD08 / 4, DBGINST1 = 0xD0C / 4 };
enum { KILL_1 = 0x01 << 16 | 1 << 8 | 1, KILL_MANAGER = 0x01 << 16 };

static const unsigned char code[14] = {0xbc, 0, 0, 0, 0, 0, 0xbc, 2, 0, 0, 0, 0, 0x34, 0x08};
static const npu_dma_shape rows = {4, 1, {{3, 4, 8}}};
static const npu_dma_shape other = {4, 1, {{3, 8, 8}}};
static npu_pl330_program programs[1] = {{{4, 1, {{3, 4, 8}}}, 1, 4, 0, 8, 4, 4, 0, 14, code}};

static uint32_t registers[1024];
static uint64_t memory[8];
static npu_dma engine;

static int word_at(const unsigned char *bytes, const void *address)
{
    const uint32_t low = (uint32_t)(uintptr_t)address;
    return bytes[0] == (low & 255) && bytes[1] == (low >> 8 & 255) &&
           bytes[2] == (low >> 16 & 255) && bytes[3] == low >> 24;
}

/* Start the transfer that has a program on a controller without events. */
static npu_dma_token begin(void)
{
    memset(registers, 0, sizeof registers);
    npu_pl330_init(&engine, registers, programs, 1);
    return npu_dma_start(&engine, 1, NPU_DMA_READ, (unsigned char *)memory + 40,
                         (unsigned char *)memory + 4, &rows);
}

/* The waits end, and so does all that comes after them. */
static int ends(npu_dma_token token, int status)
{
    npu_dma_wait(&engine, token);
    CHECK(npu_dma_status(&engine) == status && npu_dma_result(&engine) == status);
    CHECK(engine.errors == 1);
    registers[DBGINST0] = 0;
    npu_dma_wait(&engine, npu_dma_start(&engine, 2, NPU_DMA_READ, memory, memory + 4, &rows));
    CHECK(registers[DBGINST0] == 0 && engine.counters.transfers == 1);
    return 0;
}

static int faults(void)
{
    npu_dma_token token = begin();
    registers[FSRC] = 2;
    registers[FTR1] = 0x2000;
    registers[CSR1] = 15;
    registers[CPC1] = 0x1234;
    CHECK(ends(token, NPU_PL330_CHANNEL_FAULT) == 0);
    CHECK(engine.fault.channel == 1 && engine.fault.state == 15);
    CHECK(engine.fault.type == 0x2000 && engine.fault.address == 0x1234);

    token = begin();
    registers[FSRD] = 1;
    registers[FTRD] = 0x40000002;
    CHECK(ends(token, NPU_PL330_MANAGER_FAULT) == 0);
    CHECK(engine.fault.channel == NPU_PL330_CHANNELS && engine.fault.type == 0x40000002);

    /* Nothing comes; the event comes, but the channel does not end. */
    CHECK(ends(begin(), NPU_PL330_TIMEOUT) == 0);
    token = begin();
    registers[INTMIS] = 2;
    registers[CSR1] = 1;
    CHECK(ends(token, NPU_PL330_TIMEOUT) == 0);
    CHECK(engine.fault.channel == 1 && engine.fault.state == 1);

    /* The manager never takes the next instruction. */
    token = begin();
    registers[INTMIS] = 2;
    registers[DBGSTATUS] = 1;
    npu_dma_start(&engine, 1, NPU_DMA_READ, memory + 5, (unsigned char *)memory + 4, &rows);
    CHECK(npu_dma_status(&engine) == NPU_PL330_TIMEOUT);
    CHECK(engine.fault.channel == NPU_PL330_CHANNELS);

    /* What is not stopped is killed, and the engine can be used again. */
    token = begin();
    registers[CSR1] = 9;
    registers[FSRC] = 2;
    npu_dma_wait(&engine, token);
    CHECK(registers[DBGINST0] == KILL_1);
    memset(registers, 0, sizeof registers);
    registers[FSRD] = 1;
    npu_pl330_init(&engine, registers, programs, 1);
    CHECK(registers[DBGINST0] == KILL_MANAGER);
    CHECK(npu_dma_status(&engine) == 0);
    return 0;
}

/* An interrupt stands for the event, which its handler has cleared. */
static int interrupts(void)
{
    const npu_dma_token token = begin();
    registers[INTMIS] = 2 | 1 << 9;
    npu_pl330_interrupt(&engine);
    CHECK(registers[INTCLR] == 2);
    CHECK(engine.signalled[1] == 1 && engine.signalled[0] == 0);
    registers[INTMIS] = 0;
    npu_dma_wait(&engine, token);
    CHECK(npu_dma_status(&engine) == 0 && engine.signalled[1] == 0);
    return 0;
}

int main(void)
{
    unsigned char *const from = (unsigned char *)memory + 4, *const to = (unsigned char *)memory + 40;
    const unsigned char *const patched = (const unsigned char *)engine.code[1];
    npu_dma_token first, second;

    programs[0].key = npu_pl330_key(&programs[0].shape, 1);
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
    CHECK(npu_dma_status(&engine) == 0 && npu_dma_result(&engine) == 0);

    npu_dma_reads(&engine);
    npu_dma_writes(&engine);
    CHECK(engine.counters.transfers == 5);
    CHECK(engine.counters.weight_bytes == 12);
    CHECK(engine.counters.feature_map_read_bytes == 12);
    CHECK(engine.counters.feature_map_write_bytes == 36);
    CHECK(engine.counters.feature_map_reads == 1 && engine.counters.feature_map_writes == 1);
    return faults() || interrupts();
}
