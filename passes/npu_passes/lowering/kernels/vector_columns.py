"""Depthwise convolutions of bytes on a vector unit, over patches of columns where they lie.

    %patch = mve.as_bytes %halves : vector<8xi16> -> vector<16xi8>
    ...
    %w = mve.load %taps[%at] : memref<3584xi8, #npu.flash> -> vector<16xi8>
    %sum = mve.mul_across %patch, %w : vector<16xi8>
    ...
    %sum_1 = mve.mla_across %patch_1, %w_1, %sum : vector<16xi8>

For windows that are too large for one patch (`column_plan.py`). Padding becomes the zero point,
which is folded into the bias of all windows. Weights are loaded for four outputs each time, from a
table that has 16 bytes for each phase and patch.

    for c = 0 to C
      for each of its filters
        for each row of outputs
          for each eight outputs: their patches, and the products of four at a time
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter

from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.byte_stores import Memory
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_gathers import Gathers, each_step, side_of
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.column_plan import ColumnPlan, Run, Weights, pack_columns
from npu_plans.kernels.gathers import BYTES, EIGHT

FEW = 4
"""Vectors of weights of a channel for which gcc has pointers."""


@dataclass(frozen=True)
class Channel:
    """What all elements of a channel of the output need.

    `read` is the channel of the map, `out` that of the output, `taps` that of
    its weights.
    """

    read: Memory
    out: Memory
    taps: SSAValue
    bias: SSAValue
    scale: SSAValue


class ColumnKernel:
    """Builds the loops of a depthwise convolution."""

    def __init__(self, layer: Layer, map: SSAValue, grid: Grid, outputs: VectorOutputs) -> None:
        self.layer, self.grid, self.b, self.splat = layer, grid, layer.b, outputs.splat
        self.plan = ColumnPlan(grid.rows, grid.columns)
        self.outputs = ChannelOutputs(layer, outputs)
        self.gathers = Gathers(layer, map, grid, self.outputs)
        self.multiplier = layer.filters_of_each(grid.channels)
        kernel = grid.rows.kernel, grid.columns.kernel
        self.taps = layer.table("taps", pack_columns(layer.weights.reshape(-1, *kernel), self.plan))

    def build(self) -> None:
        """Build the loops."""
        b, rows = self.b, self.grid.rows

        def one(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
            def outputs(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
                channel = self.channel(number, filter)
                row = partial(self.row, channel)
                each_step(b, rows.outputs, 1, rows.interior(), row, "oy")
                return ()

            b.loop(0, self.multiplier, outputs, hint="filter")
            return ()

        b.loop(0, self.grid.channels, one, hint="c")

    def channel(self, read: Index, filter: Index) -> Channel:
        """Load what the outputs of a filter of a channel need."""
        b = self.b
        number = b.add(b.mul(read, self.multiplier), filter)
        at = b.mul(number, self.plan.filter_bytes)
        taps = b.window(self.taps, [at], [self.plan.filter_bytes], [0], "taps")
        opaque = self.grid.rows.outputs > 1 or len(self.plan.vectors) <= FEW
        inputs = self.gathers.channel(read, opaque=opaque)
        out = self.outputs.channel_memory(number, opaque=opaque)
        return Channel(inputs, out, taps, *self.outputs.constants(number))

    def weights(self, taps: SSAValue, weights: Weights) -> SSAValue:
        """Load weights of a channel; gcc would keep all of them on the stack."""
        b = self.b
        b.insert(dsp.KeepOrderOp.create())
        at = b.value(BYTES * self.plan.vectors.index(weights))
        return b.insert(mve.LoadOp(taps, at, mve.I8X16), "w").result

    def row(self, channel: Channel, row: Index, _: int) -> None:
        """Compute a row of outputs: those in front of the loop, in the loop, and behind it."""
        front, back = self.plan.ends

        def eight(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            Line(self, channel, row, column, Run(front.count, EIGHT)).build()
            return ()

        Line(self, channel, row, front.first, front).build()
        self.b.loop(front.count, back.first, eight, step=EIGHT, hint="ox")
        Line(self, channel, row, back.first, back).build()


class Line:
    """A run of outputs of a row, which begins at `column`. Its patches are gathered once.

    In the loop the run is the first one of all, as all their patches lie on the map.
    """

    def __init__(
        self, kernel: ColumnKernel, channel: Channel, row: Index, column: Index, run: Run
    ) -> None:
        self.kernel, self.channel, self.run = kernel, channel, run
        self.b, self.plan, self.grid = kernel.b, kernel.plan, kernel.grid
        self.row, self.column = row, column
        self.taps, self.patches = channel.taps, dict[int, SSAValue]()

    def build(self) -> None:
        """Compute and store the outputs."""
        b, outputs, (pixel, line) = self.b, self.kernel.outputs, self.kernel.outputs.steps
        for start, block in self.run.blocks:
            fours = list[SSAValue]()
            for four in block.fours:
                numbers = [start + column for _, column in four]
                sums = self.sums(numbers)
                words = [sums[number] for number in numbers]
                fours.append(outputs.products(words, self.channel.bias, self.channel.scale))
            place = b.add(b.mul(self.row, line), b.mul(b.add(self.column, start), pixel))
            outputs.store(fours, place, block.targets(pixel, line), memory=self.channel.out)

    def sums(self, outputs: Sequence[int]) -> dict[int, SSAValue]:
        """The sums of some outputs."""
        found = dict[int, SSAValue]()
        if len(self.plan.vectors) > FEW:
            self.taps = self.b.insert(dsp.OpaqueOp(self.taps), "taps").result
        for vector, products in groupby(self.plan.products(outputs), attrgetter("weights")):
            pairs = [(each, self.patch(each.patch)) for each in products]
            weights = self.kernel.weights(self.taps, vector)
            for each, patch in pairs:
                op = mve.MulAcrossOp(patch, weights)
                if each.output in found:
                    op = mve.MlaAcrossOp(patch, weights, found[each.output])
                found[each.output] = self.b.insert(op, "sum").result
        return found

    def patch(self, number: int) -> SSAValue:
        """A patch; it is gathered if it is not there. One of padding only is a constant."""
        if number in self.patches:
            return self.patches[number]
        b, plan, axis, gathers = self.b, self.plan, self.grid.columns, self.kernel.gathers
        if plan.is_padding(self.run, number):
            patch = self.kernel.splat(self.kernel.layer.zero_point, mve.I8X16)
        else:
            rows = side_of(b, self.grid.rows, self.row, self.grid.rows.kernel)
            side = plan.side(self.run, number)
            behind = number * plan.width + side.first - axis.before
            columns = side, b.add(b.mul(self.column, axis.stride), behind)
            patch = gathers.gather(self.channel.read, rows, columns)
            patch = gathers.padded(patch, plan.pads(rows[0], side))
        self.patches[number] = patch
        return patch
