"""Builds the parts of tile loop nests: transfers, tile buffers, and views of buffers.

Level of IR: `dma`, `sram` and `memref` ops, inserted where a `LoopBuilder` stands.
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
"""DMA channel of each kind of transfer, taken modulo the machine's number of channels.

Sums that are read back use `OTHER_MAPS`.
"""


def allocate(b: LoopBuilder, op: Operation, buffer: Buffer, shape: Sequence[int]) -> SSAValue:
    """Allocate a tile buffer on chip."""
    return allocate_part(b, op.operands[buffer.operands[0]], shape)


def allocate_part(b: LoopBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Allocate a buffer on chip for a part of a map or of a parameter."""
    type_ = MemRefType(memref_type(value).element_type, shape, memory_space=SramSpace())
    return b.insert(AllocOp(type_), f"{value.name_hint or 'map'}_tile").buffer


def announce(op: Operation, staged: Sequence[SSAValue]) -> None:
    """Insert `dma.reads` or `dma.writes` for each map in `staged` that an op reads or writes."""
    *inputs, out = op.operands
    for value in dict.fromkeys(inputs):
        if value in staged and not is_weight(op, value):
            access(ReadsOp, op, value)
    if out in staged:
        access(WritesOp, op, out)


def access(kind: type[ReadsOp | WritesOp], op: Operation, value: SSAValue) -> None:
    """Insert a `dma.reads` or `dma.writes` of a map in front of an op.

    Loops that run layers row by row go through a map once. So if the op uses a view of a map from
    outside of its loops, the access is of that map, and in front of the outermost loop.
    """
    place, whole = outermost(op), value
    while place.is_ancestor(owner := whole.owner):
        if isinstance(owner, Block) or not is_view(owner):
            place, whole = op, value  # the map is allocated inside of the loops
            break
        whole = owner.operands[0]
    made = kind(whole)
    made.attributes |= provenance(op)
    Builder(InsertPoint.before(place)).insert(made)


def outermost(op: Operation) -> Operation:
    """The outermost `scf.for` or `scf.if` around an op; the op itself if there is none."""
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
    """The part of a buffer at `at` with these sizes; the buffer itself if that is all of it."""
    if tuple(sizes) == shape_of(buffer):
        return buffer
    return b.window(buffer, at, sizes, range(len(sizes)), "part")


def corner(b: LoopBuilder, buffer: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """The part of a tile buffer that a tile of these sizes fills: it lies at the beginning."""
    return view(b, buffer, [0] * len(sizes), sizes)
