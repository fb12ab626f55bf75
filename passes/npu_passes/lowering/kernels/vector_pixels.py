"""Pointwise layers of few channels on a vector unit, whose pixels stay in registers.

    %x = mve.load %ifm[%at] : memref<2304xi8, #npu.sram> -> vector<16xi8>            // four of them
    scf.for %oc = ...                                                               // all filters
      %w = mve.load %taps[%first] : memref<143xi8, #npu.flash> -> vector<16xi8>
      %sum = mve.mul_across %x, %w : vector<16xi8>
      ...
      mve.scatter %q, %ofm[%to] at %targets reach 113 saturated : memref<4608xi8, #npu.sram>

`pixel_plan.py` says how many pixels and filters make eight outputs. If four filters do, they are
lanes; else a vector has four pixels of one filter.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_outputs import FOUR, Outputs, VectorOutputs
from npu_passes.lowering.kernels.vector_runs import NearTaps, Runs
from npu_passes.lowering.kernels.vector_starts import Starts
from npu_passes.lowering.kernels.vector_stores import PairedOutputs
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.patch_plan import FARTHEST
from npu_plans.kernels.pixel_plan import Output, PixelPlan


class PixelBlocks:
    """Builds the loops over blocks of pixels of a map without gaps between its rows."""

    def __init__(
        self,
        layer: Layer,
        run: Runs,
        size: int,
        outputs: VectorOutputs,
        starts: Starts,
        plan: PixelPlan,
    ) -> None:
        self.layer, self.b, self.run, self.size = layer, layer.b, run, size
        self.plan, self.outputs, self.starts = plan, outputs, starts
        self.channel = ChannelOutputs(layer, outputs)

    @staticmethod
    def fits(plan: PixelPlan, outputs: Outputs) -> bool:
        """Whether the layer has vectors of outputs, and eight of them lie within reach."""
        if not plan.fits or not isinstance(outputs, PairedOutputs):
            return False
        if outputs.addition is not None and plan.pixels >= FOUR:
            return False
        across = (plan.pixels - 1) * outputs.steps[0] + (plan.filters - 1) * outputs.apart
        return across < FARTHEST

    def build(self, count: int) -> int:
        """Compute the blocks of `count` pixels; returns the number of pixels in them."""
        whole = count // self.plan.pixels * self.plan.pixels

        def one(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.block(column)
            return ()

        self.b.loop(0, whole, one, step=self.plan.pixels, hint="ox")
        return whole

    def block(self, column: Index) -> None:
        """Compute all filters of a block, which begins at a pixel."""
        b, step = self.b, self.plan.filters * self.plan.turns
        base = b.mul(column, self.plan.pitch)
        x = [self.run.bytes(self.run.map, b.add(base, each)) for each in self.plan.loads]
        filters = len(self.layer.bias)

        def some(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.turn(x, filter, step, column)
            return ()

        b.loop(0, filters // step * step, some, step=step, hint="oc")
        if filters % step:
            self.turn(x, filters // step * step, filters % step, column)

    def turn(self, x: Sequence[SSAValue], filter: Index, count: int, column: Index) -> None:
        """Compute some filters for the pixels of a block, those of eight outputs at a time."""
        weights = NearTaps(self.b, self.run.taps, self.size, filter, count, self.plan.lead)
        for first in range(0, count, self.plan.filters):
            some = range(first, min(first + self.plan.filters, count))
            self.some(x, weights, (filter, some), column)

    def some(
        self,
        x: Sequence[SSAValue],
        weights: NearTaps,
        filters: tuple[Index, range],
        column: Index,
    ) -> None:
        """Compute and store up to eight outputs; `filters` are counted from a first one."""
        b, sums, products = self.b, dict[Output, SSAValue](), list[SSAValue]()
        filter, count = b.add(filters[0], filters[1].start), len(filters[1])
        fours, known = self.plan.fours(count), Constants(self, filter, count)
        pixel, apart = self.outputs.steps[0], self.outputs.apart
        place = b.add(b.mul(column, pixel), self.channel.channel(filter))
        for four in fours:
            lanes = [(pixel, min(each, count - 1)) for pixel, each in four]
            for each in dict.fromkeys(each for _, each in lanes):
                if (0, each) not in sums:
                    found = self.sums(x, weights, filters[1][each])
                    sums |= {(pixel, each): total for pixel, total in found.items()}
            at = b.add(place, pixel * four[0][0] + apart * four[0][1])
            products.append(known.products([sums[key] for key in lanes], four[0][1], at))
        both = [output for pair in zip(fours[0], fours[-1], strict=True) for output in pair]
        mask = sum(1 << lane for lane, (_, each) in enumerate(both) if each < count)
        targets = [pixel * place + apart * each for place, each in both]
        self.channel.store(products, place, targets, mask)

    def sums(self, x: Sequence[SSAValue], weights: NearTaps, filter: int) -> dict[int, SSAValue]:
        """The sums of all pixels for one of some filters."""
        found = dict[int, SSAValue]()
        for first, users in self.plan.weights():
            self.b.insert(dsp.KeepOrderOp.create())
            w = weights.load(filter, first)
            for pixel, vector in users:
                found[pixel] = self.run.product(x[vector], w, found.get(pixel, self.run.zero))
        return found


class Constants:
    """First values and scales of some filters, each loaded once."""

    def __init__(self, blocks: PixelBlocks, filter: Index, count: int) -> None:
        self.blocks, self.filter, self.count = blocks, filter, count
        self.scalars: dict[int, tuple[SSAValue, SSAValue]] = {}
        self.vectors: dict[int, tuple[SSAValue | None, SSAValue]] = {}

    def products(self, sums: Sequence[SSAValue], first: int, place: Index) -> SSAValue:
        """Four sums plus their first values, times their scales; and what is added to them.

        `first`: the filter of the first one. `place`: that of its output.
        """
        blocks, b, outputs = self.blocks, self.blocks.b, self.blocks.outputs
        count = min(FOUR, self.count - first)
        if blocks.plan.pixels >= FOUR:
            if first not in self.scalars:
                self.scalars[first] = blocks.channel.constants(b.add(self.filter, first))
            return blocks.channel.products(sums, *self.scalars[first])
        (joined,) = outputs.kept(sums, 1)
        if first not in self.vectors:
            b.insert(dsp.KeepOrderOp.create())
            filter = b.add(self.filter, first)
            start = blocks.starts.vector(0, 0, filter, count)
            self.vectors[first] = start, outputs.scales(filter, count)
        start, scales = self.vectors[first]
        if start is not None:
            joined = b.insert(mve.AddOp(joined, start), "sums").result
        return outputs.summed(joined, scales, place, None if count == FOUR else count)
