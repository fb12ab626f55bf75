/* Instructions of single layers. The command line defines LAYERS, TICK_NS and SHIFT (see the
 * class Board for the last two). */
#include "board.h"

static uint64_t sums[LAYERS + 1];
static uint64_t before, own;

/* Differences of these are exact, differences of ticks are not. */
static uint64_t instructions(uint64_t ticks) {
  return (ticks * TICK_NS + (UINT64_C(1) << SHIFT) / 2) >> SHIFT;
}

/* The clock is read first and last: what lies between the two is not counted. Never inlined, so that
 * a call takes the same everywhere. */
__attribute__((noipa)) void board_layer(int index) {
  int wrapped;
  const uint64_t now = board_clock_read(&wrapped);
  sums[index] += instructions(now) - instructions(before) - own;
  before = board_clock_read(&wrapped);
}

void board_layers_reset(void) {
  int index;
  own = 0;
  before = 0;
  board_clock_start();
  board_layer(0);
  board_layer(LAYERS); /* back to back: nothing but the call itself */
  own = sums[LAYERS];
  before = 0;
  for (index = 0; index <= LAYERS; ++index) sums[index] = 0;
}

void board_layers_print(void) {
  int index;
  board_print("layers ");
  for (index = 0; index < LAYERS; ++index) board_print_number(sums[index]);
  board_print("\n");
}
