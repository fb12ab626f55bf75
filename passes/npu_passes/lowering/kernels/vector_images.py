"""Convolutions of bytes with few channels on a vector unit: whole windows are gathered.

    %even = mve.gather %image[%at] at %places reach 2243 : memref<3072xi8, #npu.sram>
    %odd = mve.gather %image[%at] at %places_1 reach 2243 : memref<3072xi8, #npu.sram>
    %halves = mve.push_bytes %odd, %even : vector<8xi16>
    %window = mve.as_bytes %halves : vector<8xi16> -> vector<16xi8>
    scf.for %oc = %c0 to %c16 step %c4 {
      %sums, %sums_1 = mve.mul_rows %window, %window_1 by %run[%k] rows 4 biased : ...

A window is one run of bytes (`image_plan.py`), as wherever channels are last a kernel row is one
(`vector_dense.py`). It is gathered once for all filters. Two neighbouring pixels share weights
(`filter_blocks.py`). The places of windows that padding cuts are loaded from a table, as are the
limits that make bytes outside of the map the zero point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu import PoolAttr
from npu_dialect.npu.quantization import limits_of
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.filter_blocks import FilterBlocks, Filters, Side, Window
from npu_passes.lowering.kernels.folded_outputs import Block, FoldedOutputs
from npu_passes.lowering.kernels.folded_pairs import WindowPair
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.groups import ONE_GROUP, Groups
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.lowering.kernels.vector_runs import part
from npu_passes.lowering.kernels.vector_starts import Classes
from npu_passes.lowering.kernels.walk import each_row, visit
from npu_passes.support.common import window_start
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.conv_plan import Span, interior
from npu_plans.kernels.gathers import BYTES, EIGHT, FOUR
from npu_plans.kernels.image_plan import STRAIGHT, ImagePlan, Parts, cut_positions
from npu_plans.kernels.packing import PAIR

Pixel: TypeAlias = tuple[Index, Index]
"""The row and the column of an output."""
Gather: TypeAlias = Callable[[], Sequence[Window]]
"""Gathers the windows of one or two outputs."""


def plan_of(grid: Grid, pool: PoolAttr | None, *, follows: bool = False) -> ImagePlan:
    """The plan of some windows. `follows`: whether the output is to follow its map closely."""
    return ImagePlan(
        *(grid.rows, grid.columns, grid.channels, grid.apart, grid.pixel, grid.line),
        mixed=pool is not None,
        follows=follows,
    )


class ImageKernel:
    """Builds the loops of a convolution; `grid` says how the channels of one group lie."""

    def __init__(
        self,
        layer: Layer,
        map: SSAValue,
        grid: Grid,
        outputs: VectorOutputs,
        pool: PoolAttr | None,
        groups: Groups = ONE_GROUP,
        *,
        follows: bool = False,
    ) -> None:
        self.layer, self.grid, self.b, self.outputs = layer, grid, layer.b, outputs
        self.groups, self.count = groups, len(layer.bias) // groups.count
        self.start: Index = 0
        self.first_filter: Index = 0
        self.plan = plan_of(grid, pool, follows=follows)
        self.signed = SignedBytes(layer, map)
        self.axes = None if pool is None else pool.axes(grid.rows.outputs, grid.columns.outputs)
        self.classes = Classes(grid.rows), Classes(grid.columns)
        shared = (PAIR, PAIR) if self.axes is None else (prod(axis.kernel for axis in self.axes), 1)
        self.blocks = FilterBlocks(layer, outputs, self.plan.vectors, self.count, shared=shared)
        self.map = layer.vector(map)

    @staticmethod
    def fits(grid: Grid, pool: PoolAttr | None) -> bool:
        """Whether the kernel takes some windows. A pool may have no padding and no dilation."""
        pixels = PAIR
        if pool is not None:
            axes = pool.axes(grid.rows.outputs, grid.columns.outputs)
            if any(axis.before or axis.after or axis.ceil or axis.dilation > 1 for axis in axes):
                return False
            pixels = axes[0].kernel * axes[1].kernel
        return plan_of(grid, pool).fits(pixels)

    def build(self) -> None:
        """Build a loop over the groups, and inside it over the outputs."""
        b = self.b

        def one(group: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.start = b.mul(b.mul(group, self.groups.channels), self.grid.apart)
            self.first_filter = b.mul(group, self.count)
            self.blocks.group = group
            self.one_group()
            return ()

        b.loop(0, self.groups.count, one, hint="g")

    def one_group(self) -> None:
        """Visit all outputs: those whose windows lie on the map, and all others."""
        ys, xs = (None, None) if self.axes is None else self.axes
        rows, columns = interior(self.grid.rows, ys), interior(self.grid.columns, xs)
        if self.axes is None:
            each_row(self.b, rows, partial(self.row, columns))
            return

        every = self.classes[0].positions

        def pooled(row: Index, column: Index, *, inside: bool) -> None:
            pixels = self.pixels(row, column)
            gathers = self.gathers(pixels, [inside] * len(pixels), every)
            self.greatest(gathers, row, column, often=inside)

        inner, outer = partial(pooled, inside=True), partial(pooled, inside=False)
        visit(self.b, rows, columns, 1, inner, outer)

    # -- outputs ---------------------------------------------------------------------------------

    def row(self, columns: Span, row: Index, inside: bool) -> tuple[()]:
        """Compute a row: two outputs at a time, and some at its end together, if the plan has any.

        Nothing is stored between the last ones, so the output may follow a dying input closely. If
        padding cuts the row, all windows may lie anywhere, in one loop.
        """
        b, part, known = self.b, self.plan.parts(columns, cut=not inside), self.known(inside)

        def border(column: Index, count: int) -> None:
            places = range(column, column + count) if isinstance(column, int) else ()
            whole = [inside and columns.low <= each < columns.high for each in places]
            self.some(row, column, whole or [False] * count, known)

        def pair(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.some(row, column, [True] * PAIR, known, often=isinstance(column, SSAValue))
            return ()

        def borders(columns: range) -> None:
            def one(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
                border(column, PAIR)
                return ()

            for each in self.outputs.alike(columns, PAIR):
                b.loop(each.start, each.stop, one, step=PAIR, hint="ox")

        *pairs, last = self.outputs.alike(part.pairs, PAIR)
        joined = self.joined(part, last)
        if part.alone and joined is None:
            border(0, 1)
        borders(part.before)
        for each in (*pairs, *([last] if joined is None else [])):
            b.loop(each.start, each.stop, pair, step=PAIR, hint="ox")
        if joined is not None:
            whole = [True, True, inside and columns.low == 0]
            self.both_ends(joined, row, last.start, whole, known)
        borders(part.behind)
        if part.end < columns.total:
            border(part.end, columns.total - part.end)
        return ()

    def known(self, inside: bool) -> list[int]:
        """The classes of rows that a row may have, inside of the map or cut by padding."""
        cut = cut_positions(self.grid.rows)
        return [each for each in self.classes[0].positions if (each in cut) != inside]

    def some(
        self,
        row: Index,
        column: Index,
        whole: Sequence[bool],
        known: Sequence[int],
        *,
        often: bool = False,
    ) -> None:
        """Compute some neighbouring outputs of a row, of which the `whole` ones lie on the map."""
        pixels = [(row, self.b.add(column, number)) for number in range(len(whole))]
        self.filters(self.gathers(pixels, whole, known), row, column, often=often)

    def joined(self, part: Parts, last: range) -> WindowPair | None:
        """The windows of a row's first pixel, if it is alone, and of its last pair; None if others.

        By itself each of them has one window, and so half of the lanes would be idle.
        """
        outputs, straight = self.outputs, self.count <= STRAIGHT and self.count % FOUR == 0
        if not isinstance(outputs, FoldedOutputs) or not straight:
            return None
        if not part.alone or len(last) != 1:
            return None
        return outputs.window_pair((last.start, last.start + 1), 0)

    def both_ends(
        self, pair: WindowPair, row: Index, last: int, whole: Sequence[bool], known: Sequence[int]
    ) -> None:
        """Fold the last pair of a row, and its first pixel, as straight code."""
        assert isinstance(self.outputs, FoldedOutputs)
        pixels = [(row, column) for column in (last, last + 1, 0)]
        sides = self.sides(self.gathers(pixels, whole, known))

        def one(block: Filters) -> Block:
            sums = [each for side in sides for each in self.blocks.complete(side, block)]
            return self.block(sums, block)

        self.outputs.put_ends(pair, map(one, self.blocks.straight()), row)

    def pixels(self, row: Index, column: Index) -> list[Pixel]:
        """The outputs of a pooling window."""
        assert self.axes is not None
        b, (ys, xs) = self.b, self.axes
        top, left = b.mul(row, ys.stride), b.mul(column, xs.stride)
        return [(b.add(top, y), b.add(left, x)) for y in range(ys.kernel) for x in range(xs.kernel)]

    def filters(self, gathers: Sequence[Gather], row: Index, column: Index, *, often: bool) -> None:
        """Compute all filters of some windows, four at a time; without a loop if it is `often`."""
        b, sides = self.b, self.sides(gathers)

        def block(block: Filters) -> Iterator[tuple[Index, Block]]:
            for number, side in enumerate(sides):
                kept = self.blocks.complete(side, block)
                yield b.add(column, PAIR * number), self.block(kept, block)

        if not (often and self.count <= STRAIGHT):
            self.each_block(lambda each: self.put(block(each), row))
            return
        found = (each for filters in self.blocks.straight() for each in block(filters))
        self.put(found, row)

    def greatest(
        self, gathers: Sequence[Gather], row: Index, column: Index, *, often: bool
    ) -> None:
        """Compute all filters of a pooling window; the maxima of its pixels are kept.

        If few filters are straight code, all of them read two windows before the next ones are
        gathered, so windows stay in registers.
        """
        straight = list(self.blocks.straight()) if often and self.count <= STRAIGHT else []
        best: list[list[SSAValue]] = [[] for _ in straight]

        def more(side: Side, block: Filters, best: list[SSAValue]) -> list[SSAValue]:
            kept = [*best, *self.blocks.sums(side, block)]
            return self.outputs.greatest(kept[:1], kept[1:])

        def last(best: Sequence[SSAValue], block: Filters) -> tuple[Index, Block]:
            return column, self.block(self.blocks.biased(best, block), block)

        if straight and self.blocks.plan.stays(PAIR, len(straight)):
            for gather in gathers:
                side = self.blocks.side(gather(), packed=False)
                best = [more(side, *each) for each in zip(straight, best, strict=True)]
            self.put(map(last, best, straight), row)
            return
        sides = self.sides(gathers, 1)

        def one(block: Filters) -> tuple[Index, Block]:
            found: list[SSAValue] = []
            for side in sides:
                found = more(side, block, found)
            return last(found, block)

        if straight:
            self.put(map(one, straight), row)
        else:
            self.each_block(lambda block: self.put([one(block)], row))

    def each_block(self, body: Callable[[Filters], None]) -> None:
        """Build a loop over the blocks of filters."""

        def block(first: Index, filters: int) -> None:
            body(self.blocks.one(first, filters))

        self.layer.each_block(block, 0, self.count)

    def sides(self, gathers: Sequence[Gather], kept: int = 0) -> list[Side]:
        """Gather windows. The first ones stay in registers if they are few enough.

        `kept`: vectors that are kept beside them.
        """
        return [
            self.blocks.side(gather(), packed=number > 0 or not self.blocks.plan.stays(PAIR, kept))
            for number, gather in enumerate(gathers)
        ]

    def block(self, kept: Sequence[SSAValue], block: Filters) -> Block:
        """What is kept of some pixels for a block of filters."""
        filter = self.b.add(self.first_filter, block.first)
        return kept, filter, block.count, self.blocks.scales(block)

    def put(self, blocks: Iterable[tuple[Index, Block]], row: Index) -> None:
        """Requantise and store what is kept of pixels from some columns on."""
        if isinstance(self.outputs, FoldedOutputs):
            self.outputs.put_all(blocks, row)
            return
        for column, (kept, filter, filters, scales) in blocks:
            self.outputs.put(kept, filter, filters, row, column, scales=scales)

    # -- windows ---------------------------------------------------------------------------------

    def gathers(
        self, pixels: Sequence[Pixel], whole: Sequence[bool], rows: Sequence[int]
    ) -> list[Gather]:
        """What gathers the windows of some outputs, two by two."""
        return [
            partial(self.windows, pixels[each : each + PAIR], whole[each : each + PAIR], rows)
            for each in range(0, len(pixels), PAIR)
        ]

    def windows(
        self, pixels: Sequence[Pixel], whole: Sequence[bool], rows: Sequence[int]
    ) -> list[Window]:
        """The vectors of the windows of some outputs; the `whole` ones lie on the map.

        `rows`: those of the classes that the others may have.
        """
        inner = iter(self.inner([pixel for pixel, each in zip(pixels, whole) if each]))
        return [
            next(inner) if each else self.anywhere(*pixel, rows)
            for pixel, each in zip(pixels, whole, strict=True)
        ]

    def inner(self, pixels: Sequence[Pixel]) -> Sequence[Window]:
        """The vectors of windows on the map, which share their places."""
        b, (rows, columns) = self.b, self.classes
        if not pixels:
            return []
        number = rows.inside[0] * len(columns.positions) + columns.inside[0]
        reach = self.plan.reach_of(rows.inside[:1], columns.inside[:1])
        places = [b.value(b.add(self.grid.origin(b, *pixel), self.start)) for pixel in pixels]
        return self.gathered(number * self.plan.bytes, places, reach)

    def anywhere(self, row: Index, column: Index, known: Sequence[int]) -> Window:
        """The vectors of a window at any place; bytes outside of the map are the zero point."""
        b, (rows, columns) = self.b, self.classes
        reach = self.plan.reach_of(known, columns.positions)
        y = self.first(self.grid.rows, row, self.plan.bases[0])
        x = self.first(self.grid.columns, column, self.plan.bases[1])
        at = b.add(b.mul(y, self.grid.line), b.mul(x, self.grid.pixel))
        at = b.value(b.add(at, self.start))
        number = b.mul(rows.number(b, row), len(columns.positions))
        number = b.mul(b.add(number, columns.number(b, column)), self.plan.bytes)
        (found,) = self.gathered(number, [at], reach)
        limits = [part(b, table, number, self.plan.bytes) for table in self.limits]
        return [self.limited(data, limits, k * BYTES) for k, data in enumerate(found)]

    def limited(self, data: SSAValue, limits: Sequence[SSAValue], place: int) -> SSAValue:
        """A vector whose bytes outside of the map are the zero point; `limits` are of its class."""
        b = self.b
        for table, op in zip(limits, (mve.MinOp, mve.MaxOp), strict=False):
            limit = b.insert(mve.LoadOp(table, b.value(place), mve.I8X16), "limit").result
            data = b.insert(op(data, limit), "window").result
        return data

    def first(self, axis: Axis, position: Index, base: int) -> Index:
        """The element of an axis from which the places of a window are counted."""
        b, start = self.b, window_start(self.b, axis, position)
        start = b.most(start, 0) if axis.before else start
        return b.least(start, base) if axis.start(axis.outputs - 1) > base else start

    def gathered(self, number: Index, starts: Sequence[SSAValue], reach: int) -> Sequence[Window]:
        """The vectors of windows with some starts, whose places begin at a number in the table.

        gcc does not know the table, or it would load its vectors in front of all loops, and keep
        them on the stack.
        """
        b = self.b
        table = part(b, self.table, number, self.plan.bytes)
        found = [list[SSAValue]() for _ in starts]
        for vector in range(self.plan.vectors):
            place = vector * BYTES
            ends = (place,) if self.plan.is_near else (place, place + EIGHT)
            type_ = mve.I8X16 if self.plan.is_near else mve.I16X8
            places = [
                b.insert(mve.LoadOp(table, b.value(each), type_), "places").result for each in ends
            ]
            b.insert(dsp.KeepOrderOp.create())
            for window, start in zip(found, starts, strict=True):
                window.append(self.signed.bytes(self.vector(start, places, reach)))
        return found

    def vector(self, at: SSAValue, places: Sequence[SSAValue], reach: int) -> SSAValue:
        """Sixteen bytes: all at their places, or the even and the odd ones at theirs."""
        b = self.b
        if self.plan.is_near:
            return b.insert(mve.GatherBytesOp(self.map, at, places[0], reach), "window").result
        even, odd = (
            b.insert(mve.GatherOp(self.map, at, each, reach), "bytes").result for each in places
        )
        joined = b.insert(mve.PushBytesOp(odd, even), "window").result
        return b.insert(mve.AsBytesOp(joined), "window").result

    # -- tables ----------------------------------------------------------------------------------

    @cached_property
    def table(self) -> SSAValue:
        """The places of all classes."""
        if self.plan.is_near:
            return self.of_classes("places", self.plan.places, np.uint8, np.int8)
        return self.of_classes("places", self.by_turns, np.uint16, np.int16)

    def by_turns(self, row: int, column: int) -> list[list[int]]:
        """The places of even bytes, then those of odd ones."""
        return [[*each[::2], *each[1::2]] for each in self.plan.places(row, column)]

    @cached_property
    def limits(self) -> Sequence[SSAValue]:
        """The greatest and the least bytes of all classes; nothing if no window has padding."""
        rows, columns = self.classes
        pads = [self.plan.pads(y, x) for y in rows.positions for x in columns.positions]
        if not np.any(pads):
            return ()
        point, (low, high) = self.layer.zero_point, limits_of(i8)
        numbers = [np.where(pads, point, widest).astype(np.int8) for widest in (high, low)]
        return [
            self.layer.table(what, each.ravel())
            for what, each in zip(("greatest", "least"), numbers, strict=True)
        ]

    def of_classes(
        self,
        what: str,
        made: Callable[[int, int], list[list[int]]],
        unsigned: type[np.unsignedinteger],
        signed: type[np.signedinteger],
    ) -> SSAValue:
        """A table of numbers without signs for the vectors of all classes."""
        rows, columns = self.classes
        numbers: NDArray[np.unsignedinteger] = np.array(
            [made(y, x) for y in rows.positions for x in columns.positions], unsigned
        )
        return self.layer.table(what, numbers.view(signed).ravel())
