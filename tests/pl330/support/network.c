/* Runs a network whose transfers the PL-330 does, and writes its output and counters to a file.
 *
 * The input lies at IMAGE, put there by QEMU; buffers on the chip are in the on-chip memory. The
 * file has 32-bit words: what the run returned, errors, transfers, and bytes of weights, of maps
 * read and of maps written; the output follows.
 */
#include "net.h"
#include "npu_pl330.h"

#define IMAGE 0x02000000u
#define MAPS 0x03000000u
#define DRAM 0x04000000u
#define OCM 0xFFFC0000u

extern const npu_pl330_program net_programs[];
extern const size_t net_program_count;

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5 };

int semihost(int operation, const void *block);

static npu_dma engine;

static void enable_fpu(void) {
    uint32_t access;
    __asm__ volatile("mrc p15, 0, %0, c1, c0, 2" : "=r"(access));
    __asm__ volatile("mcr p15, 0, %0, c1, c0, 2" : : "r"(access | 0xFu << 20));
    __asm__ volatile("isb");
    __asm__ volatile("vmsr fpexc, %0" : : "r"(0x40000000u));
}

static int write_bytes(int file, const void *data, uint32_t size) {
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)data, size};
    return semihost(SYS_WRITE, block);
}

int main(void) {
    static const char name[] = "out.bin";
    const uint32_t open_block[3] = {(uint32_t)name, 5 /* wb */, sizeof name - 1};
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
    file = semihost(SYS_OPEN, open_block);
    if (file < 0)
        return 2;
    failed = write_bytes(file, state, sizeof state);
    failed |= write_bytes(file, (const void *)MAPS, OUTPUT_BYTES);
    semihost(SYS_CLOSE, &file);
    return failed ? 3 : 0;
}
