/* Run a compiled network on a board: one line per case with its counts, then its outputs.
 *
 * cases.h, written anew for each network, defines CASES, ARENA_BYTES, LOAD(number), CALL() and REPORT().
 * Inputs lie in flash and are copied to their place in the arena, so RAM holds no second copy.
 */
#include <string.h>

#include "board.h"

#include "cases.h"

static _Alignas(16) unsigned char arena[ARENA_BYTES];

/* Kept apart, so that their needs do not become part of main's frame, which counts as stack. */
#define APART __attribute__((noinline)) static

APART void print_bytes(const unsigned char *data, size_t bytes) {
  char text[3];
  text[2] = '\0';
  board_print("out ");
  while (bytes-- != 0) {
    text[0] = "0123456789abcdef"[*data >> 4];
    text[1] = "0123456789abcdef"[*data++ & 15];
    board_print(text);
  }
  board_print("\n");
}

APART void prepare(int number) {
  memset(arena, 0xA5, sizeof arena);
  LOAD(number)
#ifdef LAYERS
  board_layers_reset();
#endif
}

/* What has to be measured before anything else runs, then the outputs. */
APART void report(int status) {
  int wrapped;
  const uint64_t ticks = board_clock_read(&wrapped);
  const uint32_t *word = __stack_bottom;
  while (word < __stack_top && *word == STACK_PAINT) ++word;
  board_print("run ");
  board_print_number((uint32_t)status);
  board_print_number(ticks);
  board_print_number((uint32_t)wrapped);
  board_print_number((uintptr_t)__stack_top - (uintptr_t)word);
  board_print("\n");
#ifdef LAYERS
  board_layers_print();
#endif
  REPORT()
}

/* Volatile, so that the code of main, and its frame, do not depend on the number of cases. */
static const volatile int cases = CASES;

int main(void) {
  int number;
  for (number = 0; number < cases; ++number) {
    prepare(number);
    board_clock_start();
    report(CALL());
  }
  return 0;
}
