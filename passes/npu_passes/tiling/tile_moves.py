"""The pieces that nests of tiles are built of: transfers, tile buffers, parts of buffers.

Level of IR: `dma`, `sram` and `memref` ops, put where a `LoopBuilder` builds.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from npu_dialect.dma import ReadsOp, StartOp, WaitOp, WritesOp
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.structure import provenance
from npu_dialect.sram import AllocOp
from npu_passes.analysis.views import is_view
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_passes.tiling.stage import Buffer, is_weight

WEIGHTS, FIRST_MAP, OTHER_MAPS, OUTPUT = range(4)
"""Channels of transfers, modulo those that the machine has; sums that are read back are maps."""


def allocate(b: LoopBuilder, op: Operation, buffer: Buffer, shape: Sequence[int]) -> SSAValue:
    """Allocate a tile buffer on chip."""
    value = op.operands[buffer.operands[0]]
    type_ = MemRefType(memref_type(value).element_type, shape, memory_space=SramSpace())
    return b.insert(AllocOp(type_), f"{value.name_hint or 'map'}_tile").buffer


def announce(op: Operation, staged: Sequence[SSAValue]) -> None:
    """One access for each map off chip that an op reads or writes."""
    *inputs, out = op.operands
    for value in dict.fromkeys(inputs):
        if value in staged and not is_weight(op, value):
            access(ReadsOp, op, value)
    if out in staged:
        access(WritesOp, op, out)


def access(kind: type[ReadsOp | WritesOp], op: Operation, value: SSAValue) -> None:
    """Announce an access in front of an op.

    An op that runs row by row goes through its map once: then it is in front of the loops around.
    """
    place, whole = outermost(op), value
    while place.is_ancestor(owner := whole.owner):
        if isinstance(owner, Block) or not is_view(owner):
            place, whole = op, value  # it is made anew in each step
            break
        whole = owner.operands[0]
    made = kind(whole)
    made.attributes |= provenance(op)
    Builder(InsertPoint.before(place)).insert(made)


def outermost(op: Operation) -> Operation:
    """The loop or condition around an op that stands in none itself, or the op."""
    while isinstance(parent := op.parent_op(), scf.ForOp | scf.IfOp):
        op = parent
    return op


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
