"""The pieces that nests of tiles are built of: transfers, tile buffers, parts of buffers.

Level of IR: `dma`, `sram` and `memref` ops, put where a `LoopBuilder` builds.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from npu_dialect.dma import ReadsOp, StartOp, WaitOp, WritesOp
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.structure import provenance
from npu_dialect.sram import AllocOp
from npu_passes.lowering.loop_builder import Index, LoopBuilder, memref_type
from npu_passes.tiling.stage import Buffer, is_weight

WEIGHTS, FIRST_MAP, OTHER_MAPS, OUTPUT = range(4)
"""Channels of transfers, modulo those that the machine has; sums that are read back are maps."""


def allocate(b: LoopBuilder, op: Operation, buffer: Buffer, shape: Sequence[int]) -> SSAValue:
    """Allocate a tile buffer on chip."""
    value = op.operands[buffer.operands[0]]
    kind = MemRefType(memref_type(value).element_type, shape, memory_space=SramSpace())
    return b.insert(AllocOp(kind), f"{value.name_hint or 'map'}_tile").buffer


def announce(b: LoopBuilder, op: Operation, staged: Sequence[SSAValue]) -> None:
    """One access for each map off chip that an op reads or writes."""
    *inputs, out = op.operands
    for value in dict.fromkeys(inputs):
        if value in staged and not is_weight(op, value):
            b.insert(ReadsOp(value)).attributes |= provenance(op)
    if out in staged:
        b.insert(WritesOp(out)).attributes |= provenance(op)


def transfer(
    b: LoopBuilder,
    op: Operation,
    source: SSAValue,
    target: SSAValue,
    channel: int,
    *,
    weights: bool = False,
) -> None:
    """Start a transfer for an op and wait for it."""
    started = b.insert(StartOp(source, target, channel, weights=weights))
    started.attributes |= provenance(op)
    b.insert(WaitOp(started.token))


def view(b: LoopBuilder, buffer: SSAValue, at: Sequence[Index], sizes: Sequence[int]) -> SSAValue:
    """A part of a buffer, or the buffer if it is all of it."""
    if tuple(sizes) == shape_of(buffer):
        return buffer
    return b.window(buffer, at, sizes, range(len(sizes)), "part")


def corner(b: LoopBuilder, buffer: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """The part of a tile buffer that a tile takes: smaller tiles lie at its beginning."""
    return view(b, buffer, [0] * len(sizes), sizes)
