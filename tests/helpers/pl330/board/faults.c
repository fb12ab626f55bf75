/* Runs a network whose transfers go wrong, and writes what the engine says to a file.
 *
 * BUSY: a channel runs a program that waits for an event that nobody signals. The file has 32-bit
 * words: what the run returned, the status of the engine, its errors, the thread and the type of the
 * fault, transfers, the channels that are not stopped afterwards, and what a second run returns.
 */
#include "net.h"
#include "npu_pl330.h"
#include "zynq.h"

#define IMAGE 0x02000000u
#define MAPS 0x03000000u
#define DRAM 0x04000000u
#define OCM 0xFFFC0000u

extern const npu_pl330_program net_programs[];
extern const size_t net_program_count;

static npu_dma engine;
static volatile uint32_t *const registers = (volatile uint32_t *)0xF8003000u;

#ifdef BUSY
static const unsigned char waiting[3] = {0x36, 9 << 3, 0x00}; /* DMAWFE 9, DMAEND */

static void make_busy(void) {
    registers[0xD08 / 4] = (uint32_t)BUSY << 24 | 0xA0u << 16;
    registers[0xD0C / 4] = (uint32_t)waiting;
    registers[0xD04 / 4] = 0;
}
#else
static void make_busy(void) {
}
#endif

int main(void) {
    static uint32_t state[8]; /* the FPU, which could clear it, is not enabled yet */
    int file, failed, channel;

    enable_fpu();
    npu_pl330_init(&engine, registers, net_programs, net_program_count);
    make_busy();
    state[0] = (uint32_t)net_run((const float *)IMAGE, (float *)MAPS, (void *)OCM, (void *)DRAM,
                                 &engine);
    state[1] = (uint32_t)npu_dma_status(&engine);
    state[2] = engine.errors;
    state[3] = engine.fault.channel;
    state[4] = engine.fault.type;
    state[5] = (uint32_t)engine.counters.transfers;
    for (channel = 0; channel < NPU_PL330_CHANNELS; channel++)
        state[6] |= (uint32_t)((registers[0x100 / 4 + 2 * channel] & 15u) != 0) << channel;
    npu_pl330_init(&engine, registers, net_programs, net_program_count);
    state[7] = (uint32_t)net_run((const float *)IMAGE, (float *)MAPS, (void *)OCM, (void *)DRAM,
                                 &engine);
    file = open_file();
    if (file < 0)
        return 2;
    failed = write_bytes(file, state, sizeof state);
    close_file(file);
    return failed ? 3 : 0;
}
