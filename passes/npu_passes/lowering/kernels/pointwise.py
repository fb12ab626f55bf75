"""Convolutions of one tap over bytes whose channels lie apart, such as planes of a given map.

Two channels of a pixel are packed into a word, whose halves are multiplied by two weights at once.
Two neighbouring pixels and four filters make eight sums:

    x, y = one byte each of channels c and c + 1            two loads
    dsp.pack x, y                                           for each of two pixels
    dsp.smlad (x, y), (w, v), sum                           for each pixel and filter

Four loads and two packs serve 16 products; four filters share nothing else, and load a word of two
weights each. Padding is left to other kernels, so the zero point is part of the bias.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.groups import Groups
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.planar_rows import in_blocks
from npu_passes.lowering.kernels.unit import CROWDED, DualUnit
from npu_passes.lowering.kernels.walk import visit_lines
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import element_of, widened
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.packing import PAIR, pairs

TURN = 8
"""The most pairs of channels in one iteration of the inner loop."""


class PointwiseKernel:
    """Builds the loops of one convolution; `grid` has the channels of one of its groups."""

    def __init__(self, layer: Layer, map: SSAValue, grid: Grid, groups: Groups) -> None:
        assert isinstance(layer.unit, DualUnit)
        self.layer, self.unit, self.grid, self.groups = layer, layer.unit, grid, groups
        self.b, self.map = layer.b, layer.vector(map)
        self.pairs = -(-grid.channels // PAIR)
        # GCC keeps sums that a loop carries in place only if they are requantised one by one.
        self.carries = self.pairs >= PAIR * TURN
        layer.joins_early = not self.carries
        self.filters = len(layer.weights) // groups.count
        even = np.pad(layer.weights, ((0, 0), (0, grid.channels % PAIR), (0, 0), (0, 0)))
        words = pairs(even[:, 0::PAIR], even[:, 1::PAIR])
        parts = [in_blocks(each) for each in np.split(words, groups.count)]
        self.taps = layer.table("taps", np.concatenate(parts))

    @staticmethod
    def fits(op: Conv2dOp, options: LoopOptions) -> bool:
        """Whether a convolution has one tap, no padding and no pool, on a core that multiplies two.

        If flash is short, weights of 16 bits are too long.
        """
        plain = all(axis.kernel == 1 and axis.interior() == (0, axis.outputs) for axis in op.axes())
        dual = "dsp" in options.features and options.words != "narrow"
        return plain and dual and op.pool is None and element_of(op.input) in BYTE_TYPES

    def build(self) -> None:
        """Build loops over groups, rows, columns and blocks of filters, from outside to inside."""
        b, grid = self.b, self.grid

        def one(group: Index, _: Sequence[SSAValue]) -> tuple[()]:
            channel, filter = b.mul(group, grid.channels), b.mul(group, self.filters)
            start = b.mul(channel, grid.apart)

            def line(row: Index, inside: bool, column: Index, width: int) -> None:
                at = b.add(start, grid.origin(b, row, column))

                def block(first: Index, count: int) -> None:
                    sums = self.sums(at, first, count, width)
                    self.layer.put(sums, first, row, column, range(count))

                self.layer.each_block(block, filter, self.filters)

            visit_lines(b, interior(grid.rows, None), interior(grid.columns, None), PAIR, line)
            return ()

        b.loop(0, self.groups.count, one, hint="g")

    def sums(self, at: Index, filter: Index, count: int, width: int) -> Sequence[SSAValue]:
        """Sums of `width` neighbouring pixels for some filters; the first one is element `at`."""
        b, whole = self.b, self.pairs // TURN * TURN
        weights = b.mul(filter, self.pairs)
        starts = self.layer.biases(filter, range(count), folded=True) * width

        def turn(pair: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.turn(at, b.add(weights, b.mul(pair, count)), pair, TURN, width, sums)

        found = b.loop(0, whole, turn, starts, step=TURN, hint="ic", carry="acc")
        if whole == self.pairs:
            return found
        last = b.add(weights, whole * count)
        return self.turn(at, last, whole, self.pairs - whole, width, found)

    def turn(
        self,
        at: Index,
        weights: Index,
        pair: Index,
        turns: int,
        width: int,
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Add `turns` pairs of channels from number `pair` on; their weights begin at `weights`."""
        b, grid, count = self.b, self.grid, len(sums) // width
        channels = min(PAIR * turns, grid.channels - pair * PAIR) if isinstance(pair, int) else None
        channels = PAIR * turns if channels is None else channels
        reach = (channels - 1) * grid.apart + (width - 1) * grid.pitch + 1
        start = b.add(at, b.mul(pair, PAIR * grid.apart))
        patch = b.window(self.map, [start], [reach], [0], "patch")
        taps = b.window(self.taps, [weights], [turns * count], [0], "taps")
        found, crowded = list(sums), len(sums) >= CROWDED

        def element(channel: int, pixel: int) -> SSAValue:
            place = channel * grid.apart + pixel * grid.pitch
            return widened(b, b.load(patch, [place], "x"), "x")

        for step in range(turns):
            low, high = PAIR * step, PAIR * step + 1
            values = [element(low, pixel) for pixel in range(width)]
            if high < channels:
                tops = [element(high, pixel) for pixel in range(width)]
                packed = (dsp.PackOp(*both) for both in zip(values, tops, strict=True))
                values = [b.insert(op, "x").result for op in packed]
            if crowded:
                b.insert(dsp.KeepOrderOp())
            words = self.unit.loaded(taps, step * count, count)
            for place in range(len(found)):
                value, word = values[place // count], words[place % count]
                product = dsp.SmladOp(value, word, found[place], in_place=crowded and self.carries)
                found[place] = b.insert(product, "acc").result
            if crowded:
                b.insert(dsp.KeepOrderOp())
        return found
