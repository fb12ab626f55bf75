/* Runs a network whose transfers the PL-330 does, and writes its output and counters to a file.
 *
 * The input lies at IMAGE, put there by QEMU; buffers on the chip are in the on-chip memory. The
 * file has 32-bit words: what the run returned, errors, transfers, and bytes of weights, of maps
 * read and of maps written; the output follows. OFFSET is added to all addresses but IMAGE.
 */
#include "net.h"
#include "npu_pl330.h"
#include "zynq.h"

#ifndef OFFSET
#define OFFSET 0
#endif
#define IMAGE 0x02000000u
#define MAPS (0x03000000u + OFFSET)
#define DRAM (0x04000000u + OFFSET)
#define OCM (0xFFFC0000u + OFFSET)

extern const npu_pl330_program net_programs[];
extern const size_t net_program_count;

static npu_dma engine;

int main(void) {
    uint32_t state[6];
    int file, failed;

    enable_fpu();
    npu_pl330_init(&engine, (volatile uint32_t *)0xF8003000u, net_programs, net_program_count);
    state[0] = (uint32_t)net_run((const float *)IMAGE, (float *)MAPS, (void *)OCM, (void *)DRAM,
                                 &engine);
    state[1] = engine.errors;
    state[2] = (uint32_t)engine.counters.transfers;
    state[3] = (uint32_t)engine.counters.weight_bytes;
    state[4] = (uint32_t)engine.counters.feature_map_read_bytes;
    state[5] = (uint32_t)engine.counters.feature_map_write_bytes;
    file = open_file();
    if (file < 0)
        return 2;
    failed = write_bytes(file, state, sizeof state);
    failed |= write_bytes(file, (const void *)MAPS, OUTPUT_BYTES);
    close_file(file);
    return failed ? 3 : 0;
}
