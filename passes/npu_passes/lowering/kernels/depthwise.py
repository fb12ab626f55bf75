"""Depthwise convolutions of integers with their channels last, four channels at a time.

If 4 does not divide the channels, the last four overlap the four before: some outputs are computed
twice. With a multiplier, all outputs of the first filter of four channels come first, then those of
the second one, and so on.

Four channels of a pixel are one word, which is split into two words of 16-bit halves, (c0, c2) and
(c1, c3). Those of a 16-bit map are two words already, (c0, c1) and (c2, c3). The weights of a tap
are stored in the same order. The product of the bottom halves is
added to one of the four sums, the product of the top halves to another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.last_pair import HALVES, LastPair
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.unit import DualUnit
from npu_passes.lowering.kernels.walk import visit, visit_blocks
from npu_passes.support.common import tap_range
from npu_passes.support.integers import widened, without
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.conv_plan import cut_rows, ends_of, interior
from npu_plans.kernels.packing import PAIR, QUAD, Format, halves_of, quads_of, words_of

STRAIGHT = 32
"""The most taps in straight-line code."""
REGISTERS = 14
"""The registers for integers that a function may use."""
MOST_PIXELS = 3
"""The most neighbouring pixels that are computed together."""


def pack_taps(
    weights: NDArray[np.int8], form: Format, order: Sequence[int] = range(QUAD)
) -> NDArray[np.int32] | NDArray[np.int8]:
    """Pack weights [channels, multiplier, taps] as [quads, multiplier, taps, 4].

    They are in words if the form has words. `order` is that of the weights of a quad, as for
    `pack_runs`.
    """
    each = [weights[first : first + QUAD] for first in quads_of(len(weights))]
    quads = np.stack(each).transpose(0, 2, 3, 1).reshape(-1, 1, QUAD)
    quads = quads[..., list(order)]
    if form == "bytes":
        return np.ascontiguousarray(quads).reshape(-1)
    return (words_of(quads) if form == "narrow" else halves_of(quads)).reshape(-1)


@dataclass(frozen=True)
class Row:
    """One step of a kernel row for neighbouring pixels, with the taps `low` to `high` of each.

    `lanes`: which of the four channels. `less_zero`: subtract the zero point from each byte.
    """

    spans: Sequence[tuple[int, int]]
    lanes: Sequence[int]
    less_zero: bool

    def users(self, grid: Grid) -> dict[int, list[tuple[int, int]]]:
        """The (pixel, tap) pairs that use each quad of the input, by its distance from tap 0.

        Tap 0 of the first pixel may lie on padding.
        """
        found: dict[int, list[tuple[int, int]]] = {}
        for pixel, span in enumerate(self.spans):
            for tap in range(*span):
                place = pixel * grid.pitch + tap * grid.step
                found.setdefault(place, []).append((pixel, tap))
        return found


@dataclass(frozen=True)
class Views:
    """Views of some kernel rows: `patch` of the input from place `origin` on, `taps` of weights."""

    patch: SSAValue
    origin: int
    taps: SSAValue


@dataclass(frozen=True)
class Quad:
    """Four channels: the first one, that of their outputs, and the number of their kernels.

    `wanted`: those of the four that are computed.
    """

    channel: Index
    output: Index
    taps: Index
    wanted: Sequence[int] = range(QUAD)


class DepthwiseKernel:
    """Builds the loops of one depthwise convolution of four or more channels.

    If 4 does not divide the channels, it must not add a residual: that may be the output itself.
    """

    def __init__(self, layer: Layer, map: SSAValue, grid: Grid) -> None:
        self.layer, self.grid, self.b = layer, grid, layer.b
        self.rows, self.columns = grid.rows, grid.columns
        self.count = self.rows.kernel * self.columns.kernel
        self.multiplier = len(layer.weights) // grid.channels
        weights = layer.weights.reshape(grid.channels, self.multiplier, self.count)
        self.last = LastPair(layer, weights)
        self.taps = layer.table("taps", pack_taps(weights, layer.unit.form, layer.unit.order))
        self.size = {"wide": 2, "narrow": 1, "bytes": QUAD}[layer.unit.form]
        self.patch = layer.vector(map)
        self.span, self.interior_rows = layer.count_rows(self.rows)

    def build(self) -> None:
        """Build loops over the outputs, and inside them over channels, four at a time."""
        rows, columns = self.interior_rows, interior(self.columns, None)
        ends = ends_of(columns, self.width, QUAD)
        if ends is not None and self.layer.unit.form != "narrow":
            visit_blocks(self.b, rows, columns, self.width, ends, self.line)
            return
        padded = self.grid.cuts_rows or not rows.whole
        point = self.point if padded else self.inner_point
        visit(self.b, rows, columns, PAIR, self.pair, point)

    @property
    def width(self) -> int:
        """How many neighbouring pixels are computed together.

        14 registers hold two sums for each of them, the weights of a kernel row, an element of the
        input, and two pointers.
        """
        if not isinstance(self.layer.unit, DualUnit):
            return PAIR
        return max(PAIR, min(MOST_PIXELS, (REGISTERS - 3 - self.columns.kernel) // 2))

    def each_quad(self, body: Callable[[Quad], None], *, apart: bool = False) -> None:
        """Build a loop over four channels each, and inside it over the filters of a channel.

        `apart`: if the last four channels overlap others, they have code of their own, which leaves
        out the others. Then places grow evenly in the loop, which takes fewer instructions.
        """
        b, channels, count = self.b, self.grid.channels, self.multiplier
        quads, last = len(quads_of(channels)), channels - QUAD

        def filters(quad: Index, filter: Index) -> tuple[()]:
            first = b.mul(quad, QUAD)
            wanted: Sequence[int] = range(QUAD)
            if apart and quad == quads - 1:
                wanted = range(QUAD - channels % QUAD, QUAD)
            if channels % QUAD and not (apart and quad != quads - 1):
                first = b.least(first, last)
            output = b.add(b.mul(first, count), filter)
            body(Quad(first, output, b.add(b.mul(quad, count), filter), wanted))
            return ()

        def one(quad: Index, _: Sequence[SSAValue]) -> tuple[()]:
            b.loop(0, count, lambda filter, _: filters(quad, filter), hint="j")
            return ()

        apart &= channels % QUAD > 0
        b.loop(0, quads - apart, one, hint="q")
        if apart:
            one(quads - 1, ())

    def outputs(self, lanes: Sequence[int]) -> Sequence[int]:
        """The output channels of the lanes of a quad, counted from that of the first one."""
        return [lane * self.multiplier for lane in lanes]

    def pair(self, row: Index, column: Index) -> None:
        """Compute two neighbouring interior outputs."""
        self.line(row, True, column, PAIR)

    def inner_point(self, row: Index, column: Index) -> None:
        """Compute one interior output."""
        self.line(row, True, column, 1)

    def lanes(self, width: int, wanted: Sequence[int] = range(QUAD)) -> list[list[int]]:
        """The channels of a quad that are `wanted`, in groups whose sums are computed together.

        For two pixels, a group is one word of halves, as there are too few registers for both. Two
        channels that are left share words of weights, so they need no more registers than that.
        """
        if width > 1 and self.last.has(wanted):
            return [list(wanted)]
        pairs = [[lane for lane in pair if lane in wanted] for pair in self.layer.unit.pairs]
        if isinstance(self.layer.unit, DualUnit) and width > 1:
            return [pair for pair in pairs if pair]
        return [[*pairs[0], *pairs[1]]]

    def halves(self, lanes: Sequence[int]) -> list[tuple[int, list[str]]]:
        """The words of halves that some lanes need: their number, and the halves of products."""
        if self.last.has(lanes):
            return list(HALVES)
        pairs = enumerate(self.layer.unit.pairs)
        found = [
            (word, [each for lane, each in zip(pair, ("bb", "tt"), strict=True) if lane in lanes])
            for word, pair in pairs
        ]
        return [each for each in found if each[1]]

    def line(self, row: Index, inside: bool, column: Index, width: int) -> None:
        """Compute `width` neighbouring outputs of a row; without a known column, no tap is cut.

        `inside`: the row is interior, so no kernel row lies on padding.
        """
        b, every = self.b, (0, self.columns.kernel)
        base = self.grid.origin(b, row, column)
        spans = [every] * width
        if isinstance(column, int):
            spans = [self.columns.taps(column + pixel) for pixel in range(width)]
        rows = self.span if inside else tap_range(b, self.rows, row)
        straight = self.straight(inside)
        whole = inside and all(span == every for span in spans) and self.layer.folds

        def one_quad(quad: Quad) -> None:
            start = b.add(base, quad.channel)
            halves: list[list[SSAValue]] = []
            for lanes in self.lanes(width, quad.wanted):
                row_of = Row(spans, lanes, less_zero=not whole)

                def one_row(
                    ky: Index, sums: Sequence[SSAValue], row_of: Row = row_of
                ) -> Sequence[SSAValue]:
                    views = self.views(start, quad.taps, ky, 0, row_of, 1)
                    return self.row(views, 0, row_of, sums)

                outputs = self.outputs(lanes)
                biases = self.layer.biases(quad.output, outputs, folded=whole)
                sums: Sequence[SSAValue] = biases * width
                if not row_of.users(self.grid):
                    pass  # nothing but padding
                elif straight:
                    views = self.views(start, quad.taps, rows[0], 0, row_of, straight)
                    for ky in range(straight):  # one pointer for all rows
                        sums = self.row(views, ky, row_of, sums)
                else:
                    sums = b.loop(*rows, one_row, sums, hint="ky", carry="acc")
                halves.append(self.finish(sums, quad, row, column, lanes))
            if self.words is not None and all(halves):
                step = 8 * self.lanes(width)[1][0]
                words = [self.layer.beside(even, odd, step) for even, odd in zip(*halves)]
                self.layer.store_words(words, self.words, quad.output, row, column)

        self.each_quad(one_quad, apart=straight > 0 and width > 1)

    def straight(self, inside: bool) -> int:
        """The number of kernel rows in straight-line code; 0 if there is a loop over them.

        Rows of outputs that padding cuts share code if as many kernel rows are left in each. So the
        first and the last row of a map do, with a 3x3 kernel and a padding of one.
        """
        count = self.span[1] - self.span[0] if inside else cut_rows(self.rows)
        return count if count <= STRAIGHT // self.columns.kernel else 0

    @property
    def words(self) -> SSAValue | None:
        """The memory of the output if those of four channels are stored together as a word."""
        return self.layer.words if self.multiplier == 1 else None

    def finish(
        self, sums: Sequence[SSAValue], quad: Quad, row: Index, column: Index, lanes: Sequence[int]
    ) -> list[SSAValue]:
        """Store sums; or, if four bytes are stored as a word, return half of it for each pixel."""
        words = self.words if len(quad.wanted) == QUAD else None
        if words is None:
            self.layer.put(sums, quad.output, row, column, self.outputs(lanes))
            return []
        parts = [sums[first : first + len(lanes)] for first in range(0, len(sums), len(lanes))]
        bits = [8 * (lane - lanes[0]) for lane in lanes]
        found = [self.layer.joined(part, quad.output, lanes, bits) for part in parts]
        if len(lanes) < QUAD:
            return found
        self.layer.store_words(found, words, quad.output, row, column)
        return []

    def point(self, row: Index, column: Index) -> None:
        """Compute one output at any place, with the zero point subtracted from each byte."""
        b, lanes = self.b, self.lanes(1)[0]
        base = self.grid.origin(b, row, column)
        rows, columns = tap_range(b, self.rows, row), tap_range(b, self.columns, column)

        row_of = Row([(0, 1)], lanes, less_zero=True)

        def one_quad(quad: Quad) -> None:
            start = b.add(base, quad.channel)

            def one(ky: Index, kx: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                at = b.add(start, b.mul(kx, self.grid.step))
                views = self.views(at, quad.taps, ky, kx, row_of, 1)
                return self.row(views, 0, row_of, sums)

            def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return b.loop(*columns, lambda kx, s: one(ky, kx, s), sums, hint="kx", carry="acc")

            outputs = self.outputs(lanes)
            sums: Sequence[SSAValue] = self.layer.biases(quad.output, outputs, folded=False)
            sums = b.loop(*rows, one_row, sums, hint="ky", carry="acc")
            self.layer.put(sums, quad.output, row, column, outputs)

        self.each_quad(one_quad)

    def views(
        self, start: Index, taps: Index, ky: Index, kx: Index, row_of: Row, rows: int
    ) -> Views:
        """Views of `rows` kernel rows from row `ky` on, with their taps counted from `kx` on.

        `start` is the place of that tap in the first row of the kernel, `taps` the number of the
        kernels.
        """
        b, columns, places = self.b, self.columns.kernel, row_of.users(self.grid)
        origin = min(places)
        at = b.add(b.add(start, b.mul(ky, self.grid.row_step)), origin)
        reach = (rows - 1) * self.grid.row_step + max(places) - origin + QUAD
        patch = b.window(self.patch, [at], [reach], [0], "patch")
        number = b.add(b.mul(ky, columns), kx)
        count = (rows - 1) * columns + max(high for _, high in row_of.spans)
        if self.last.has(row_of.lanes):
            return Views(patch, origin, self.last.taps(taps, number, count))
        first = b.add(b.mul(taps, self.size * self.count), b.mul(number, self.size))
        view = b.window(self.taps, [first], [count * self.size], [0], "taps")
        return Views(patch, origin, view)

    def row(
        self, views: Views, number: int, row_of: Row, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Add the taps of kernel row `number` to the sums; a byte of two pixels is loaded once."""
        found, lanes = list(sums), row_of.lanes
        first = number * self.columns.kernel
        weights: dict[int, list[SSAValue]] = {}
        for place, users in sorted(row_of.users(self.grid).items()):
            at = number * self.grid.row_step + place - views.origin
            values = self.values(views.patch, at, lanes, row_of.less_zero)
            for pixel, tap in users:
                if tap not in weights:
                    weights[tap] = self.weights(views.taps, first + tap, lanes)
                part = slice(pixel * len(lanes), (pixel + 1) * len(lanes))
                found[part] = self.products(values, weights[tap], found[part], lanes)
            if isinstance(self.layer.unit, DualUnit) and len(row_of.spans) > 1:
                self.b.insert(dsp.KeepOrderOp())
            elif not isinstance(self.layer.unit, DualUnit):
                self.b.insert(dsp.KeepOrderOp(found))
        return found

    def values(
        self, patch: SSAValue, place: int, lanes: Sequence[int], less_zero: bool
    ) -> list[SSAValue]:
        """The input elements of some lanes: as words of two halves, or one by one."""
        b, unit = self.b, self.layer.unit
        if isinstance(unit, DualUnit):
            found: list[SSAValue] = []
            word: SSAValue | None = None
            for half, _ in self.halves(lanes):
                if word is None or unit.two_words:
                    word = unit.word(patch, place, half)
                found.append(unit.halves(word, half, less_zero))
            return found
        loaded = [widened(b, b.load(patch, [place + lane], "x"), "x") for lane in lanes]
        return [without(b, x, unit.zero_point) for x in loaded] if less_zero else loaded

    def weights(self, taps: SSAValue, tap: int, lanes: Sequence[int]) -> list[SSAValue]:
        """The weights of a tap for some lanes: as words of two halves, or one by one."""
        b, unit, first = self.b, self.layer.unit, tap * self.size
        if self.last.has(lanes):
            return self.last.weights(taps, tap)
        if isinstance(unit, DualUnit):
            return [
                weight
                for half, _ in self.halves(lanes)
                for weight in unit.weights(taps, first, half, [0], 1)
            ]
        return [widened(b, b.load(taps, [first + lane], "w"), "w") for lane in lanes]

    def products(
        self,
        values: Sequence[SSAValue],
        weights: Sequence[SSAValue],
        sums: Sequence[SSAValue],
        lanes: Sequence[int],
    ) -> list[SSAValue]:
        """Add one product to the sum of each lane."""
        b = self.b
        if not isinstance(self.layer.unit, DualUnit):
            return [b.mac(*each) for each in zip(sums, values, weights, strict=True)]
        factors = [
            (value, weight, each)
            for value, weight, (_, halves) in zip(values, weights, self.halves(lanes), strict=True)
            for each in halves
        ]
        return [
            b.insert(dsp.SmlaOp(value, weight, total, each), "acc").result
            for total, (value, weight, each) in zip(sums, factors, strict=True)
        ]
