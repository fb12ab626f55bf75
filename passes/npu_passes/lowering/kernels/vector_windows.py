"""Depthwise convolutions of bytes on a vector unit, over patches of one channel where they lie.

    %even = mve.gather %ifm[%at] at %places reach 405 : memref<2048xi8, #npu.sram>
    %odd = mve.gather %ifm[%at] at %places_1 reach 389 : memref<2048xi8, #npu.sram>
    %halves = mve.push_bytes %odd, %even : vector<8xi16>
    %patch = mve.as_bytes %halves : vector<8xi16> -> vector<16xi8>
    %sum = mve.mul_across %patch, %weights : vector<16xi8>

A patch holds two or three windows of a row (`window_plan.py`), also of outputs that are stored
later. Padding becomes the zero point, which is folded into the bias of all windows. Outputs that
lie over their input (`over`) are computed in single rows, and places have a step: an output
overwrites its own channel only.

    for c = 0 to C
      for each of its filters
        for each row of outputs, or for each two
          for each eight outputs: their patches
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_gathers import Gathers, each_step, side_of
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.window_plan import (
    BYTES,
    COLUMNS,
    TAPS,
    Block,
    Place,
    WindowPlan,
    pack_windows,
    weights_at,
)


@dataclass(frozen=True)
class Channel:
    """A channel of the output: its number, and what all of its elements need.

    `read` is the channel of the map, `weights` are by output.
    """

    number: Index
    read: Index
    weights: Sequence[SSAValue]
    bias: SSAValue
    scale: SSAValue


class WindowKernel:
    """Builds the loops of a depthwise convolution."""

    def __init__(
        self, layer: Layer, map: SSAValue, grid: Grid, outputs: VectorOutputs, *, over: bool
    ) -> None:
        self.layer, self.grid, self.b = layer, grid, layer.b
        self.plan = WindowPlan(grid.rows, grid.columns, single=over)
        self.step = grid.pixel if over else 1
        self.outputs = ChannelOutputs(layer, outputs)
        self.gathers = Gathers(layer, map, grid, self.outputs, self.step)
        self.multiplier = layer.filters_of_each(grid.channels)
        kernel = grid.rows.kernel, grid.columns.kernel
        self.moves = self.plan.across, grid.columns.stride
        packed = pack_windows(layer.weights.reshape(-1, *kernel), *self.moves)
        self.taps = layer.table("taps", packed)

    def build(self) -> None:
        """Build the loops."""

        def one(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
            def outputs(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
                channel, step = self.channel(number, filter), self.plan.height
                inside = self.plan.inside(step, step, across=False)
                rows = partial(self.rows, channel)
                each_step(self.b, self.grid.rows.outputs, step, inside, rows, "oy")
                return ()

            self.b.loop(0, self.multiplier, outputs, hint="filter")
            return ()

        self.b.loop(0, self.grid.channels, one, hint="c")

    def channel(self, read: Index, filter: Index) -> Channel:
        """Load what the outputs of a filter of a channel need."""
        b = self.b
        number = b.add(b.mul(read, self.multiplier), filter)
        first = b.mul(number, BYTES)
        weights = [
            b.insert(
                mve.LoadOp(
                    self.taps, b.value(b.add(first, weights_at(each, *self.moves))), mve.I8X16
                ),
                "w",
            ).result
            for each in range(self.plan.across)
        ]
        return Channel(number, read, weights, *self.outputs.constants(number))

    def rows(self, channel: Channel, row: Index, count: int) -> None:
        """Compute one or two rows of outputs."""
        step = self.plan.width(count)
        inside = self.plan.inside(step, step, across=True)
        spare: dict[Place, SSAValue] = {}

        def block(column: Index, columns: int) -> None:
            end = columns
            if isinstance(column, int):
                before = column < step * inside[0]
                end = (step * inside[0] if before else self.grid.columns.outputs) - column
            self.block(channel, row, column, Block(count, columns), spare, end)

        each_step(self.b, self.grid.columns.outputs, step, inside, block, "ox")

    def block(
        self,
        channel: Channel,
        row: Index,
        column: Index,
        block: Block,
        spare: dict[Place, SSAValue],
        end: int,
    ) -> None:
        """Compute and store the outputs of a block.

        Its patches hold windows of outputs behind it, too, of those in front of `end`, counted from
        its first column. Their sums become `spare`, and those that are there are not computed.
        """
        b, (pixel, line) = self.b, self.outputs.steps
        sums, fours = dict(spare), list[SSAValue]()
        for four in block.fours:
            for y, x in four:
                if (y, x) not in sums:
                    sums |= self.patch(channel, b.add(row, y), b.add(column, x), (y, x), end)
            words = [sums[place] for place in four]
            fours.append(self.outputs.rounded(words, channel.bias, channel.scale))
        place = b.add(b.mul(row, line), b.mul(column, pixel))
        place = b.add(place, self.outputs.channel(channel.number))
        self.outputs.store(fours, place, block.targets(pixel, line), step=self.step)
        spare.clear()
        spare |= {(y, x - block.columns): s for (y, x), s in sums.items() if x >= block.columns}

    def patch(
        self, channel: Channel, row: Index, column: Index, first: Place, end: int
    ) -> Mapping[Place, SSAValue]:
        """The sums of the outputs of a patch; it begins with the output at `row` and `column`.

        `first` is the place of that output in its block; others are in front of the column `end`.
        """
        b, grid, (y, x) = self.b, self.grid, first
        count = min(self.plan.across, end - x)
        pushed = self.plan.pushes and isinstance(column, int) and column == 0
        rows = side_of(b, grid.rows, row, TAPS)
        columns = side_of(b, grid.columns, column, COLUMNS, pushed=pushed)
        patch = self.gathers.gather(channel.read, rows, columns)
        pads = self.plan.pads(rows[0], columns[0], count, pushed=pushed)
        patch = self.gathers.padded(patch, pads)
        if pushed:
            point = b.integer((self.layer.zero_point & 0xFF) * 0x010101)
            patch = b.insert(mve.PushThreeOp(patch, point), "patch").result
        return {
            (y, x + each): b.insert(mve.MulAcrossOp(patch, channel.weights[each]), "sum").result
            for each in range(count)
        }
