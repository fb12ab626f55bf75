/* From a camera's picture to the input of LeNet-5: the image pipeline of paper 002, section 6. */
#ifndef IMAGE_H
#define IMAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* After inversion, pixels darker than this become black: the paper's value. */
#define IMAGE_CUT 100

/*
 * Turn `count` 8-bit grey pixels, dark ink on light paper, into floats from 0 (paper) to 1 (ink).
 *
 * In place: `camera` may be the first `count` bytes of `input`, so that the camera's driver can write
 * into the network's own input (arena + ID_..._OFFSET) and no frame buffer is needed. Otherwise the
 * two must not overlap. `input` must be aligned for float. No memory is allocated.
 */
void image_to_input(const uint8_t *camera, float *input, size_t count);

#ifdef __cplusplus
}
#endif

#endif
