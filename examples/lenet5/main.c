/*
 * Run LeNet-5 on camera pictures: 32 x 32 bytes each on standard input, one line each on standard
 * output: the answer, then the ten scores.
 *
 * Nothing but the arena holds a picture, a feature map or a score: the picture arrives where the network
 * wants its input, is converted there, and the scores are read where the network leaves them. On a
 * microcontroller the loop is the same; fread is the camera's driver and printf the serial port.
 */
#include <stdio.h>

#include "image.h"
#include "lenet5.h"

static float arena[(LENET5_ARENA_BYTES + sizeof(float) - 1) / sizeof(float)]
    __attribute__((aligned(16)));

int main(void)
{
    float *image = arena + LENET5_IMAGE_OFFSET / sizeof(float);
    float *scores = arena + LENET5_SCORES_OFFSET / sizeof(float);

    while (fread(image, 1, LENET5_IMAGE_ELEMENTS, stdin) == LENET5_IMAGE_ELEMENTS) {
        size_t best = 0;
        size_t i;

        image_to_input((const uint8_t *)image, image, LENET5_IMAGE_ELEMENTS);
        if (lenet5_run(image, scores, arena) != 0)
            return 1;
        for (i = 1; i < LENET5_SCORES_ELEMENTS; ++i)
            if (scores[i] > scores[best])
                best = i;
        printf("%d", (int)best);
        for (i = 0; i < LENET5_SCORES_ELEMENTS; ++i)
            printf(" %.9g", (double)scores[i]);
        printf("\n");
    }
    return 0;
}
