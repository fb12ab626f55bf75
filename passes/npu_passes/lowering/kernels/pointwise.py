"""Convolutions of one tap over bytes whose channels lie apart, such as planes of a given map.

Two channels of a pixel are packed into a word, whose halves are multiplied by two weights at once.
Two neighbouring pixels and four filters make eight sums:

    x, y = one byte each of channels c and c + 1            two loads
    dsp.pack x, y                                           for each of two pixels
    dsp.smlad (x, y), (w, v), sum                           for each pixel and filter

Four loads and two packs serve 16 products; four filters share nothing else, and load a word of two
weights each. On a core without dual multiply-accumulates the bytes of one channel are multiplied by
one weight of each filter. Padding is left to other kernels, so the zero point is part of the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
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
SINGLE_TURN = 2
"""The most channels in one iteration where each is multiplied by itself."""
LEAST = 16
"""The fewest channels that are worth this then: the general loops compute outputs one by one."""


class PointwiseKernel:
    """Builds the loops of one convolution; `grid` has the channels of one of its groups."""

    def __init__(self, layer: Layer, map: SSAValue, grid: Grid, groups: Groups) -> None:
        self.layer, self.unit, self.grid, self.groups = layer, layer.unit, grid, groups
        self.b, self.map = layer.b, layer.vector(map)
        dual = isinstance(layer.unit, DualUnit)
        self.depth, self.turns = (PAIR, TURN) if dual else (1, SINGLE_TURN)
        self.words = -(-grid.channels // self.depth)
        # GCC keeps sums that a loop carries in place only if they are requantised one by one.
        self.carries = self.words >= 2 * self.turns
        layer.joins_early = not self.carries
        self.filters = len(layer.weights) // groups.count
        parts = [in_blocks(each) for each in np.split(self.packed(), groups.count)]
        self.taps = layer.table("taps", np.concatenate(parts))

    def packed(self) -> NDArray[Any]:
        """The weights of each filter, as words of two if two are multiplied at once."""
        if self.depth == 1:
            return self.layer.weights
        odd = self.grid.channels % PAIR
        even = np.pad(self.layer.weights, ((0, 0), (0, odd), (0, 0), (0, 0)))
        return pairs(even[:, 0::PAIR], even[:, 1::PAIR])

    @staticmethod
    def fits(op: Conv2dOp, options: LoopOptions) -> bool:
        """Whether a convolution of bytes has one tap, no padding, no pool, and enough channels.

        If flash is short, the code is too long, and so are weights of 16 bits.
        """
        plain = all(axis.kernel == 1 and axis.interior() == (0, axis.outputs) for axis in op.axes())
        enough = "dsp" in options.features or shape_of(op.weight)[1] >= LEAST
        enough = enough and options.words != "narrow"
        return plain and enough and op.pool is None and element_of(op.input) in BYTE_TYPES

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
        b, whole = self.b, self.words // self.turns * self.turns
        weights = b.mul(filter, self.words)
        starts = self.layer.biases(filter, range(count), folded=True) * width

        def turn(word: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.turn(at, weights, word, self.turns, width, sums)

        found = b.loop(0, whole, turn, starts, step=self.turns, hint="ic", carry="acc")
        if whole == self.words:
            return found
        return self.turn(at, weights, whole, self.words - whole, width, found)

    def turn(
        self,
        at: Index,
        weights: Index,
        word: Index,
        turns: int,
        width: int,
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Add the channels of `turns` words from number `word` on.

        The pixels begin at element `at`, and the weights of the filters at `weights`.
        """
        b, grid, count = self.b, self.grid, len(sums) // width
        left = grid.channels - word * self.depth if isinstance(word, int) else grid.channels
        channels = min(self.depth * turns, left)
        reach = (channels - 1) * grid.apart + (width - 1) * grid.pitch + 1
        start = b.add(at, b.mul(word, self.depth * grid.apart))
        patch = b.window(self.map, [start], [reach], [0], "patch")
        first = b.add(weights, b.mul(word, count))
        taps = b.window(self.taps, [first], [turns * count], [0], "taps")
        found = list(sums)
        for step in range(turns):
            last = min(self.depth * step + self.depth, channels)
            every = range(self.depth * step, last)
            values = [
                [
                    widened(b, b.load(patch, [each * grid.apart + pixel * grid.pitch], "x"), "x")
                    for pixel in range(width)
                ]
                for each in every
            ]
            self.keep_order(found)
            found = self.products(values, taps, step * count, found)
            self.keep_order(found)
        return found

    def keep_order(self, sums: Sequence[SSAValue]) -> None:
        """Keep a C compiler from loading ahead if there are many sums."""
        if len(sums) >= CROWDED:
            self.b.insert(dsp.KeepOrderOp(sums))

    def products(
        self,
        values: Sequence[Sequence[SSAValue]],
        taps: SSAValue,
        first: int,
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Add the products of one or two channels of some pixels; `first`: their first weight."""
        b, count = self.b, len(sums) // len(values[0])
        if not isinstance(self.unit, DualUnit):
            weights = [widened(b, b.load(taps, [first + f], "w"), "w") for f in range(count)]
            (bytes_,) = values
            return [
                b.mac(total, bytes_[place // count], weights[place % count])
                for place, total in enumerate(sums)
            ]
        halves = values[0]
        if len(values) == PAIR:
            packed = (dsp.PackOp(*both) for both in zip(*values, strict=True))
            halves = [b.insert(op, "x").result for op in packed]
        words = self.unit.loaded(taps, first, count)
        stays = len(sums) >= CROWDED and self.carries
        found: list[SSAValue] = []
        for place, total in enumerate(sums):
            operands = halves[place // count], words[place % count], total
            found.append(b.insert(dsp.SmladOp(*operands, in_place=stays), "acc").result)
        return found
