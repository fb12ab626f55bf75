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
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.unit import DualUnit
from npu_passes.lowering.kernels.walk import MOST_COLUMNS, border_columns, visit, visit_lines
from npu_passes.support.common import tap_range
from npu_passes.support.integers import widened, without
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.conv_plan import interior
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
    """One step of a kernel row: some taps, for `width` neighbouring pixels.

    `lanes`: which of the four channels. `less_zero`: subtract the zero point from each byte.
    """

    taps: int
    width: int
    lanes: Sequence[int]
    less_zero: bool

    def users(self, grid: Grid) -> dict[int, list[tuple[int, int]]]:
        """The (pixel, tap) pairs that use each quad of the input, by its byte offset."""
        found: dict[int, list[tuple[int, int]]] = {}
        for pixel in range(self.width):
            for tap in range(self.taps):
                place = pixel * grid.pitch + tap * grid.step
                found.setdefault(place, []).append((pixel, tap))
        return found


@dataclass(frozen=True)
class Views:
    """Views of some kernel rows: `patch` of the input, and `taps` of the weights."""

    patch: SSAValue
    taps: SSAValue


@dataclass(frozen=True)
class Quad:
    """Four channels: the first one, that of their outputs, and the number of their kernels."""

    channel: Index
    output: Index
    taps: Index


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
        self.taps = layer.table("taps", pack_taps(weights, layer.unit.form, layer.unit.order))
        self.size = {"wide": 2, "narrow": 1, "bytes": QUAD}[layer.unit.form]
        self.patch = layer.vector(map)

    def build(self) -> None:
        """Build loops over the outputs, and inside them over channels, four at a time."""
        rows, columns = interior(self.rows, None), interior(self.columns, None)
        few = border_columns(columns, 1) <= MOST_COLUMNS
        if few and self.layer.unit.form != "narrow":
            visit_lines(self.b, rows, columns, self.width, self.line, together=True)
            return
        point = self.point if self.grid.is_padded else self.inner_point
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

        `apart`: if the last four channels overlap others, they have code of their own. Then places
        grow evenly in the loop, which takes fewer instructions.
        """
        b, channels, count = self.b, self.grid.channels, self.multiplier
        quads, last = len(quads_of(channels)), channels - QUAD

        def filters(quad: Index, filter: Index) -> tuple[()]:
            first = b.mul(quad, QUAD)
            if channels % QUAD and not (apart and isinstance(quad, SSAValue)):
                first = b.least(first, last)
            output = b.add(b.mul(first, count), filter)
            body(Quad(first, output, b.add(b.mul(quad, count), filter)))
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

    def lanes(self, width: int) -> Sequence[Sequence[int]]:
        """The channels of a quad, in groups whose sums are computed together.

        For two pixels, a group is one word of halves, as there are too few registers for both.
        """
        first, second = self.layer.unit.pairs
        if isinstance(self.layer.unit, DualUnit) and width > 1:
            return first, second
        return ((*first, *second),)

    def line(self, row: Index, inside: bool, column: Index, width: int) -> None:
        """Compute `width` neighbouring outputs of a row that use the same columns of the kernel.

        `inside`: the row is interior, so no kernel row lies on padding.
        """
        b, step = self.b, self.grid.step
        base = self.grid.origin(b, row, column)
        every = (0, self.columns.kernel)
        low, high = self.columns.taps(column) if isinstance(column, int) else every
        rows = (0, self.rows.kernel) if inside else tap_range(b, self.rows, row)
        whole = inside and (low, high) == every and self.layer.folds

        def one_quad(quad: Quad) -> None:
            start = b.add(b.add(base, low * step), quad.channel)
            halves: list[list[SSAValue]] = []
            for lanes in self.lanes(width):
                row_of = Row(high - low, width, lanes, less_zero=not whole)

                def one_row(
                    ky: Index, sums: Sequence[SSAValue], row_of: Row = row_of
                ) -> Sequence[SSAValue]:
                    views = self.views(start, quad.taps, ky, low, row_of, 1)
                    return self.row(views, 0, row_of, sums)

                outputs = self.outputs(lanes)
                biases = self.layer.biases(quad.output, outputs, folded=whole)
                sums: Sequence[SSAValue] = biases * width
                if low >= high:
                    pass  # nothing but padding
                elif inside and self.count <= STRAIGHT:
                    views = self.views(start, quad.taps, 0, low, row_of, self.rows.kernel)
                    for ky in range(self.rows.kernel):  # one pointer for all rows
                        sums = self.row(views, ky, row_of, sums)
                else:
                    sums = b.loop(*rows, one_row, sums, hint="ky", carry="acc")
                halves.append(self.finish(sums, quad.output, row, column, lanes))
            if self.words is not None:
                for pixel, (even, odd) in enumerate(zip(*halves) if len(halves) > 1 else ()):
                    word = self.layer.beside(even, odd, 8 * self.lanes(width)[1][0])
                    place = quad.output, row, b.add(column, pixel)
                    self.layer.store_word(word, self.words, *place)

        self.each_quad(one_quad, apart=inside and width > 1)

    @property
    def words(self) -> SSAValue | None:
        """The memory of the output if those of four channels are stored together as a word."""
        return self.layer.words if self.multiplier == 1 else None

    def finish(
        self,
        sums: Sequence[SSAValue],
        channel: Index,
        row: Index,
        column: Index,
        lanes: Sequence[int],
    ) -> list[SSAValue]:
        """Store sums; or, if four bytes are stored as a word, return half of it for each pixel."""
        if self.words is None or len(lanes) == QUAD:
            self.layer.put(sums, channel, row, column, self.outputs(lanes))
            return []
        bits = (0, 8 * (lanes[1] - lanes[0]))
        return [self.layer.joined(pair, channel, lanes, bits) for pair in batched(sums)]

    def point(self, row: Index, column: Index) -> None:
        """Compute one output at any place, with the zero point subtracted from each byte."""
        b, lanes = self.b, self.lanes(1)[0]
        base = self.grid.origin(b, row, column)
        rows, columns = tap_range(b, self.rows, row), tap_range(b, self.columns, column)

        row_of = Row(1, 1, lanes, less_zero=True)

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
        """Views of `rows` kernel rows from row `ky` on; their first tap is number `kx`.

        `start` is the place of that tap in the first row of the kernel, `taps` the number of the
        kernels.
        """
        b, columns = self.b, self.columns.kernel
        at = b.add(start, b.mul(ky, self.grid.row_step))
        reach = (rows - 1) * self.grid.row_step + max(row_of.users(self.grid)) + QUAD
        patch = b.window(self.patch, [at], [reach], [0], "patch")
        number = b.add(b.mul(ky, columns), kx)
        first = b.add(b.mul(taps, self.size * self.count), b.mul(number, self.size))
        length = ((rows - 1) * columns + row_of.taps) * self.size
        return Views(patch, b.window(self.taps, [first], [length], [0], "taps"))

    def row(
        self, views: Views, number: int, row_of: Row, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Add the taps of kernel row `number` to the sums; a byte of two pixels is loaded once."""
        found, lanes = list(sums), row_of.lanes
        first = number * self.columns.kernel
        weights: dict[int, list[SSAValue]] = {}
        for place, users in sorted(row_of.users(self.grid).items()):
            at = number * self.grid.row_step + place
            values = self.values(views.patch, at, lanes, row_of.less_zero)
            for pixel, tap in users:
                if tap not in weights:
                    weights[tap] = self.weights(views.taps, first + tap, lanes)
                part = slice(pixel * len(lanes), (pixel + 1) * len(lanes))
                found[part] = self.products(values, weights[tap], found[part])
            if isinstance(self.layer.unit, DualUnit) and row_of.width > 1:
                self.b.insert(dsp.KeepOrderOp())
        return found

    def values(
        self, patch: SSAValue, place: int, lanes: Sequence[int], less_zero: bool
    ) -> list[SSAValue]:
        """The input elements of some lanes: as words of two halves, or one by one."""
        b, unit = self.b, self.layer.unit
        if isinstance(unit, DualUnit):
            word = unit.word(patch, place, unit.half_of(lanes[0]))
            found = [unit.halves(word, unit.half_of(lanes[0]), less_zero)]
            for lane in lanes[2::2]:
                if unit.two_words:
                    word = unit.word(patch, place, unit.half_of(lane))
                found.append(unit.halves(word, unit.half_of(lane), less_zero))
            return found
        loaded = [widened(b, b.load(patch, [place + lane], "x"), "x") for lane in lanes]
        return [without(b, x, unit.zero_point) for x in loaded] if less_zero else loaded

    def weights(self, taps: SSAValue, tap: int, lanes: Sequence[int]) -> list[SSAValue]:
        """The weights of a tap for some lanes: as words of two halves, or one by one."""
        b, unit, first = self.b, self.layer.unit, tap * self.size
        if isinstance(unit, DualUnit):
            return [
                weight
                for lane in lanes[::2]
                for weight in unit.weights(taps, first, unit.half_of(lane), [0], 1)
            ]
        return [widened(b, b.load(taps, [first + lane], "w"), "w") for lane in lanes]

    def products(
        self, values: Sequence[SSAValue], weights: Sequence[SSAValue], sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Add one product to the sum of each lane."""
        b = self.b
        if not isinstance(self.layer.unit, DualUnit):
            return [b.mac(*each) for each in zip(sums, values, weights, strict=True)]
        return [
            b.insert(dsp.SmlaOp(value, weight, total, halves), "acc").result
            for value, weight, pair in zip(values, weights, batched(sums), strict=True)
            for total, halves in zip(pair, ("bb", "tt"), strict=True)
        ]


def batched(sums: Sequence[SSAValue]) -> list[Sequence[SSAValue]]:
    """The sums in pairs of neighbours."""
    return [sums[index : index + 2] for index in range(0, len(sums), 2)]
