/* Maps in blocks on a Zynq: the core copies what a PL-330 could not skip, and counts it.
 *
 * Inputs lie in DDR, put there by QEMU; tiles are in the on-chip memory. CALL runs the program; it
 * leaves OUTPUT_BYTES at OUTPUTS. The file has 32-bit words: what CALL returned, transfers, bytes of
 * maps read and of maps written; the outputs follow.
 */
#include "k.h"

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
    uint32_t state[4];
    int file, failed;

    enable_fpu();
    npu_dma_init(&engine);
    state[0] = (uint32_t)CALL;
    state[1] = (uint32_t)engine.counters.transfers;
    state[2] = (uint32_t)engine.counters.feature_map_read_bytes;
    state[3] = (uint32_t)engine.counters.feature_map_write_bytes;
    file = semihost(SYS_OPEN, open_block);
    if (file < 0)
        return 2;
    failed = write_bytes(file, state, sizeof state);
    failed |= write_bytes(file, (const void *)OUTPUTS, OUTPUT_BYTES);
    semihost(SYS_CLOSE, &file);
    return failed ? 3 : 0;
}
