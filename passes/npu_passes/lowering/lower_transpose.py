"""Lower `npu.transpose` to loops over the output; axes that stay together become one.

    npu.transpose ins(%x : memref<1x3x8x8xf32>) outs(%y : memref<1x8x8x3xf32>) perm [0, 2, 3, 1]
->
    for i in 0 .. 64: for j in 0 .. 3: %y[i, j] = %x[i, j]     // %x seen as 64x3, strides 1 and 64
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr
from xdsl.ir import SSAValue

from npu_dialect.npu import TransposeOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type


@dataclass(frozen=True)
class Walk:
    """An axis of the output: its extent, and the distance of neighbours in the input and output."""

    extent: int
    source: int
    target: int

    def with_inner(self, inner: Walk) -> Walk | None:
        """This axis and the next one as one; None if their elements are not at equal distances."""
        if (self.source, self.target) != (
            inner.extent * inner.source,
            inner.extent * inner.target,
        ):
            return None
        return Walk(self.extent * inner.extent, inner.source, inner.target)


def lower_transpose(b: LoopBuilder, op: TransposeOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops that read the input in the order of the output."""
    perm, source, target = int_values(op.perm), op.input, out
    walks = walks_of(op, out)
    if walks is not None:
        extents = [walk.extent for walk in walks]
        source = seen(b, op.input, extents, [walk.source for walk in walks])
        target = seen(b, out, extents, [walk.target for walk in walks])
        perm = tuple(range(len(walks)))

    def copy(at: tuple[Index, ...]) -> None:
        place = [at[perm.index(axis)] for axis in range(len(perm))]
        b.store(b.load(source, place), target, at)

    for_each(b, shape_of(target), copy)


def walks_of(op: TransposeOp, out: SSAValue) -> list[Walk] | None:
    """The axes of the output, as few as possible, those of one element left out.

    None if an offset is not zero: then no view with other axes can be made.
    """
    types = memref_type(op.input), memref_type(out)
    strides = [type_.get_strides() for type_ in types]
    if any(type_.get_offset() != 0 for type_ in types):
        return None
    pitches = [[step for step in each or () if step is not None] for each in strides]
    found: list[Walk] = []
    for axis, extent in enumerate(shape_of(out)):
        if extent == 1:
            continue
        walk = Walk(extent, pitches[0][int_values(op.perm)[axis]], pitches[1][axis])
        both = found[-1].with_inner(walk) if found else None
        found = [*found[:-1], both] if both is not None else [*found, walk]
    return found


def seen(
    b: LoopBuilder, buffer: SSAValue, extents: Sequence[int], strides: Sequence[int]
) -> SSAValue:
    """A view of a buffer with other axes."""
    type_ = memref_type(buffer)
    layout = StridedLayoutAttr(strides)
    result = MemRefType(type_.element_type, extents, layout, type_.memory_space)
    op = memref.ReinterpretCastOp(buffer, [], [], [], [0], extents, strides, result)
    return b.insert(op, buffer.name_hint).result
