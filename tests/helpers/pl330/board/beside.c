/* Runs a network whose programs wait for an event of the core before their own event, so that a
 * transfer lasts until the core waits for it. Behind each layer, it counts the channels that are not
 * stopped. The file has 32-bit words: what the run returned, errors, looks, looks that have seen two
 * channels or more, the most channels, and the channels that were seen (a bit each); the output
 * follows.
 */
#include "beside.h"
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
static uint32_t looks, looks_at_several, most, seen;

void look(void) {
    uint32_t count = 0, channel;
    for (channel = 0; channel < NPU_PL330_CHANNELS; channel++)
        if (registers[0x100 / 4 + 2 * channel] & 15u) {
            seen |= 1u << channel;
            count++;
        }
    looks++;
    looks_at_several += count > 1;
    most = count > most ? count : most;
}

void let_end(struct npu_dma *dma, unsigned channel) {
    (void)dma;
    registers[0xD08 / 4] = (8u + channel) << 27 | 0x34u << 16; /* DMASEV 8 + channel */
    registers[0xD0C / 4] = 0;
    registers[0xD04 / 4] = 0;
}

int main(void) {
    uint32_t state[6];
    int file, failed;

    enable_fpu();
    npu_pl330_init(&engine, registers, net_programs, net_program_count);
    state[0] = (uint32_t)net_run((const float *)IMAGE, (float *)MAPS, (void *)OCM, (void *)DRAM,
                                 &engine);
    state[1] = engine.errors;
    state[2] = looks;
    state[3] = looks_at_several;
    state[4] = most;
    state[5] = seen;
    file = open_file();
    if (file < 0)
        return 2;
    failed = write_bytes(file, state, sizeof state);
    failed |= write_bytes(file, (const void *)MAPS, OUTPUT_BYTES);
    close_file(file);
    return failed ? 3 : 0;
}
