"""Depthwise convolutions of bytes on a vector unit, over patches of a channel in working memory.

    %new = mve.gather %ifm[%at] at %places reach 405 : memref<2048xi8, #npu.sram>
    %old = mve.load %lines[%i] : memref<100xi16, #npu.sram> -> vector<8xi16>
    %patch = mve.push_bytes %old, %new : vector<8xi16>
    ...
    %sum = mve.mul_across %bytes, %weights : vector<16xi8>

Four outputs, two by two, are sums over one patch (`patch_plan.py`). Eight are stored at once. The
zero point fills the padding of the working memory, and is folded into the bias of all windows.

    for c = 0 to C
      push two rows
      for each pair of rows of outputs
        push two rows
        for each filter of the channel
          for each four columns: eight outputs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.patch_plan import (
    HALVES,
    SIDE,
    TWO,
    PatchPlan,
    gathered,
    lanes_of,
    lanes_stored,
    pack_patches,
    stored,
    weights_at,
)

EIGHT = 8
"""Elements of 16 bits in a vector."""


@dataclass(frozen=True)
class Channel:
    """A channel of the output: its number, and what all of its elements need.

    `weights` are by output.
    """

    number: Index
    weights: Mapping[tuple[int, int], SSAValue]
    bias: SSAValue
    scale: SSAValue


class PatchKernel:
    """Builds the loops of a depthwise convolution with a working memory, `scratch`."""

    def __init__(
        self, layer: Layer, map: SSAValue, grid: Grid, scratch: SSAValue, outputs: VectorOutputs
    ) -> None:
        self.layer, self.grid, self.b = layer, grid, layer.b
        self.signed = SignedBytes(layer, map)
        self.splat, self.outputs = outputs.splat, ChannelOutputs(layer, outputs)
        self.plan = PatchPlan(grid.rows, grid.columns)
        self.multiplier = layer.filters_of_each(grid.channels)
        self.scratch, self.map = scratch, layer.vector(map)
        kernel = grid.rows.kernel, grid.columns.kernel
        self.taps = layer.table("taps", pack_patches(layer.weights.reshape(-1, *kernel)))

    def build(self) -> None:
        """Build the loops."""
        b, plan = self.b, self.plan
        self.fill()

        def one(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
            only = self.channel(number) if self.multiplier == 1 else None
            self.push(number, *plan.new_rows(-1))

            def pair(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
                self.pair(number, only, index)
                return ()

            b.loop(0, plan.whole, pair, hint="pair")
            for index in range(plan.whole, plan.pairs):
                self.pair(number, only, index)
            return ()

        b.loop(0, self.grid.channels, one, hint="c")

    def fill(self) -> None:
        """Fill the working memory with the zero point."""
        b, whole = self.b, self.plan.elements // EIGHT * EIGHT
        point = self.splat(257 * (self.layer.zero_point & 0xFF), mve.I16X8)

        def some(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            b.insert(mve.StoreOp(point, self.scratch, b.value(index)))
            return ()

        b.loop(0, whole, some, step=EIGHT, hint="i")
        if rest := self.plan.elements - whole:
            b.insert(mve.StoreOp(point, self.scratch, b.value(whole), rest))

    def channel(self, number: Index) -> Channel:
        """Load what a channel of the output needs."""
        b = self.b
        first = b.mul(number, TWO * SIDE * SIDE)
        weights = {
            (lower, right): b.insert(
                mve.LoadOp(self.taps, b.value(b.add(first, weights_at(lower, right))), mve.I8X16),
                "w",
            ).result
            for lower in range(TWO)
            for right in range(TWO)
        }
        return Channel(number, weights, *self.outputs.constants(number))

    # -- rows ----------------------------------------------------------------------------------

    def push(self, number: Index, first: Index, second: Index) -> None:
        """Gather two rows of a channel; a row outside of the map is padding, and a number.

        The last columns may overlap those before. So their bytes are read before these are stored.
        """
        b, plan = self.b, self.plan
        inside = [not isinstance(row, int) or plan.is_row(row) for row in (first, second)]
        on_map = inside[0], inside[1]
        top = b.mul(first if inside[0] else second, self.grid.line)
        top = b.add(top, b.mul(number, self.grid.apart))
        size = self.grid.columns.size
        count, whole = min(size, SIDE), size // SIDE * SIDE
        few = None if count == SIDE else HALVES * count

        def pushed(column: Index) -> tuple[SSAValue, SSAValue]:
            at = b.add(top, b.mul(column, self.grid.pixel))
            new = self.gather(at, count, on_map)
            place = b.value(b.mul(b.add(column, self.grid.columns.before), HALVES))
            old = b.insert(mve.LoadOp(self.scratch, place, mve.I16X8, few), "old").result
            return b.insert(mve.PushBytesOp(old, new), "patch").result, place

        def some(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            patch, place = pushed(column)
            b.insert(mve.StoreOp(patch, self.scratch, place, few))
            return ()

        last = pushed(size - count) if whole < size else None
        b.loop(0, whole, some, step=SIDE, hint="ix")
        if last is not None:
            b.insert(mve.StoreOp(last[0], self.scratch, last[1], few))

    def gather(self, at: Index, count: int, on_map: tuple[bool, bool]) -> SSAValue:
        """Two rows of some columns; `on_map` says which of them are not padding.

        `at` is the place of the first one that is not.
        """
        b, point = self.b, self.signed.point & 0xFF
        if not any(on_map):
            return self.splat(self.layer.zero_point & 0xFF, mve.I16X8)
        lanes = lanes_of(count, on_map)
        steps = gathered(self.grid.pixel, self.grid.line if on_map[0] else 0)
        reach = max(step for lane, step in enumerate(steps) if lanes >> lane & 1) + 1
        places = self.outputs.vector("places", steps)
        new = b.insert(mve.GatherOp(self.map, b.value(at), places, reach, lanes), "new").result
        if point and not all(on_map):
            pads = self.outputs.vector("pads", [0 if row else point for row in on_map] * SIDE)
            new = b.insert(mve.AddOp(new, pads), "new").result
        return self.signed.halves(new)

    # -- outputs -------------------------------------------------------------------------------

    def pair(self, number: Index, only: Channel | None, index: Index) -> None:
        """Compute a pair of rows of outputs, or the last row, for all filters of a channel.

        `only` is what its only filter needs, which is loaded in front of all rows.
        """
        b, plan = self.b, self.plan
        if isinstance(index, int):
            self.push(number, *plan.new_rows(index))
        else:
            first = b.add(b.mul(index, TWO), TWO - self.grid.rows.before)
            self.push(number, first, b.add(first, 1))

        def outputs(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
            found = only or self.channel(b.add(b.mul(number, self.multiplier), filter))
            self.outputs_of(found, index)
            return ()

        b.loop(0, self.multiplier, outputs, hint="filter")

    def outputs_of(self, channel: Channel, index: Index) -> None:
        """Compute a pair of rows of a channel of the output, or its last row."""
        b = self.b
        last = isinstance(index, int) and TWO * index + 1 == self.grid.rows.outputs
        rows, columns = 1 if last else TWO, self.grid.columns.outputs
        whole = columns // SIDE * SIDE
        pixel, line = self.outputs.steps
        start = b.add(b.mul(b.mul(index, TWO), line), self.outputs.channel(channel.number))

        def some(column: Index, count: int) -> tuple[()]:
            place = b.add(start, b.mul(column, pixel))
            self.eight(channel, b.mul(column, HALVES), place, rows, count)
            return ()

        b.loop(0, whole, lambda column, _: some(column, SIDE), step=SIDE, hint="ox")
        if whole < columns:
            some(whole, columns - whole)

    def eight(self, channel: Channel, start: Index, place: Index, rows: int, columns: int) -> None:
        """Compute and store the outputs of up to two patches; `rows` and `columns` of them exist.

        `start` is the element of the working memory where the first patch begins.
        """
        b, found = self.b, list[SSAValue]()
        for patch in range(-(-columns // TWO)):
            at = b.value(b.add(start, patch * TWO * HALVES))
            halves = b.insert(mve.LoadOp(self.scratch, at, mve.I16X8), "patch").result
            bytes_ = b.insert(mve.AsBytesOp(halves), "bytes").result
            across = min(TWO, columns - patch * TWO)
            found.append(self.four(channel, bytes_, rows, across))
        steps, lanes = stored(*self.outputs.steps), lanes_stored(columns, rows)
        self.outputs.store(found, place, steps, lanes)

    def four(self, channel: Channel, patch: SSAValue, rows: int, columns: int) -> SSAValue:
        """The scaled sums of a patch; where no output exists, one is repeated."""
        b, sums = self.b, dict[tuple[int, int], SSAValue]()
        for lower in range(rows):
            for right in range(columns):
                weights = channel.weights[lower, right]
                sums[lower, right] = b.insert(mve.MulAcrossOp(patch, weights), "sum").result
        words = [sums[y % rows, x % columns] for y in range(TWO) for x in range(TWO)]
        return self.outputs.products(words, channel.bias, channel.scale)
