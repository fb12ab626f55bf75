"""Lower `npu.transpose` to loops over the output; axes that stay together become one.

    npu.transpose ins(%x : memref<1x3x8x8xf32>) outs(%y : memref<1x8x8x3xf32>) perm [0, 2, 3, 1]
->
    for i in 0 .. 64: for j in 0 .. 3: %y[i, j] = %x[i, j]     // %x seen as 64x3, strides 1 and 64

Unless flash is short, a turn of the innermost loop moves four elements. On a machine with vectors
it moves eight bytes that lie side by side in one of the maps; in the other one they lie apart:

    %eight = mve.gather %x[%at] at %places reach 449 : memref<192xi8>
    mve.store %eight, %y[%to] : vector<8xi16>, memref<192xi8>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu import TransposeOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.integers import constant_table, element_of
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type

TOGETHER = 4
"""Elements that a turn of the innermost loop moves."""
EIGHT = mve.lanes_of(mve.I16X8)
"""Bytes in the lanes of a vector of halves."""


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

    @property
    def fits_vectors(self) -> bool:
        """Whether eight elements are neighbours in one map, and within reach in the other one."""
        near = min(self.source, self.target) == 1
        return near and EIGHT <= self.extent and self.reach(EIGHT) <= mve.EightPlacesOp.FARTHEST

    def reach(self, count: int) -> int:
        """The elements from the first one of some to the last one, where they lie apart."""
        return (count - 1) * max(self.source, self.target) + 1


def lower_transpose(b: LoopBuilder, op: TransposeOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops that read the input in the order of the output."""
    walks = walks_of(op, out)
    if "mve" in options.features and element_of(out) in BYTE_TYPES and is_static(op.input, out):
        inner = max(filter(lambda walk: walk.fits_vectors, walks), key=by_size, default=None)
        if inner is not None:
            Vectors(b, op, out, inner).build([walk for walk in walks if walk is not inner])
            return
    together = TOGETHER if options.flash == "fast" else 1
    if not (has_start(op.input) and has_start(out)):
        Elements(b, op.input, out, int_values(op.perm)).build(together)
        return
    extents = [walk.extent for walk in walks]
    source = seen(b, op.input, extents, [walk.source for walk in walks])
    target = seen(b, out, extents, [walk.target for walk in walks])
    Elements(b, source, target, range(len(walks))).build(together)


@dataclass(frozen=True)
class Elements:
    """Moves elements from a map to another one; its axis i is axis perm[i] of the first one."""

    b: LoopBuilder
    source: SSAValue
    target: SSAValue
    perm: Sequence[int]

    def build(self, together: int) -> None:
        """Build the loops; a turn of the innermost one moves some neighbours of the target."""
        b, shape = self.b, shape_of(self.target)
        if not shape:
            self.move([()])
            return
        *outer, last = shape
        whole = last // together * together

        def row(at: tuple[Index, ...]) -> None:
            def some(index: Index, count: int) -> tuple[()]:
                self.move([(*at, b.add(index, each)) for each in range(count)])
                return ()

            b.loop(0, whole, lambda index, _: some(index, together), step=together)
            for index in range(whole, last):
                some(index, 1)

        for_each(b, outer, row)

    def move(self, places: Sequence[tuple[Index, ...]]) -> None:
        """Load the elements of some places, then store them."""
        b, axes = self.b, [list(self.perm).index(axis) for axis in range(len(self.perm))]
        elements = [b.load(self.source, [at[axis] for axis in axes]) for at in places]
        for element, at in zip(elements, places, strict=True):
            b.store(element, self.target, at)


def by_size(walk: Walk) -> int:
    """The extent of an axis."""
    return walk.extent


@dataclass(frozen=True)
class Vectors:
    """Moves bytes along an axis, `inner`, in vectors."""

    b: LoopBuilder
    op: TransposeOp
    out: SSAValue
    inner: Walk

    def build(self, outer: Sequence[Walk]) -> None:
        """Build the loops over the other axes, and inside them over vectors."""
        b, inner = self.b, self.inner
        ends = b.span(self.op.input), b.span(self.out)
        apart = max(inner.source, inner.target)
        numbers = np.arange(EIGHT) * apart
        table = constant_table(b, self.op, "places", numbers.astype(np.uint16).view(np.int16))
        places = b.hoist(mve.LoadOp(table, b.value(0), mve.I16X8), "places")
        whole = inner.extent // EIGHT * EIGHT

        def row(at: tuple[Index, ...]) -> None:
            starts: list[Index] = [0, 0]
            for index, walk in zip(at, outer, strict=True):
                steps = walk.source, walk.target
                pairs = zip(starts, steps, strict=True)
                starts = [b.add(start, b.mul(index, step)) for start, step in pairs]

            def some(index: Index, count: int) -> tuple[()]:
                source = b.add(starts[0], b.mul(index, inner.source))
                target = b.add(starts[1], b.mul(index, inner.target))
                self.move((ends[0], source), (ends[1], target), places, count)
                return ()

            b.loop(0, whole, lambda index, _: some(index, EIGHT), step=EIGHT)
            if whole < inner.extent:
                some(whole, inner.extent - whole)

        for_each(b, [walk.extent for walk in outer], row)

    def move(
        self,
        source: tuple[SSAValue, Index],
        target: tuple[SSAValue, Index],
        places: SSAValue,
        count: int,
    ) -> None:
        """Move up to eight bytes, of which those of one map lie apart at `places`."""
        b, reach = self.b, self.inner.reach(count)
        first, mask = None if count == EIGHT else count, (1 << count) - 1
        start, end = (memory[0] for memory in (source, target))
        at, to = b.value(source[1]), b.value(target[1])
        if self.inner.target == 1:
            eight = b.insert(mve.GatherOp(start, at, places, reach, mask), "bytes").result
            b.insert(mve.StoreOp(eight, end, to, first))
            return
        eight = b.insert(mve.LoadOp(start, at, mve.I16X8, first), "bytes").result
        b.insert(mve.ScatterOp(eight, end, to, places, reach, mask))


def is_static(*maps: SSAValue) -> bool:
    """Whether the distances of neighbours in some maps are known."""
    return all(None not in (memref_type(map).get_strides() or (None,)) for map in maps)


def has_start(map: SSAValue) -> bool:
    """Whether a map begins where its buffer does; only then can a view with other axes be made."""
    return memref_type(map).get_offset() == 0


def walks_of(op: TransposeOp, out: SSAValue) -> list[Walk]:
    """The axes of the output, as few as possible, those of one element left out."""
    strides = [memref_type(map).get_strides() for map in (op.input, out)]
    pitches = [[step or 0 for step in each or ()] for each in strides]
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
