/* Transfers in blocks, for the engine of npu_pl330.h: a PL-330 cannot test the bits of an index, so
 * the core moves them, before the start returns. C99 and C++. */
#define NPU_DMA_BLOCKS
#define NPU_DMA_PLANES
#include "npu_pl330.h"

npu_dma_token npu_dma_start_blocks(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                                   const void *from, const void *map, void *index,
                                   const npu_dma_shape *shape, const npu_dma_blocks *blocks)
{
    const unsigned number = (unsigned)channel % NPU_PL330_CHANNELS;
    const int leaves = kind == NPU_DMA_WRITE;
    uint64_t bytes;
    if (!npu_pl330_take(dma, number)) {
        return 0;
    }
    bytes = npu_dma_move(blocks, leaves, to, from, map, index, 1);
    return npu_pl330_moved(dma, number, kind, bytes, to, shape);
}
