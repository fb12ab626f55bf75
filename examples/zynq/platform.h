/* What the program and the DMA engine ask of a Zynq-7000; the Makefile has npu_pl330.c include it.
 *
 * With a standalone BSP of Vitis, define PLATFORM_VITIS: its functions know both levels of caches.
 * Without it, platform.c does what is needed, with the first level of caches only.
 */
#ifndef PLATFORM_H
#define PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* The registers of the PL-330, as a secure master. */
#define PLATFORM_DMA ((volatile uint32_t *)0xF8003000u)
/* Bytes of a line of the caches. */
#define PLATFORM_LINE 32
/* As the number of `platform_print`: print the text only. */
#define PLATFORM_NOTHING 0xFFFFFFFFu

/* How often the core was interrupted by events of the PL-330. */
extern volatile unsigned platform_interrupts;

/* Map the on-chip memory, switch on caches and interrupts. */
void platform_start(void);
/* Print a text and a number. */
void platform_print(const char *text, unsigned number);
/* Write the lines of some bytes to memory; and forget them. */
void platform_clean(const void *address, size_t bytes);
void platform_invalidate(const void *address, size_t bytes);
/* Sleep until an interrupt, unless the flag is set. */
void platform_sleep(const volatile unsigned char *flag);
/* The handler of the PL-330's events, which the program defines. */
void platform_event(void);

#ifdef PLATFORM_VITIS
#include "xil_cache.h"
#define NPU_PL330_CLEAN(address, bytes) Xil_DCacheFlushRange((INTPTR)(address), (u32)(bytes))
#define NPU_PL330_INVALIDATE(address, bytes) \
    Xil_DCacheInvalidateRange((INTPTR)(address), (u32)(bytes))
#else
#define NPU_PL330_CLEAN(address, bytes) platform_clean(address, bytes)
#define NPU_PL330_INVALIDATE(address, bytes) platform_invalidate(address, bytes)
#endif
#define NPU_PL330_IDLE(dma, channel) platform_sleep(&(dma)->signalled[channel])
/* The timer wakes the core each millisecond, so this is about a second. */
#define NPU_PL330_POLLS 1000

#endif
