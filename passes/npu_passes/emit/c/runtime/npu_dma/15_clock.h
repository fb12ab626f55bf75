/* The virtual clock: when transfers begin and end, and how long the core waits. */

#ifdef NPU_DMA_CLOCK

/* The transfer that was counted last begins on the channel that is free first. Its data follow the
 * setup and the jumps, when the bus is free. */
static inline void npu_dma_depart(npu_dma *dma, const npu_dma_shape *shape)
{
    npu_dma_clock *const clock = &dma->clock;
    uint64_t runs = 1;
    int channel = 0, slot = 0;
    for (int axis = 0; axis < shape->axes; ++axis) {
        runs *= shape->axis[axis].count;
    }
    for (int other = 1; other < NPU_DMA_CLOCK_CHANNELS; ++other) {
        channel = clock->free[other] < clock->free[channel] ? other : channel;
    }
    while (slot < NPU_DMA_RUNNING && clock->flights[slot].token != 0) {
        ++slot;
    }
    if (slot == NPU_DMA_RUNNING) {
        ++dma->errors;
        return;
    }
    const uint64_t amount = shape->bytes * runs * NPU_DMA_CLOCK_CYCLES;
    const uint64_t data = (amount + NPU_DMA_CLOCK_BYTES - 1) / NPU_DMA_CLOCK_BYTES;
    uint64_t at = clock->free[channel] > clock->now ? clock->free[channel] : clock->now;
    at += NPU_DMA_CLOCK_SETUP + (runs - 1) * NPU_DMA_CLOCK_JUMP;
    clock->bus = (clock->bus > at ? clock->bus : at) + data;
    clock->free[channel] = clock->bus;
    clock->flights[slot].token = dma->last;
    clock->flights[slot].end = clock->bus;
}

/* The core waits until a transfer ends. */
static inline void npu_dma_arrive(npu_dma *dma, npu_dma_token token)
{
    npu_dma_clock *const clock = &dma->clock;
    for (int slot = 0; slot < NPU_DMA_RUNNING; ++slot) {
        npu_dma_flight *const flight = &clock->flights[slot];
        if (flight->token == token && token != 0) {
            if (flight->end > clock->now) {
                clock->exposed += flight->end - clock->now;
                clock->now = flight->end;
            }
            flight->token = 0;
            return;
        }
    }
}

#endif

/* What follows keeps the core busy for some cycles; programs call it only if that was asked for. */
static inline void npu_dma_work(npu_dma *dma, uint64_t cycles)
{
#ifdef NPU_DMA_CLOCK
    dma->clock.now += cycles;
    dma->clock.compute += cycles;
#else
    (void)dma;
    (void)cycles;
#endif
}
