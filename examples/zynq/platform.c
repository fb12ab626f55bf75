/* A Zynq-7000 without an operating system: see platform.h. Register numbers: Xilinx UG585. */
#include "platform.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))

enum { DISTRIBUTOR_WORDS = 3, TIMER_LINE = 29, FAULT_LINE = 45, SPURIOUS = 1023 };

#define UART 0xE0000000u
#define SLCR 0xF8000000u
#define GIC_CPU 0xF8F00100u
#define TIMER 0xF8F00600u
#define GIC 0xF8F01000u

volatile unsigned platform_interrupts;

/* Sections of 1 MB: the address, and what may be there. */
enum {
    SECTION = 0x00C02,       /* readable and writable by all */
    CACHED = 0x0100C,        /* normal memory, written back, lines allocated by writes */
    NOT_CACHED = 0x01000,    /* normal memory */
    DEVICE = 0x00004 | 0x10, /* in order, no instructions */
    DDR_SECTIONS = 1024
};
static uint32_t sections[4096] __attribute__((aligned(16384)));

/* All 256 KB of on-chip memory at 0xFFFC0000; after a reset, 192 KB are at 0. */
static void map_on_chip_memory(void)
{
    REGISTER(SLCR + 0x008) = 0xDF0D; /* unlock */
    REGISTER(SLCR + 0x910) = 0x1F;   /* OCM_CFG: four blocks of 64 KB, all high */
    REGISTER(SLCR + 0x004) = 0x767B; /* lock */
}

static void forget_data_cache(void)
{
    for (uint32_t way = 0; way < 4; ++way) {
        for (uint32_t set = 0; set < 256; ++set) {
            __asm__ volatile("mcr p15, 0, %0, c7, c6, 2" : : "r"(way << 30 | set << 5));
        }
    }
}

static void switch_on_caches(void)
{
    uint32_t control;
    for (uint32_t number = 0; number < 4096; ++number) {
        const uint32_t kind = number < DDR_SECTIONS ? CACHED : number == 4095 ? NOT_CACHED : DEVICE;
        sections[number] = number << 20 | SECTION | kind;
    }
    forget_data_cache();
    __asm__ volatile("dsb" ::: "memory");
    __asm__ volatile("mcr p15, 0, %0, c2, c0, 0" : : "r"(sections));    /* TTBR0 */
    __asm__ volatile("mcr p15, 0, %0, c2, c0, 2" : : "r"(0));           /* TTBCR */
    __asm__ volatile("mcr p15, 0, %0, c3, c0, 0" : : "r"(0x55555555u)); /* DACR: checked */
    __asm__ volatile("mcr p15, 0, %0, c8, c7, 0" : : "r"(0));           /* forget TLBs */
    __asm__ volatile("mcr p15, 0, %0, c7, c5, 0" : : "r"(0));           /* and instructions */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
    control |= 1u << 12 | 1u << 11 | 1u << 2 | 1u; /* I, branch prediction, D, MMU */
    __asm__ volatile("mcr p15, 0, %0, c1, c0, 0\n\tisb" : : "r"(control) : "memory");
}

/* Have the distributor forward a line to this core. */
static void enable(unsigned line)
{
    ((volatile unsigned char *)(GIC + 0x800))[line] = 1;
    REGISTER(GIC + 0x100 + line / 32 * 4) = 1u << line % 32;
}

static void switch_on_interrupts(void)
{
    enable(TIMER_LINE);
    enable(FAULT_LINE);
    for (unsigned event = 0; event < 4; ++event) {
        enable(46 + event);
        enable(72 + event);
    }
    REGISTER(GIC) = 1;
    REGISTER(GIC_CPU + 4) = 0xFF; /* all priorities */
    REGISTER(GIC_CPU) = 1;
    REGISTER(TIMER) = 333333; /* 1 ms at half of 666.7 MHz */
    REGISTER(TIMER + 8) = 7;  /* again and again, with interrupts */
    __asm__ volatile("cpsie i" ::: "memory");
}

/* Called by start.S for each interrupt. */
void platform_interrupt(void)
{
    const uint32_t line = REGISTER(GIC_CPU + 0xC) & 1023u;
    if (line == SPURIOUS) {
        return;
    }
    if (line == TIMER_LINE) {
        REGISTER(TIMER + 0xC) = 1;
    } else if (line == FAULT_LINE) {
        REGISTER(GIC + 0x180 + FAULT_LINE / 32 * 4) = 1u << FAULT_LINE % 32; /* the engine looks */
    } else {
        ++platform_interrupts;
        platform_event();
    }
    REGISTER(GIC_CPU + 0x10) = line;
}

void platform_start(void)
{
    map_on_chip_memory();
    switch_on_caches();
    REGISTER(UART) = 0x14; /* receive and transmit */
    switch_on_interrupts();
}

void platform_sleep(const volatile unsigned char *flag)
{
    /* An interrupt ends WFI also while it is masked, so none is missed behind the check. */
    __asm__ volatile("cpsid i" ::: "memory");
    if (!*flag) {
        __asm__ volatile("dsb\n\twfi" ::: "memory");
    }
    __asm__ volatile("cpsie i" ::: "memory");
}

void platform_clean(const void *address, size_t bytes)
{
    const uintptr_t end = (uintptr_t)address + bytes;
    for (uintptr_t line = (uintptr_t)address / PLATFORM_LINE * PLATFORM_LINE; line < end;
         line += PLATFORM_LINE) {
        __asm__ volatile("mcr p15, 0, %0, c7, c10, 1" : : "r"(line) : "memory"); /* DCCMVAC */
    }
    __asm__ volatile("dsb" ::: "memory");
}

void platform_invalidate(const void *address, size_t bytes)
{
    const uintptr_t end = (uintptr_t)address + bytes;
    for (uintptr_t line = (uintptr_t)address / PLATFORM_LINE * PLATFORM_LINE; line < end;
         line += PLATFORM_LINE) {
        if (line < (uintptr_t)address || line + PLATFORM_LINE > end) {
            __asm__ volatile("mcr p15, 0, %0, c7, c14, 1" : : "r"(line) : "memory"); /* DCCIMVAC */
        } else {
            __asm__ volatile("mcr p15, 0, %0, c7, c6, 1" : : "r"(line) : "memory"); /* DCIMVAC */
        }
    }
    __asm__ volatile("dsb" ::: "memory");
}

static void print_character(char character)
{
    while (REGISTER(UART + 0x2C) & 16u) {
        /* the queue is full */
    }
    REGISTER(UART + 0x30) = (uint32_t)(unsigned char)character;
}

void platform_print(const char *text, unsigned number)
{
    char digits[10];
    int count = 0;
    for (; *text != '\0'; ++text) {
        print_character(*text);
    }
    if (number == PLATFORM_NOTHING) {
        return;
    }
    do {
        digits[count++] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number > 0);
    while (count > 0) {
        print_character(digits[--count]);
    }
}
