/* What the harness needs from a board: a clock that counts instructions, and the debugger's console. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define STACK_PAINT 0xA5A5A5A5u

/* The lowest word of the stack, and the end of it. */
extern uint32_t __stack_bottom[], __stack_top[];

/* Start the clock anew. */
void board_clock_start(void);

/* Ticks since the clock was started; *wrapped is set if it went round. */
uint64_t board_clock_read(int *wrapped);

/* Semihosting: one request to the emulator (Arm IHI 0100; RISC-V uses the same numbers). */
uintptr_t board_semihost(uintptr_t operation, uintptr_t argument);

/* Print a zero-terminated string. */
void board_print(const char *text);

/* Print a number as hexadecimal digits, and a blank. */
void board_print_number(uint64_t value);

/* End the emulation; the emulator's exit status becomes `code`. */
void board_exit(int code);

/* Report a trap of the processor and end the emulation. */
void board_trap(uintptr_t cause, uintptr_t address, uintptr_t value);

#endif
