"""Depthwise convolutions of bytes on a vector unit, over patches of one channel where they lie.

    %channel = dsp.opaque %view : memref<2033xi8, strided<[1], offset: ?>, #npu.sram>
    ...
    %even = mve.gather %channel[%at] at %places reach 405 : memref<2033xi8, ...>
    %odd = mve.gather %channel[%at] at %places_1 reach 389 : memref<2033xi8, ...>
    %halves = mve.push_bytes %odd, %even : vector<8xi16>
    %patch = mve.as_bytes %halves : vector<8xi16> -> vector<16xi8>
    %sum = mve.mul_across %patch, %weights : vector<16xi8>

A patch holds the windows of some neighbouring outputs (`window_plan.py`). The zero point is folded
into the bias of all windows; outputs whose windows are clipped begin with what it adds besides.
Outputs that lie over their input (`over`) overwrite their own channel only, so places have a step.

    for c = 0 to C
      for each of its filters
        for some rows of outputs
          for each column, or for some: gather patches, multiply, store eight outputs
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.byte_stores import Memory
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer, wrapped
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_gathers import Gathers, each_step, side_of
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.gathers import FOUR, Place, Side
from npu_plans.kernels.window_plan import (
    Event,
    Gather,
    Multiply,
    Piece,
    Product,
    Store,
    WindowPlan,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Channel:
    """What all elements of a channel of the output need.

    `read` is the channel of the map, `out` that of the output. `edges` are first
    values, by the columns of a window that a patch has, where it lacks some. `taps` is the memory
    of its weights; `weights` are those that stay in registers, by phase.
    """

    read: Memory
    out: Memory
    edges: Mapping[tuple[int, int], SSAValue]
    bias: SSAValue
    scale: SSAValue
    taps: SSAValue
    weights: Mapping[Place, SSAValue]


class WindowKernel:
    """Builds the loops of a depthwise convolution."""

    def __init__(
        self,
        layer: Layer,
        map: SSAValue,
        grid: Grid,
        outputs: VectorOutputs,
        plan: WindowPlan,
    ) -> None:
        self.layer, self.grid, self.b, self.plan = layer, grid, layer.b, plan
        self.step, self.splat = grid.pixel if plan.over else 1, outputs.splat
        self.outputs = ChannelOutputs(layer, outputs)
        self.gathers = Gathers(layer, map, grid, self.outputs, self.step)
        self.pairs = self.plan.in_pairs and (self.plan.form.clips or not self.gathers.signed.flips)
        """Whether lanes 0 and 2 get the first two of four sums. Patches of u8 take an op more."""
        self.lanes = self.plan.form.height > 2 and self.plan.form.lines == 1
        """Whether four sums with the same weights may be one op.

        In a loop over rows gcc keeps fewer vectors on the stack without it.
        """
        self.multiplier = layer.filters_of_each(grid.channels)
        kernel = grid.rows.kernel, grid.columns.kernel
        weights = layer.weights.reshape(-1, *kernel)
        self.packed = self.plan.weights
        self.taps = layer.table("taps", self.packed.packed(weights))
        self.cuts = self.plan.cuts if layer.zero_point else []
        self.starts = layer.table("starts", wrapped(self.first_values(weights).ravel()))

    def first_values(self, weights: NDArray[np.int8]) -> NDArray[np.int64]:
        """The bias of each filter, less what the zero point adds to a whole window.

        Behind it is what the zero point adds where windows have columns outside of the map: patches
        have some of their columns only, `cuts`.
        """
        point, wide = self.layer.zero_point, weights.astype(np.int64)
        found = [self.layer.bias - point * wide.sum(axis=(1, 2))]
        for first, behind in self.cuts:
            lacking = np.delete(wide, range(first, behind), axis=2)
            found.append(point * lacking.sum(axis=(1, 2)))
        return np.stack(found, axis=1)

    def build(self) -> None:
        """Build the loops."""

        def one(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
            def outputs(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
                self.filter(self.channel(number, filter))
                return ()

            self.b.loop(0, self.multiplier, outputs, hint="filter")
            return ()

        self.b.loop(0, self.grid.channels, one, hint="c")

    def channel(self, read: Index, filter: Index) -> Channel:
        """Load what the outputs of a filter of a channel need."""
        b = self.b
        number = b.add(b.mul(read, self.multiplier), filter)
        at = b.mul(number, self.packed.pitch)
        taps = b.window(self.taps, [at], [self.packed.reach], [0], "taps")
        resident = [] if self.plan.form.clips else self.plan.phases
        weights = {phase: self.weights(taps, phase) for phase in resident}
        count = 1 + len(self.cuts)
        at = b.mul(number, count)
        bias, *edges = (b.load(self.starts, [b.add(at, each)], "start") for each in range(count))
        scale = self.outputs.scale(number)
        opaque = self.plan.hides
        inputs = self.gathers.channel(read, opaque=opaque)
        out = self.outputs.channel_memory(number, opaque=opaque)
        cuts = dict(zip(self.cuts, edges, strict=True))
        return Channel(inputs, out, cuts, bias, scale, taps, weights)

    def weights(self, taps: SSAValue, phase: Place) -> SSAValue:
        """Load weights of a channel."""
        at = self.b.value(self.packed.at(phase))
        return self.b.insert(mve.LoadOp(taps, at, mve.I8X16), "w").result

    # -- rows ----------------------------------------------------------------------------------

    def filter(self, channel: Channel) -> None:
        """Compute all rows of a channel of the output."""
        plan, step = self.plan, self.plan.form.height
        if plan.ahead:
            self.ahead(channel)
        else:
            rows = partial(self.rows, channel)
            each_step(self.b, self.grid.rows.outputs, step, plan.steps, rows, "oy")

    def ahead(self, channel: Channel) -> None:
        """The same where the patches of the next rows are carried from step to step."""
        plan, outputs, step = self.plan, self.grid.rows.outputs, self.plan.form.height
        patches = plan.patches(0, plan.columns.outputs)

        def some(row: Index, count: int, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            part = Part(self, channel, row, 0)
            lines = plan.form.lines
            more = lines
            if isinstance(row, int):
                more = min(lines, outputs - row - count)
            part.patches = {
                Piece(0, min(lines, count), patch): data
                for patch, data in zip(patches, carried, strict=True)
            }
            part.run(plan.events(count, patches, more))
            return [part.patches[Piece(count, more, each)] for each in patches] if more else ()

        first, behind = (step * number for number in plan.steps)
        lines = min(plan.form.lines, outputs)
        carried: Sequence[SSAValue] = [
            self.gather(channel, 0, Piece(0, lines, each), 0) for each in patches
        ]
        for row in range(0, first, step):
            carried = some(row, step, carried)
        carried = self.b.loop(
            first, behind, lambda row, each: some(row, step, each), carried, step=step, hint="oy"
        )
        for row in range(behind, outputs, step):
            carried = some(row, min(step, outputs - row), carried)

    def rows(self, channel: Channel, row: Index, count: int) -> None:
        """Compute some rows of outputs."""
        plan = self.plan
        front, step, back = plan.parts

        def block(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            events = plan.events(count, plan.moving(step), moves=True)
            Part(self, channel, row, column).run(events)
            return ()

        Part(self, channel, row, 0).run(plan.events(count, plan.patches(*front)))
        self.b.loop(front[1], back[0], block, step=step, hint="ox")
        Part(self, channel, row, 0).run(plan.events(count, plan.patches(*back)))

    def gather(self, channel: Channel, row: Index, piece: Piece, column: Index) -> SSAValue:
        """A patch of a row of outputs; `column`: 0, or the first output of a step of a loop."""
        b, axis, form, patch = self.b, self.grid.columns, self.plan.form, piece.patch
        rows, moves = side_of(b, self.grid.rows, row, form.rows), not isinstance(column, int)
        pushed = not moves and self.plan.pushes(patch)
        side = Side.of(axis, None if moves else patch.column, form.columns)
        if pushed:
            side = Side.behind(axis, form.columns)
        first = b.add(b.mul(column, axis.stride), -axis.before) if moves else 0
        columns = side, b.add(first, patch.column + side.first)
        shift = 0
        if isinstance(row, int) and (shift := self.plan.shift(row)):
            start = self.grid.rows.start(row) + shift
            rows = Side.of(self.grid.rows, start, form.rows), start
        data = self.gathers.gather(channel.read, rows, columns)
        if shift:
            point = self.splat(self.layer.zero_point, mve.I8X16)
            data = b.insert(mve.ShiftInOp(point, data, shift), "patch").result
        pads = self.plan.pads(rows[0], side, piece, moves=moves, pushed=pushed)
        data = self.gathers.padded(data, pads)
        if pushed:
            column = b.integer((self.layer.zero_point & 0xFF) * 0x010101)
            data = b.insert(mve.PushThreeOp(data, column), "patch").result
        return data


class Part:
    """Neighbouring outputs of some rows, from `row` and `column` on.

    A column that is known is 0, and patches and outputs are counted from there.
    """

    def __init__(self, kernel: WindowKernel, channel: Channel, row: Index, column: Index) -> None:
        self.kernel, self.channel, self.b = kernel, channel, kernel.b
        self.row, self.column, self.taps = row, column, channel.taps
        self.patches: dict[Piece, SSAValue] = {}
        self.sums: list[SSAValue] = []
        self.first: SSAValue | None = None
        """What all four sums begin with besides the bias, if it is the same."""
        self.fours: list[SSAValue] = []

    def run(self, events: Iterable[Event]) -> None:
        """Gather, multiply and store.

        Where weights are loaded, gcc knows nothing of their place: of all products, or of those
        that are stored together, if patches have several rows of outputs.
        """
        form, hides = self.kernel.plan.form, True
        for event in events:
            if isinstance(event, Gather):
                row = self.b.add(self.row, event.piece.row)
                made = self.kernel.gather(self.channel, row, event.piece, self.column)
                self.patches[event.piece] = made
                hides = True
            elif isinstance(event, Multiply):
                if hides and form.clips:
                    self.taps = self.b.insert(dsp.OpaqueOp(self.taps), "taps").result
                    hides = False
                self.multiply(event.products)
            else:
                self.store(event)
                hides = hides or form.lines > 1

    def multiply(self, products: Sequence[Product]) -> None:
        """Compute some sums; four of them are scaled together."""
        plan, edges = self.kernel.plan, self.channel.edges
        for phase, group in groupby(products, attrgetter("phase")):
            weights = self.channel.weights.get(phase) or self.weights(phase)
            some, edge = list(group), edges.get(plan.taps(phase[1]))
            if edge is not None and len(some) == FOUR and not self.sums:
                self.first, edge = edge, None
            if (
                self.kernel.lanes
                and isinstance(self.row, int)
                and len(some) == FOUR
                and not self.sums
            ):
                data = [self.patches[each.piece] for each in self.in_lanes(some)]
                self.scale(self.b.insert(mve.MulLanesOp(data, weights), "sums").result)
                continue
            for product in some:
                data = self.patches[product.piece]
                op = mve.MulAcrossOp(data, weights)
                if edge is not None:
                    op = mve.MlaAcrossOp(data, weights, edge)
                self.sums.append(self.b.insert(op, "sum").result)
                if len(self.sums) == FOUR:
                    self.scale()

    def weights(self, phase: Place) -> SSAValue:
        """Load weights that do not stay in registers; gcc would keep all of them on the stack."""
        self.b.insert(dsp.KeepOrderOp.create())
        return self.kernel.weights(self.taps, phase)

    def scale(self, four: SSAValue | None = None) -> None:
        """Scale four sums, or up to four single ones; the last one is repeated."""
        outputs, bias = self.kernel.outputs, self.channel.bias
        if four is None:
            four = outputs.joined(self.in_lanes(self.sums))
        if self.first is not None:
            bias = self.b.binary(arith.AddiOp, bias, self.first, "start")
        self.fours.append(outputs.scaled(four, bias, self.channel.scale))
        self.sums, self.first = [], None

    def in_lanes(self, few: Sequence[T]) -> list[T]:
        """Up to four values in the order of their lanes; the last one is repeated."""
        four = [*few, *[few[-1]] * (FOUR - len(few))]
        return [four[each] for each in ((0, 2, 1, 3) if self.kernel.pairs else range(FOUR))]

    def store(self, event: Store) -> None:
        """Store the outputs of one or two vectors."""
        b, outputs, count = self.b, self.kernel.outputs, -(-len(event.places) // FOUR)
        if len(self.fours) < count:
            self.scale()
        fours, self.fours = self.fours[:count], self.fours[count:]
        pixel, line = outputs.steps
        distances = event.distances(pixel, line)
        least = min(distances)
        groups = [self.in_lanes(distances[at : at + FOUR]) for at in range(0, len(distances), FOUR)]
        targets = [each - least for pair in zip(groups[0], groups[-1]) for each in pair]
        place = b.add(b.mul(self.row, line), b.mul(self.column, pixel))
        place, step = b.add(place, least), self.kernel.step
        outputs.store(fours, place, targets, step=step, memory=self.channel.out)
