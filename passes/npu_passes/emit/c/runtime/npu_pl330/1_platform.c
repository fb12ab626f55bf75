/* What a platform may define, and the registers. */

/* The DMA engine of npu_dma.h on a PL-330: see npu_pl330.h. C99 and C++. */
#ifdef NPU_PL330_PLATFORM
#include NPU_PL330_PLATFORM
#endif
#include "npu_pl330.h"

#include <string.h>

#ifndef NPU_PL330_BARRIER
#define NPU_PL330_BARRIER(address, bytes) barrier(address, bytes)
static void barrier(const void *address, size_t bytes)
{
    (void)address;
    (void)bytes;
#if defined(__arm__) && defined(__GNUC__)
    __asm__ volatile("dsb" ::: "memory");
#endif
}
#endif

#if defined(NPU_PL330_CLEAN) || defined(NPU_PL330_INVALIDATE)
#define CACHES 1
#else
#define CACHES 0
#endif
#ifndef NPU_PL330_CLEAN
#define NPU_PL330_CLEAN(address, bytes) ((void)(address), (void)(bytes))
#endif
#ifndef NPU_PL330_INVALIDATE
#define NPU_PL330_INVALIDATE(address, bytes) ((void)(address), (void)(bytes))
#endif

#ifndef NPU_PL330_IDLE
#define NPU_PL330_IDLE(dma, channel) ((void)(dma), (void)(channel))
#endif

#ifndef NPU_PL330_POLLS
#define NPU_PL330_POLLS 10000000
#endif

/* Registers, in words from the first one (Arm DDI 0424; offsets as QEMU's model has them). */
enum {
    DSR = 0x000 / 4,
    DPC = 0x004 / 4,
    INTEN = 0x020 / 4,
    INTMIS = 0x028 / 4,
    INTCLR = 0x02C / 4,
    FSRD = 0x030 / 4,
    FSRC = 0x034 / 4,
    FTRD = 0x038 / 4,
    FTR0 = 0x040 / 4,
    CSR0 = 0x100 / 4,
    CPC0 = 0x104 / 4,
    DBGSTATUS = 0xD00 / 4,
    DBGCMD = 0xD04 / 4,
    DBGINST0 = 0xD08 / 4,
    DBGINST1 = 0xD0C / 4
};

enum {
    /* The positions, in bytes, of the two addresses in a program. */
    SAR_WORD = 2,
    DAR_WORD = 8,
    /* A channel's state in its register CSR; 0 is stopped. */
    STATE = 15,
    /* No burst may cross a multiple of this number of bytes. */
    PAGE = 4096
};

#define EVENTS ((1u << NPU_PL330_CHANNELS) - 1u)
