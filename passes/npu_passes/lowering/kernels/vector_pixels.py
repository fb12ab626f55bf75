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
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_outputs import FOUR, Outputs, VectorOutputs
from npu_passes.lowering.kernels.vector_starts import Starts
from npu_passes.lowering.kernels.vector_stores import PairedOutputs
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.patch_plan import FARTHEST
from npu_plans.kernels.pixel_plan import Output, PixelPlan


MOST = 128
"""The distance of a load from its pointer is below this."""


@dataclass(frozen=True)
class Source:
    """The map and the weights of a layer as buffers of one axis.

    `size`: bytes from the weights of a filter to those of the next one.
    """

    map: SSAValue
    taps: SSAValue
    size: int
    signed: SignedBytes


class PixelBlocks:
    """Builds the loops over blocks of pixels of a map without gaps between its rows."""

    def __init__(
        self, layer: Layer, source: Source, outputs: VectorOutputs, starts: Starts, plan: PixelPlan
    ) -> None:
        self.layer, self.b, self.source, self.plan = layer, layer.b, source, plan
        self.outputs, self.starts = outputs, starts
        self.channel = ChannelOutputs(layer, outputs)

    @staticmethod
    def fits(plan: PixelPlan, outputs: Outputs) -> bool:
        """Whether the layer has vectors of outputs, and eight of them lie within reach."""
        if not plan.fits or not isinstance(outputs, PairedOutputs) or outputs.addition is not None:
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
        b, source, step = self.b, self.source, self.plan.filters
        base = b.mul(column, self.plan.pitch)
        x = [self.load(source.map, b.add(base, each), "x") for each in self.plan.loads]
        x = [source.signed.bytes(each) for each in x]
        filters = len(self.layer.bias)

        def some(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.some(x, filter, step, column)
            return ()

        b.loop(0, filters // step * step, some, step=step, hint="oc")
        if filters % step:
            self.some(x, filters // step * step, filters % step, column)

    def some(self, x: Sequence[SSAValue], filter: Index, count: int, column: Index) -> None:
        """Compute and store the outputs of some filters for the pixels of a block."""
        b, sums, products = self.b, dict[Output, SSAValue](), list[SSAValue]()
        fours, known = self.plan.fours(count), Constants(self, filter, count)
        weights = Weights(self, filter, count)
        for four in fours:
            lanes = [(pixel, min(each, count - 1)) for pixel, each in four]
            for each in dict.fromkeys(each for _, each in lanes):
                if (0, each) not in sums:
                    found = self.sums(x, weights, each)
                    sums |= {(pixel, each): total for pixel, total in found.items()}
            products.append(known.products([sums[key] for key in lanes], lanes))
        pixel, apart = self.outputs.steps[0], self.outputs.apart
        both = [output for pair in zip(fours[0], fours[-1], strict=True) for output in pair]
        mask = sum(1 << lane for lane, (_, each) in enumerate(both) if each < count)
        targets = [pixel * place + apart * each for place, each in both]
        place = b.add(b.mul(column, pixel), self.channel.channel(filter))
        self.channel.store(products, place, targets, mask)

    def sums(self, x: Sequence[SSAValue], weights: Weights, filter: int) -> dict[int, SSAValue]:
        """The sums of all pixels for one of some filters."""
        b, found = self.b, dict[int, SSAValue]()
        for first, users in self.plan.weights():
            w = weights.load(filter, first)
            for pixel, vector in users:
                op = mve.MulAcrossOp(x[vector], w)
                if pixel in found:
                    op = mve.MlaAcrossOp(x[vector], w, found[pixel])
                found[pixel] = b.insert(op, "acc").result
        return found

    def load(self, buffer: SSAValue, at: Index, hint: str) -> SSAValue:
        """Load 16 bytes."""
        return self.b.insert(mve.LoadOp(buffer, self.b.value(at), mve.I8X16), hint).result


class Weights:
    """The weights of some filters. gcc knows nothing of their place, so it keeps few pointers.

    A load has a short distance from its pointer.
    """

    def __init__(self, blocks: PixelBlocks, filter: Index, count: int) -> None:
        self.blocks, self.filter, self.count = blocks, filter, count
        self.near = max(1, MOST // blocks.source.size)
        self.views: dict[int, SSAValue] = {}

    def load(self, filter: int, first: int) -> SSAValue:
        """Load 16 bytes from byte `first` of a filter on."""
        b, blocks, near = self.blocks.b, self.blocks, self.near
        group, size, lead = filter // near * near, blocks.source.size, blocks.plan.lead
        b.insert(dsp.KeepOrderOp.create())
        if group not in self.views:
            start = b.mul(b.add(self.filter, group), size)
            length = min(near, self.count - group) * size + lead
            view = b.window(blocks.source.taps, [start], [length], [0], "taps")
            self.views[group] = b.insert(dsp.OpaqueOp(view), "taps").result
        return blocks.load(self.views[group], lead + (filter - group) * size + first, "w")


class Constants:
    """First values and scales of some filters, each loaded once."""

    def __init__(self, blocks: PixelBlocks, filter: Index, count: int) -> None:
        self.blocks, self.filter, self.count = blocks, filter, count
        self.scalars: dict[int, tuple[SSAValue, SSAValue]] = {}
        self.vectors: dict[int, tuple[SSAValue | None, SSAValue]] = {}

    def products(self, sums: Sequence[SSAValue], four: Sequence[Output]) -> SSAValue:
        """Four sums plus their first values, times their scales."""
        blocks, first = self.blocks, four[0][1]
        b, outputs = blocks.b, blocks.outputs
        if blocks.plan.pixels >= FOUR:
            if first not in self.scalars:
                self.scalars[first] = blocks.channel.constants(b.add(self.filter, first))
            return blocks.channel.products(sums, *self.scalars[first])
        (joined,) = outputs.kept(sums, 1)
        if first not in self.vectors:
            b.insert(dsp.KeepOrderOp.create())
            filter, count = b.add(self.filter, first), min(FOUR, self.count - first)
            start = blocks.starts.vector(0, 0, filter, count)
            self.vectors[first] = start, outputs.scales(filter, count)
        start, scales = self.vectors[first]
        if start is not None:
            joined = b.insert(mve.AddOp(joined, start), "sums").result
        return outputs.products(joined, scales)
