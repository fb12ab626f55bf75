#include "tiny.h"

static const float weight[4][16] = {
    {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16},
    {0.5f, 0.25f, 0.125f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1, 1.1f, 1.2f, 1.3f, 1.4f, 1.5f, 1.6f},
};
static const float bias[4] = {0.5f, 0, 4, -1};

int tiny_run(const float *input, float *output, void *arena) {
  float *hidden = (float *)arena + 16;
  int o, i;
  for (o = 0; o < 4; ++o) {
    float sum = bias[o];
    for (i = 0; i < 16; ++i) sum += weight[o][i] * input[i];
    hidden[o] = sum > 0 ? sum : 0;
  }
  for (o = 0; o < 4; ++o) output[o] = o == 0 ? hidden[0] : output[o - 1] + hidden[o];
#ifdef FAIL
  return FAIL;
#endif
#ifdef TRAP
  __builtin_trap();
#endif
#ifdef SPIN
  for (;;) {
  }
#endif
  return 0;
}
