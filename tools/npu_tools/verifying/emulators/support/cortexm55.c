/* Start-up of a Cortex-M55 board (Arm MPS3 with AN547), and the counter of its subsystem as the clock. */
#include "board.h"

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CFSR (*(volatile uint32_t *)0xE000ED28u)
#define BFAR (*(volatile uint32_t *)0xE000ED38u)

/* The SSE-300's system counter: its control frame; the value is in two words. */
#define COUNTER_CONTROL (*(volatile uint32_t *)0x58100000u)
#define COUNTER_LOW (*(volatile uint32_t *)0x58100008u)
#define COUNTER_HIGH (*(volatile uint32_t *)0x5810000Cu)

extern uint32_t __data_start[], __data_end[], __data_load[], __bss_start[], __bss_end[];
int main(void);

/* Volatile accesses: a call of memset would paint over its own frame. */
void _start(void) {
  volatile uint32_t *to;
  const volatile uint32_t *from = __data_load;
  uint32_t *sp;
  CPACR |= 0xFu << 20; /* the FPU and the vector unit are off at reset */
  __asm__ volatile("dsb\n\tisb" ::: "memory");
  for (to = __data_start; to < __data_end;) *to++ = *from++;
  for (to = __bss_start; to < __bss_end;) *to++ = 0;
  __asm__ volatile("mov %0, sp" : "=r"(sp));
  for (to = __stack_bottom; to < sp;) *to++ = STACK_PAINT;
  board_exit(main());
}

static void fault(void) {
  uint32_t *frame;
  __asm__ volatile("mrs %0, msp" : "=r"(frame));
  board_trap(CFSR, (uintptr_t)frame, BFAR);
}

/* At address 0, apart from the program. */
__attribute__((section(".vectors"), used)) const uintptr_t vectors[16] = {
    (uintptr_t)__stack_top, (uintptr_t)_start, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,       (uintptr_t)fault,  (uintptr_t)fault, (uintptr_t)fault,
};

void board_clock_start(void) {
  COUNTER_CONTROL = 0;
  COUNTER_LOW = 0;
  COUNTER_HIGH = 0;
  COUNTER_CONTROL = 1;
}

/* Nanoseconds: 1000 / 32 for each tick of 32 MHz. The high word moves once in 134 s. */
uint64_t board_clock_read(int *wrapped) {
  uint64_t ticks = COUNTER_LOW;
  *wrapped = COUNTER_HIGH != 0;
  return ticks * 125 / 4;
}

uintptr_t board_semihost(uintptr_t operation, uintptr_t argument) {
  register uintptr_t r0 __asm__("r0") = operation;
  register uintptr_t r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
