/* Maps in blocks on a Zynq: the core copies what a PL-330 could not skip, and counts it.
 *
 * Inputs lie in DDR, put there by QEMU; tiles are in the on-chip memory. CALL runs the program; it
 * leaves OUTPUT_BYTES at OUTPUTS. The file has 32-bit words: what CALL returned, transfers, bytes of
 * maps read and of maps written; the outputs follow.
 */
#include "k.h"
#include "zynq.h"

static npu_dma engine;

int main(void) {
    uint32_t state[4];
    int file, failed;

    enable_fpu();
    npu_dma_init(&engine);
    state[0] = (uint32_t)CALL;
    state[1] = (uint32_t)engine.counters.transfers;
    state[2] = (uint32_t)engine.counters.feature_map_read_bytes;
    state[3] = (uint32_t)engine.counters.feature_map_write_bytes;
    file = open_file();
    if (file < 0)
        return 2;
    failed = write_bytes(file, state, sizeof state);
    failed |= write_bytes(file, (const void *)OUTPUTS, OUTPUT_BYTES);
    close_file(file);
    return failed ? 3 : 0;
}
