/* What the programs that run on an emulated Zynq share: the host's files, and the FPU. */
#ifndef ZYNQ_H
#define ZYNQ_H

#include <stdint.h>

/* One call of the host, in start.S. */
int semihost(int operation, const void *block);

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5 };

/* The file that a program leaves; negative if there is none. */
static inline int open_file(void) {
    static const char name[] = "out.bin";
    const uint32_t block[3] = {(uint32_t)name, 5 /* wb */, sizeof name - 1};
    return semihost(SYS_OPEN, block);
}

static inline int write_bytes(int file, const volatile void *data, uint32_t size) {
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)data, size};
    return semihost(SYS_WRITE, block);
}

static inline void close_file(int file) {
    semihost(SYS_CLOSE, &file);
}

static inline void enable_fpu(void) {
    uint32_t access;
    __asm__ volatile("mrc p15, 0, %0, c1, c0, 2" : "=r"(access));
    __asm__ volatile("mcr p15, 0, %0, c1, c0, 2" : : "r"(access | 0xFu << 20));
    __asm__ volatile("isb");
    __asm__ volatile("vmsr fpexc, %0" : : "r"(0x40000000u));
}

#endif
