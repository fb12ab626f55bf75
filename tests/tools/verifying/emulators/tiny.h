/* A network written by hand with the interface of npu-compile: relu(W x + b), then a sum. */
#ifndef TINY_H
#define TINY_H

#define TINY_ARENA_BYTES 96
#define TINY_INPUT_OFFSET 0
#define TINY_INPUT_ELEMENTS 16
#define TINY_OUTPUT_OFFSET 80
#define TINY_OUTPUT_ELEMENTS 4

int tiny_run(const float *input, float *output, void *arena);

#endif
