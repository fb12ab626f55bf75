"""Builds the loop nest of a staged layer, and of those that run on its tiles, with their buffers.

Level of IR: as in `tile_nest.py`, which builds the loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Operation, SSAValue

from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.tiling.stage import Staging, space_of_any
from npu_passes.tiling.staged import Sharing
from npu_passes.tiling.tile_moves import allocate
from npu_passes.tiling.tile_nest import Nest
from npu_passes.tiling.tile_producers import Chain


def build_nest(
    op: Operation,
    staging: Staging,
    channels: int,
    *,
    counted: bool = True,
    chains: Mapping[int, tuple[Operation, ...]] = MappingProxyType({}),
    sharing: Sequence[Sharing] = (),
) -> list[Operation | None]:
    """Build the nest of a layer in front of it.

    `channels`: the machine's number of DMA channels. Unless `counted`, the caller inserts
    `dma.reads` and `dma.writes`. `chains`: the ops that run on the tiles of an operand, by its
    index. `sharing`: the ops that run on the tiles of the first operand, too. Returns the first op
    of each of these in the nest, and of the layer; None if there is none, as for a copy.
    """
    b = LoopBuilder(op)
    shape = staging.cut.shape
    buffers = single_buffers(b, op, staging)
    tile = {0: buffers[0]} if sharing and 0 in buffers else {}
    others = [
        Nest(
            b,
            each.op,
            each.staging,
            {**single_buffers(b, each.op, each.staging), **tile},
            None,
            channels,
            counted,
            {},
            each.reads,
        )
        for each in sharing
    ]
    sums = None
    if staging.sums is not None:
        sums = allocate(b, op, staging.sums, staging.sums.shape)
        sums.name_hint = "sums"
    made = {index: Chain(b, ops, shape(index), channels) for index, ops in chains.items()}
    reads = space_of_any(op).operands[0] if sharing else ()
    nest = Nest(b, op, staging, buffers, sums, channels, counted, made, reads, tuple(others))
    nest.build()
    return [next(iter(each.made), None) for each in nest.all]


def single_buffers(b: LoopBuilder, op: Operation, staging: Staging) -> dict[int, SSAValue]:
    """Allocate the tile buffers that have one copy, by the indices of their operands."""
    found: dict[int, SSAValue] = {}
    for buffer in staging.buffers:
        if buffer.copies == 1:
            made = allocate(b, op, buffer, buffer.shape)
            found.update((index, made) for index in buffer.operands)
    return found
