/* The part of a board that does not depend on the processor. */
#include "board.h"

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };

void board_print(const char *text) { board_semihost(SYS_WRITE0, (uintptr_t)text); }

void board_print_number(uint64_t value) {
  char text[18];
  int at = 17;
  text[at] = '\0';
  text[--at] = ' ';
  do {
    text[--at] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  board_print(text + at);
}

void board_exit(int code) {
  uintptr_t block[2];
  block[0] = APPLICATION_EXIT;
  block[1] = (uintptr_t)code;
  board_semihost(SYS_EXIT_EXTENDED, (uintptr_t)block);
  for (;;) {
  }
}

void board_trap(uintptr_t cause, uintptr_t address, uintptr_t value) {
  board_print("trap ");
  board_print_number(cause);
  board_print_number(address);
  board_print_number(value);
  board_print("\n");
  board_exit(99);
}
