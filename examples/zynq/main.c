/* LeNet-5 on a Zynq-7000 without an operating system: its PL-330 moves all data, its core computes.
 *
 * The arena is the on-chip memory. Pictures, weights and scores lie in DDR, which is cached; the
 * engine cleans and invalidates what it moves (platform.h). While the core waits, it sleeps.
 */
#include "image.h"
#include "lenet5.h"
#include "npu_pl330.h"
#include "pictures.h"
#include "platform.h"

extern const npu_pl330_program lenet5_programs[];
extern const size_t lenet5_program_count;

/* No line of the cache holds bytes of these and of something else. */
static float image[LENET5_IMAGE_ELEMENTS] __attribute__((aligned(PLATFORM_LINE)));
static float scores[(LENET5_SCORES_ELEMENTS + 7) / 8 * 8] __attribute__((aligned(PLATFORM_LINE)));
static unsigned char arena[LENET5_ARENA_BYTES] __attribute__((aligned(16), section(".on_chip")));
static npu_dma engine;

void platform_event(void)
{
    npu_pl330_interrupt(&engine);
}

int main(void)
{
    int wrong = 0;

    platform_start();
    npu_pl330_init(&engine, PLATFORM_DMA, lenet5_programs, lenet5_program_count);
    for (size_t number = 0; number < PICTURES; ++number) {
        int status;
        size_t best = 0;

        image_to_input(pictures[number], image, LENET5_IMAGE_ELEMENTS);
        status = lenet5_run(image, scores, arena, NULL, &engine);
        if (status != 0) {
            platform_print("the run has ended: status ", (unsigned)status);
            platform_print(", channel ", engine.fault.channel);
            platform_print(", fault ", engine.fault.type);
            platform_print("\n", PLATFORM_NOTHING);
            return status;
        }
        for (size_t digit = 1; digit < LENET5_SCORES_ELEMENTS; ++digit) {
            best = scores[digit] > scores[best] ? digit : best;
        }
        platform_print("digit ", labels[number]);
        platform_print(": answer ", (unsigned)best);
        platform_print("\n", PLATFORM_NOTHING);
        wrong += best != labels[number];
    }
    platform_print("transfers: ", (unsigned)engine.counters.transfers);
    platform_print(", cut at pages: ", engine.cut);
    platform_print(", copied by the core: ", engine.errors);
    platform_print(", interrupts: ", platform_interrupts);
    platform_print("\n", PLATFORM_NOTHING);
    return wrong;
}
