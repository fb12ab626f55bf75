/* Run a compiled network on a board: one line per case with its counts, then its outputs.
 *
 * cases.h, written anew for each network, defines CASES, ARENA_BYTES, LOAD(number), CALL() and REPORT().
 * With arenas in several memories, it defines them, POISON() and BROKEN() instead of ARENA_BYTES.
 * Inputs lie in flash and are copied to their place in the arena, so RAM holds no second copy.
 */
#include <string.h>

#include "board.h"

#include "cases.h"

#ifdef ARENA_BYTES
static _Alignas(16) unsigned char arena[ARENA_BYTES];
#define POISON() memset(arena, 0xA5, sizeof arena);
#define BROKEN() 0
#else
static int broken(const unsigned char *fence, size_t bytes) {
  while (bytes-- != 0) {
    if (fence[bytes] != 0xA5) return 1;
  }
  return 0;
}
#endif
/* What stands for the status of a run that wrote outside of its arenas. */
#define FENCE_BROKEN 255

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
  POISON()
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
  board_print_number((uint32_t)(BROKEN() ? FENCE_BROKEN : status));
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
