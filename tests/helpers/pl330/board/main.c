/* Starts programs of the PL-330 and writes what came of them to a file.
 *
 * Programs, data and the job's description are put into memory by QEMU (-device loader). The job
 * lies at 0x00080000:
 *   events that are interrupts, programs, ranges, then
 *   channel and address of each program, in the order of their start, and
 *   address and size of each range of memory.
 * The file begins with 32-bit words: FSRC, FSRD, INTMIS, and CSR of each channel; the ranges follow.
 */
#include "zynq.h"

#define JOB ((const volatile uint32_t *)0x00080000u)
#define DMAC(offset) (*(volatile uint32_t *)(0xF8003000u + (offset)))
#define FSRD DMAC(0x30)
#define FSRC DMAC(0x34)
#define INTEN DMAC(0x20)
#define INTMIS DMAC(0x28)
#define CSR(channel) DMAC(0x100 + 8 * (channel))
#define DBGSTATUS DMAC(0xD00)
#define DBGCMD DMAC(0xD04)
#define DBGINST0 DMAC(0xD08)
#define DBGINST1 DMAC(0xD0C)
#define CHANNELS 8

static int start(uint32_t channel, uint32_t address) {
    if (DBGSTATUS & 1)
        return 1;
    DBGINST0 = channel << 24 | 0xA0u << 16; /* DMAGO, by the manager */
    DBGINST1 = address;
    DBGCMD = 0;
    return 0;
}

int main(void) {
    const volatile uint32_t *next = JOB + 3;
    uint32_t programs = JOB[1], ranges = JOB[2], channel;
    uint32_t state[3 + CHANNELS];
    int file, failed = 0;

    INTEN = JOB[0];
    for (; programs; programs--, next += 2)
        failed |= start(next[0], next[1]);
    state[0] = FSRC;
    state[1] = FSRD;
    state[2] = INTMIS;
    for (channel = 0; channel < CHANNELS; channel++)
        state[3 + channel] = CSR(channel);
    file = open_file();
    if (file < 0)
        return 2;
    failed |= write_bytes(file, state, sizeof state);
    for (; ranges; ranges--, next += 2)
        failed |= write_bytes(file, (const void *)next[0], next[1]);
    close_file(file);
    return failed ? 3 : 0;
}
