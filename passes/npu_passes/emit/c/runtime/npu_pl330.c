/* The DMA engine of npu_dma.h on a PL-330: see npu_pl330.h. C99 and C++. */
#include "npu_pl330.h"

#include <string.h>

/* Stands between accesses to memory by the core and by the engine. */
#ifndef NPU_PL330_BARRIER
#if defined(__arm__) && defined(__GNUC__)
#define NPU_PL330_BARRIER() __asm__ volatile("dsb" ::: "memory")
#else
#define NPU_PL330_BARRIER() ((void)0)
#endif
#endif

/* What the core does while it polls. */
#ifndef NPU_PL330_IDLE
#define NPU_PL330_IDLE() ((void)0)
#endif

/* Registers, in words from the first one (Arm DDI 0424; offsets as QEMU's model has them). */
enum {
    INTEN = 0x020 / 4,
    INTMIS = 0x028 / 4,
    INTCLR = 0x02C / 4,
    FSRC = 0x034 / 4,
    CSR0 = 0x100 / 4,
    DBGSTATUS = 0xD00 / 4,
    DBGCMD = 0xD04 / 4,
    DBGINST0 = 0xD08 / 4,
    DBGINST1 = 0xD0C / 4
};

/* The positions, in bytes, of the two addresses in a program. */
enum { SAR_WORD = 2, DAR_WORD = 8 };

/* Have the controller execute one instruction, which the debug registers take as two words. */
static void debug_instruction(npu_dma *dma, uint32_t word0, uint32_t word1)
{
    while (dma->registers[DBGSTATUS] & 1u) {
        NPU_PL330_IDLE();
    }
    dma->registers[DBGINST0] = word0;
    dma->registers[DBGINST1] = word1;
    dma->registers[DBGCMD] = 0;
}

/* Wait until a channel has finished the transfer that was started last. */
static void finish(npu_dma *dma, unsigned channel)
{
    const uint32_t bit = (uint32_t)1 << channel;
    if (dma->finished[channel] == dma->started[channel]) {
        return;
    }
    while (!(dma->registers[INTMIS] & bit) && !(dma->registers[FSRC] & bit)) {
        NPU_PL330_IDLE();
    }
    /* The event comes before the end of the program. */
    while ((dma->registers[CSR0 + 2 * channel] & 15u) != 0 && !(dma->registers[FSRC] & bit)) {
        NPU_PL330_IDLE();
    }
    if (dma->registers[FSRC] & bit) {
        ++dma->errors;
        debug_instruction(dma, (uint32_t)0x01 << 16 | (uint32_t)channel << 8 | 1u, 0); /* DMAKILL */
    }
    dma->registers[INTCLR] = bit;
    dma->finished[channel] = dma->started[channel];
    NPU_PL330_BARRIER();
}

static int same_shape(const npu_dma_shape *one, const npu_dma_shape *other)
{
    if (one->bytes != other->bytes || one->axes != other->axes) {
        return 0;
    }
    for (int axis = 0; axis < one->axes; ++axis) {
        if (one->axis[axis].count != other->axis[axis].count ||
            one->axis[axis].to != other->axis[axis].to ||
            one->axis[axis].from != other->axis[axis].from) {
            return 0;
        }
    }
    return 1;
}

/* The program of a transfer; NULL if there is none. */
static const npu_pl330_program *find(const npu_dma *dma, unsigned channel, const void *to,
                                     const void *from, const npu_dma_shape *shape)
{
    for (size_t number = 0; number < dma->program_count; ++number) {
        const npu_pl330_program *const program = &dma->programs[number];
        if (program->channel == channel && program->bytes <= NPU_PL330_CODE_BYTES &&
            (uintptr_t)to % program->to_modulus == program->to_rest &&
            (uintptr_t)from % program->from_modulus == program->from_rest &&
            same_shape(&program->shape, shape)) {
            return program;
        }
    }
    return NULL;
}

/* Copy with the core, for a transfer without a program. */
static void copy(const npu_dma_shape *shape, int axis, unsigned char *to,
                 const unsigned char *from)
{
    if (axis == shape->axes) {
        memcpy(to, from, shape->bytes);
        return;
    }
    for (size_t step = 0; step < shape->axis[axis].count; ++step) {
        copy(shape, axis + 1, to, from);
        to += shape->axis[axis].to;
        from += shape->axis[axis].from;
    }
}

/* Write an address into a program, the lowest byte first; `word` need not be aligned. */
static void patch(unsigned char *word, const void *address)
{
    const uintptr_t number = (uintptr_t)address;
    for (int byte = 0; byte < 4; ++byte) {
        word[byte] = (unsigned char)(number >> (8 * byte) & 0xFFu);
    }
}

void npu_pl330_init(npu_dma *dma, volatile uint32_t *registers, const npu_pl330_program *programs,
                    size_t program_count)
{
    memset(dma, 0, sizeof *dma);
    dma->registers = registers;
    dma->programs = programs;
    dma->program_count = program_count;
    registers[INTEN] |= (1u << NPU_PL330_CHANNELS) - 1u;
    registers[INTCLR] = (1u << NPU_PL330_CHANNELS) - 1u;
}

npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                            const void *from, const npu_dma_shape *shape)
{
    const unsigned number = (unsigned)channel % NPU_PL330_CHANNELS;
    const npu_pl330_program *const program = find(dma, (unsigned)channel, to, from, shape);
    unsigned char *const code = (unsigned char *)dma->code[number];
    uint64_t bytes = shape->bytes;
    for (int axis = 0; axis < shape->axes; ++axis) {
        bytes *= shape->axis[axis].count;
    }
    if (kind == NPU_DMA_WEIGHTS) {
        dma->counters.weight_bytes += bytes;
    } else if (kind == NPU_DMA_READ) {
        dma->counters.feature_map_read_bytes += bytes;
    } else {
        dma->counters.feature_map_write_bytes += bytes;
    }
    ++dma->counters.transfers;
    finish(dma, number);
    ++dma->started[number];
    if (program == NULL) {
        ++dma->errors;
        copy(shape, 0, (unsigned char *)to, (const unsigned char *)from);
        dma->finished[number] = dma->started[number];
    } else {
        memcpy(code, program->code, program->bytes);
        patch(code + SAR_WORD, from);
        patch(code + DAR_WORD, to);
        NPU_PL330_BARRIER();
        /* DMAGO, by the manager; the channel is secure. */
        debug_instruction(dma, (uint32_t)number << 24 | (uint32_t)0xA0 << 16,
                          (uint32_t)(uintptr_t)code);
    }
    return dma->started[number] * NPU_PL330_CHANNELS + number;
}

void npu_dma_wait(npu_dma *dma, npu_dma_token token)
{
    const unsigned channel = token % NPU_PL330_CHANNELS;
    /* A channel does one transfer after the other: one that is not its latest is done. */
    if (dma->started[channel] * NPU_PL330_CHANNELS + channel == token) {
        finish(dma, channel);
    }
}

void npu_dma_reads(npu_dma *dma)
{
    ++dma->counters.feature_map_reads;
}

void npu_dma_writes(npu_dma *dma)
{
    ++dma->counters.feature_map_writes;
}
