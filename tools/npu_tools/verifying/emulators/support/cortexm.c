/* Start-up of a Cortex-M board (Arm MPS2), and its CMSDK timer as the clock. */
#include "board.h"

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CCR (*(volatile uint32_t *)0xE000ED14u)
#define CFSR (*(volatile uint32_t *)0xE000ED28u)
#define BFAR (*(volatile uint32_t *)0xE000ED38u)

struct timer {
  volatile uint32_t control, value, reload, interrupt;
};
#define TIMER0 ((struct timer *)0x40000000u)
enum { TIMER_ENABLE = 1, TIMER_INTERRUPT = 8 };

extern uint32_t __data_start[], __data_end[], __data_load[], __bss_start[], __bss_end[];
int main(void);

/* Volatile accesses: a call of memset would paint over its own frame. */
void _start(void) {
  volatile uint32_t *to;
  const volatile uint32_t *from = __data_load;
  uint32_t *sp;
#if __ARM_ARCH == 6
  CCR |= 1u << 3; /* UNALIGN_TRP: this core has no unaligned accesses, the emulated one has */
#endif
  CPACR |= 0xFu << 20; /* the FPU is off at reset */
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

__attribute__((section(".init"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)__stack_top, (uintptr_t)_start, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,       (uintptr_t)fault,  (uintptr_t)fault,
};

void board_clock_start(void) {
  TIMER0->control = 0;
  TIMER0->interrupt = 1;
  TIMER0->reload = 0xFFFFFFFFu;
  TIMER0->value = 0xFFFFFFFFu;
  TIMER0->control = TIMER_ENABLE | TIMER_INTERRUPT;
}

uint64_t board_clock_read(int *wrapped) {
  uint32_t value = TIMER0->value;
  *wrapped = (int)(TIMER0->interrupt & 1u);
  return 0xFFFFFFFFu - value;
}

uintptr_t board_semihost(uintptr_t operation, uintptr_t argument) {
  register uintptr_t r0 __asm__("r0") = operation;
  register uintptr_t r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
