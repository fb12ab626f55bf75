"""Depthwise convolutions of bytes with their channels last: four channels of a pixel are a word.

Each of the two words of halves, (c0, c2) and (c1, c3), meets the weights of a tap in the same
order; a bottom product and a top product are two of the four sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_passes.lowering.common import tap_range
from npu_passes.lowering.conv_plan import interior
from npu_passes.lowering.integers import widened, without
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.packing import QUAD, Format, halves_of, words_of
from npu_passes.lowering.kernels.unit import DualUnit
from npu_passes.lowering.kernels.walk import border_columns, visit, visit_lines
from npu_passes.lowering.loop_builder import Index

PAIR = 2
"""Pixels that share the loads of weights."""
MOST_COLUMNS = 8
"""Columns of the border with code of their own, at most."""
STRAIGHT = 32
"""Taps in one straight line of code, at most."""


def pack_taps(weights: NDArray[np.int8], form: Format) -> NDArray[np.int32] | NDArray[np.int8]:
    """Weights [channels, taps]: for every four channels, tap by tap, those of the channels."""
    quads = weights.reshape(-1, QUAD, weights.shape[1]).transpose(0, 2, 1).reshape(-1, 1, QUAD)
    if form == "bytes":
        return np.ascontiguousarray(quads).reshape(-1)
    return (words_of(quads) if form == "narrow" else halves_of(quads)).reshape(-1)


class DepthwiseKernel:
    """Builds the loops of one depthwise convolution, of a multiple of four channels."""

    def __init__(self, layer: Layer, map: SSAValue, grid: Grid) -> None:
        self.layer, self.grid, self.b = layer, grid, layer.b
        self.rows, self.columns = grid.rows, grid.columns
        self.count = self.rows.kernel * self.columns.kernel
        weights = layer.weights.reshape(grid.channels, self.count)
        self.taps = layer.table("taps", pack_taps(weights, layer.unit.form))
        self.size = {"wide": 2, "narrow": 1, "bytes": QUAD}[layer.unit.form]
        self.patch = layer.vector(map)

    def build(self) -> None:
        """Loops over the grid of outputs, inside them over channels, four at a time."""
        rows, columns = interior(self.rows, None), interior(self.columns, None)
        if border_columns(columns, PAIR) <= MOST_COLUMNS:
            visit_lines(self.b, rows, columns, PAIR, self.line)
            return
        point = self.point if self.grid.is_padded else self.inner_point
        visit(self.b, rows, columns, PAIR, self.pair, point)

    def each_quad(self, body: Callable[[Index], None]) -> None:
        """Visit the first of every four channels."""

        def one(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(channel)
            return ()

        self.b.loop(0, self.grid.channels, one, step=QUAD, hint="c")

    def pair(self, row: Index, column: Index) -> None:
        """Two neighbouring outputs of the interior."""
        self.line(row, True, column, PAIR)

    def inner_point(self, row: Index, column: Index) -> None:
        """One output of the interior."""
        self.line(row, True, column, 1)

    def line(self, row: Index, inside: bool, column: Index, width: int) -> None:
        """Neighbouring outputs of a row that see the same columns of the kernel."""
        b, step = self.b, self.grid.step
        base = self.grid.origin(b, row, column)
        places = [self.grid.pitch * p for p in range(width)]
        every = (0, self.columns.kernel)
        low, high = self.columns.taps(column) if isinstance(column, int) else every
        rows = (0, self.rows.kernel) if inside else tap_range(b, self.rows, row)
        whole = inside and (low, high) == every
        reach = places[-1] + step * (high - low - 1) + QUAD

        def quad(channel: Index) -> None:
            start = b.add(b.add(base, low * step), channel)

            def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                at = b.add(start, b.mul(ky, self.grid.row_step))
                patch = b.window(self.patch, [at], [reach], [0], "patch")
                number = b.add(b.mul(ky, self.columns.kernel), low)
                taps = self.row_of_taps(channel, number, high - low)
                for kx in range(high - low):
                    here = [place + kx * step for place in places]
                    sums = self.tap(patch, here, taps, kx * self.size, sums, less_zero=not whole)
                return sums

            sums: Sequence[SSAValue] = self.layer.biases(channel, QUAD, folded=whole) * width
            if inside and self.count <= STRAIGHT:
                for ky in range(self.rows.kernel):
                    sums = one_row(ky, sums)
            elif low < high:
                sums = b.loop(*rows, one_row, sums, hint="ky", carry="acc")
            self.layer.put(sums, channel, row, column, QUAD)

        self.each_quad(quad)

    def point(self, row: Index, column: Index) -> None:
        """One output anywhere, with the zero point taken off each byte."""
        b = self.b
        base = self.grid.origin(b, row, column)
        rows, columns = tap_range(b, self.rows, row), tap_range(b, self.columns, column)

        def quad(channel: Index) -> None:
            start = b.add(base, channel)

            def one(ky: Index, kx: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                line = b.add(start, b.mul(ky, self.grid.row_step))
                at = b.add(line, b.mul(kx, self.grid.step))
                patch = b.window(self.patch, [at], [QUAD], [0], "patch")
                number = b.add(b.mul(ky, self.columns.kernel), kx)
                taps = self.row_of_taps(channel, number, 1)
                return self.tap(patch, [0], taps, 0, sums, less_zero=True)

            def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return b.loop(*columns, lambda kx, s: one(ky, kx, s), sums, hint="kx", carry="acc")

            sums: Sequence[SSAValue] = self.layer.biases(channel, QUAD, folded=False)
            sums = b.loop(*rows, one_row, sums, hint="ky", carry="acc")
            self.layer.put(sums, channel, row, column, QUAD)

        self.each_quad(quad)

    def row_of_taps(self, channel: Index, number: Index, count: int) -> SSAValue:
        """The weights of some taps, of four channels."""
        b = self.b
        # The weights of four channels take `size` elements for each tap.
        per_channel, rest = divmod(self.size * self.count, QUAD)
        first = (
            b.mul(b.floor_div(channel, QUAD), self.size * self.count)
            if rest
            else b.mul(channel, per_channel)
        )
        at = b.add(first, b.mul(number, self.size))
        return b.window(self.taps, [at], [count * self.size], [0], "taps")

    def tap(
        self,
        patch: SSAValue,
        places: Sequence[int],
        taps: SSAValue,
        first: int,
        sums: Sequence[SSAValue],
        *,
        less_zero: bool,
    ) -> list[SSAValue]:
        """The sums with one tap more."""
        unit = self.layer.unit
        if isinstance(unit, DualUnit):
            return self.dual(unit, patch, places, taps, first, sums, less_zero)
        b, found = self.b, list(sums)
        for c in range(QUAD):
            weight = widened(b, b.load(taps, [first + c], "w"), "w")
            for p, place in enumerate(places):
                value = widened(b, b.load(patch, [place + c], "x"), "x")
                value = without(b, value, unit.zero_point) if less_zero else value
                found[p * QUAD + c] = b.mac(found[p * QUAD + c], value, weight)
        return found

    def dual(
        self,
        unit: DualUnit,
        patch: SSAValue,
        places: Sequence[int],
        taps: SSAValue,
        first: int,
        sums: Sequence[SSAValue],
        less_zero: bool,
    ) -> list[SSAValue]:
        """The sums with one tap more, two products of halves for each word of halves."""
        b, found = self.b, list(sums)
        crowded = len(places) > 1
        words: list[SSAValue] = []
        for half in (0, 1):
            if half == 0 or crowded:
                words = [unit.word(patch, place) for place in places]
            weight = unit.weight(taps, first, half, 0, 1)
            for p, word in enumerate(words):
                value = unit.halves(word, half, less_zero)
                for c, halves in ((half, "bb"), (half + 2, "tt")):
                    at = p * QUAD + c
                    op = dsp.SmlaOp(value, weight, found[at], halves)
                    found[at] = b.insert(op, "acc").results[0]
            if crowded:
                b.insert(dsp.KeepOrderOp())
        return found
