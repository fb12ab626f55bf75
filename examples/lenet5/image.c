/* The image pipeline of paper 002, section 6; see image.h. */
#include "image.h"

void image_to_input(const uint8_t *camera, float *input, size_t count)
{
    /* From the last pixel to the first: pixel i is read before the float over it is written, and the
       float at byte 4 * i lies over no pixel that is still to be read. */
    size_t i = count;
    while (i-- > 0) {
        const int ink = 255 - camera[i];
        input[i] = ink < IMAGE_CUT ? 0.0f : (float)ink / 255.0f;
    }
}
