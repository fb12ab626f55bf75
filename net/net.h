#ifndef NET_H
#define NET_H

/*
 * The arena is the only memory that is written: NET_ARENA_BYTES bytes, aligned to 16.
 * It holds inputs, outputs and everything between them. Its content means nothing before a run,
 * and a run overwrites all of it, inputs too.
 *
 * An input can be written straight to `arena + OFFSET`, and an output read there. Pass that
 * address as the argument then: nothing is copied. Any other argument lies outside the arena.
 */
#define NET_ARENA_BYTES 1192

/* x: 1x3x8x8 float, input */
#define NET_X_OFFSET 424
#define NET_X_ELEMENTS 192

/* y: 1x2x6x6 float, output */
#define NET_Y_OFFSET 0
#define NET_Y_ELEMENTS 72

#define NET_WEIGHTS_BYTES 770

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns 0 when the outputs are computed, 1 if a pointer is NULL, 2 if the arena is not
 * aligned to 16 bytes. Nothing is allocated and nothing is kept between runs: runs with
 * different arenas can go on at the same time.
 */
int net_run(const float *x, float *y, void *arena);

#ifdef __cplusplus
}
#endif

#endif
