#ifndef NET_H
#define NET_H

/*
 * The arenas are the only memory that is written, each aligned to 16:
 *   `fast`: NET_FAST_BYTES bytes in fast
 * They hold inputs, outputs and everything between them. Their content means nothing before a run,
 * and a run overwrites all of them, inputs too.
 *
 * An input can be written straight to its OFFSET in its arena, and an output read there. Pass that
 * address as the argument then: nothing is copied. Any other argument lies outside the arenas.
 */
#define NET_FAST_BYTES 1216

/* x: 1x3x8x8 float, input in fast */
#define NET_X_OFFSET 0
#define NET_X_ELEMENTS 192

/* y: 1x2x6x6 float, output in fast */
#define NET_Y_OFFSET 0
#define NET_Y_ELEMENTS 72

#define NET_WEIGHTS_BYTES 770

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns 0 when the outputs are computed, 1 if a pointer is NULL, 2 if an arena is not
 * aligned to 16 bytes. Nothing is allocated and nothing is kept between runs: runs with
 * different arenas can go on at the same time.
 */
int net_run(const float *x, float *y, void *fast);

#ifdef __cplusplus
}
#endif

#endif
