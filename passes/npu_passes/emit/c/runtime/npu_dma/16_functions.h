/* The functions that programs call, and the counters. The host's engine ends here. */

/* Count a transfer, and give it a token. */
static inline void npu_dma_count(npu_dma *dma, npu_dma_kind kind, uint64_t bytes)
{
    if (kind == NPU_DMA_WEIGHTS) {
        dma->counters.weight_bytes += bytes;
    } else if (kind == NPU_DMA_READ) {
        dma->counters.feature_map_read_bytes += bytes;
    } else {
        dma->counters.feature_map_write_bytes += bytes;
    }
    ++dma->counters.transfers;
    dma->last += dma->last == UINT32_MAX ? 2u : 1u;
}

#ifdef NPU_DMA_STRICT

/* Remember a counted transfer until its wait. Returns 0 if there is no free slot. */
static inline int npu_dma_note(npu_dma *dma, const npu_dma_transfer *what)
{
    npu_dma_transfer *const transfer = npu_dma_find(dma, 0);
    if (transfer == NULL) {
        ++dma->errors;
        return 0;
    }
    npu_dma_poison(what->shape, what->to);
    *transfer = *what;
    transfer->token = dma->last;
    transfer->sum = npu_dma_sum(what->shape, what->from);
    return 1;
}

#endif

/* Start a transfer on a channel; the shape stays where it is until the wait. */
static inline npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                                          const void *from, const npu_dma_shape *shape)
{
    uint64_t bytes = shape->bytes;
    (void)channel;
    for (int axis = 0; axis < shape->axes; ++axis) {
        bytes *= shape->axis[axis].count;
    }
    npu_dma_count(dma, kind, bytes);
#ifdef NPU_DMA_CLOCK
    npu_dma_depart(dma, shape);
#endif
#ifdef NPU_DMA_STRICT
    const npu_dma_transfer what = {0, 0, shape, to, from, NULL, NULL, NULL, 0};
    if (npu_dma_note(dma, &what)) {
        return dma->last;
    }
#endif
    npu_dma_copy(shape, to, from);
    return dma->last;
}

/* The same for the blocks of a map that are not zero. Onto the chip, the other blocks are filled
 * with zeros there. Off the chip, the index is updated, and what the map has in the place of the
 * other blocks is undefined. */
static inline npu_dma_token npu_dma_start_blocks(npu_dma *dma, int channel, npu_dma_kind kind,
                                                 void *to, const void *from, const void *map,
                                                 void *index, const npu_dma_shape *shape,
                                                 const npu_dma_blocks *blocks)
{
    const int leaves = kind == NPU_DMA_WRITE;
    (void)channel;
    (void)shape;
#ifdef NPU_DMA_STRICT
    const npu_dma_transfer what = {0, 0, shape, to, from, blocks, map, index, leaves};
    npu_dma_count(dma, kind, npu_dma_move(blocks, leaves, to, from, map, index, 0));
    if (npu_dma_note(dma, &what)) {
        return dma->last;
    }
    npu_dma_move(blocks, leaves, to, from, map, index, 1);
#else
    npu_dma_count(dma, kind, npu_dma_move(blocks, leaves, to, from, map, index, 1));
#endif
    return dma->last;
}

/* Wait until a transfer is done; each is waited for once. */
static inline void npu_dma_wait(npu_dma *dma, npu_dma_token token)
{
#ifdef NPU_DMA_CLOCK
    npu_dma_arrive(dma, token);
#endif
#ifdef NPU_DMA_STRICT
    npu_dma_transfer *const transfer = token == 0 ? NULL : npu_dma_find(dma, token);
    if (transfer == NULL) {
        ++dma->errors;
        return;
    }
    dma->errors += npu_dma_sum(transfer->shape, transfer->from) != transfer->sum;
    dma->errors += !npu_dma_is_poison(transfer->shape, transfer->to);
    if (transfer->blocks != NULL) {
        npu_dma_move(transfer->blocks, transfer->leaves, transfer->to, transfer->from,
                     transfer->map, transfer->index, 1);
    } else {
        npu_dma_copy(transfer->shape, transfer->to, transfer->from);
    }
    transfer->token = 0;
#else
    (void)dma;
    (void)token;
#endif
}

/* The host's engine never fails. */
static inline int npu_dma_result(const npu_dma *dma)
{
    (void)dma;
    return 0;
}

/* A layer begins to read, or to write, a feature map that lies off the chip. */
static inline void npu_dma_reads(npu_dma *dma)
{
    ++dma->counters.feature_map_reads;
}

static inline void npu_dma_writes(npu_dma *dma)
{
    ++dma->counters.feature_map_writes;
}

#endif

#endif

#endif
