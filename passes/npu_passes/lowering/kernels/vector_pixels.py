"""Pointwise layers of few channels on a vector unit, whose pixels stay in registers.

    %x = mve.load %ifm[%at] : memref<2304xi8, #npu.sram> -> vector<16xi8>            // four of them
    scf.for %oc = ...                                                               // all filters
      %bias, %bits = dsp.load_pair %run[%c0] : memref<24xi32, ...> -> i32, i32
      %words = mve.load %run[%c8] : memref<24xi32, ...> -> vector<4xi32>
      %w = mve.as_bytes %words : vector<4xi32> -> vector<16xi8>
      %sums = mve.mul_lanes %x, %x_1, %x_2, %x_3 by %w : vector<4xi32>
      ...
      %q = mve.narrow_bytes %first, %second : vector<8xi16> -> vector<16xi8>
      mve.scatter_bytes %q, %ofm[%to] at %targets reach 114 : memref<4608xi8, #npu.sram>

`pixel_plan.py` says how many pixels and filters make eight outputs. Sixteen are stored at once if
they lie near each other, else eight by `mve.scatter`. If four filters do, they are
lanes; else a vector has four pixels of one filter. If no pixel is left behind whole blocks, one
table has all constants. Then pairs of pixels are multiplied with four rows of it at a time:

    %a, %b = mve.mul_rows %x, %x_1, %x_2, %x_3 by %run[%c4] rows 4 biased : ...
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.byte_stores import NEAR
from npu_passes.lowering.kernels.filter_blocks import FilterBlocks, Window
from npu_passes.lowering.kernels.layer import Layer, wrapped
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_outputs import FOUR, Outputs, Place, VectorOutputs
from npu_passes.lowering.kernels.vector_runs import NearTaps, Runs, part
from npu_passes.lowering.kernels.vector_starts import Starts
from npu_passes.lowering.kernels.vector_stores import PairedOutputs
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.packing import PAIR
from npu_plans.kernels.patch_plan import FARTHEST
from npu_plans.kernels.pixel_plan import CONSTANTS, Output, PixelPlan, PixelTable
from npu_plans.kernels.row_blocks import FREE

START = Place(0, 0)
"""The place of the first output."""


class PixelBlocks:
    """Builds the loops over blocks of pixels at equal distances: of a row, or of a whole map."""

    def __init__(
        self,
        layer: Layer,
        run: Runs,
        size: int,
        outputs: VectorOutputs,
        starts: Starts,
        plan: PixelPlan,
        table: PixelTable | FilterBlocks | None,
    ) -> None:
        self.layer, self.b, self.run, self.size = layer, layer.b, run, size
        self.plan, self.outputs, self.starts = plan, outputs, starts
        self.table, self.channel = table, ChannelOutputs(layer, outputs)

    @staticmethod
    def fits(plan: PixelPlan, outputs: Outputs) -> bool:
        """Whether the layer has vectors of outputs, and eight of them lie within reach."""
        if not plan.fits or not isinstance(outputs, PairedOutputs):
            return False
        if outputs.addition is not None and plan.pixels >= FOUR:
            return False
        across = (plan.pixels - 1) * outputs.steps[0] + (plan.filters - 1) * outputs.apart
        return across < FARTHEST

    def build(self, count: int, first: Index = 0, out: Place = START) -> int:
        """Compute the blocks of `count` pixels; returns the number of pixels in them.

        `first` is the place of the first one in the map, and `out` that of its output. If a table
        has all constants, a last block may have fewer pixels.
        """
        b, step = self.b, self.plan.pixels
        whole = count // step * step

        def some(column: Index, pixels: int) -> None:
            place = self.outputs.moved(out, pixels=column)
            self.block(b.add(first, b.mul(column, self.plan.pitch)), place, pixels)

        def one(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            some(column, step)
            return ()

        b.loop(0, whole, one, step=step, hint="ox")
        if self.table is None or whole == count:
            return whole
        some(whole, count - whole)
        return count

    def block(self, base: Index, place: Place, pixels: int) -> None:
        """Compute all filters of a block, which begins at a place of the map and of the output."""
        b, step = self.b, self.plan.filters * self.plan.turns
        x = [self.loaded(b.add(base, at), few) for at, few in self.plan.read(pixels)]
        if isinstance(self.table, FilterBlocks):
            parts = self.plan.parts
            self.pairs([x[at : at + parts] for at in range(0, len(x), parts)], self.table, place)
            return
        filters = len(self.layer.bias)

        def some(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.turn(x, filter, step, place)
            return ()

        b.loop(0, filters // step * step, some, step=step, hint="oc")
        if filters % step:
            self.turn(x, filters // step * step, filters % step, place)

    def loaded(self, place: Index, rest: int | None) -> SSAValue:
        """A vector of the map; `rest`: the bytes of a last one that are the pixel's.

        Blocks that are not all of the pixels read on: zeros stand behind the weights.
        """
        few = None if self.table is None else rest
        return self.run.signed.bytes(self.run.load(self.run.map, place, "x", few), few)

    def pairs(self, x: Sequence[Window], blocks: FilterBlocks, place: Place) -> None:
        """Compute all filters of two pixels, or of a single one, four at a time."""
        side = blocks.side(x, packed=not blocks.plan.stays(len(x), 0))

        def some(filter: Index, count: int) -> None:
            block = blocks.one(filter, count)
            kept = blocks.complete(side, block)
            at = self.outputs.moved(place, channels=filter)
            self.outputs.store(kept, blocks.scales(block), at, count)

        self.layer.each_block(some)

    def turn(self, x: Sequence[SSAValue], filter: Index, count: int, place: Place) -> None:
        """Compute some filters for the pixels of a block, those of eight outputs at a time."""
        step = self.plan.filters
        if isinstance(self.table, PixelTable):
            weights = TableFilters(self.b, self.run.taps, self.table, filter, count)
        else:
            weights = ApartFilters(self, filter, count)
        place = self.outputs.moved(place, channels=filter)
        if self.plan.pixels >= FOUR and count == PAIR * step and max(self.targets(count)) < NEAR:
            products = self.pixels_in_lanes(x, weights, range(step))
            halves = [self.channel.halves(*products)]
            products = self.pixels_in_lanes(x, weights, range(step, count), is_last=True)
            halves.append(self.channel.halves(*products))
            apart = step * self.outputs.apart
            targets = [[apart * n + each for each in self.targets(step)] for n in range(PAIR)]
            self.channel.store_sixteen(halves, place.own, targets)
            return
        for first in range(0, count, step):
            some = range(first, min(first + step, count))
            self.some(x, weights, (filter, some), self.outputs.moved(place, channels=first))

    def targets(self, count: int) -> list[int]:
        """The distances of outputs of some filters from the first one, two vectors by turns."""
        pixel, apart = self.outputs.steps[0], self.outputs.apart
        return [pixel * place + apart * each for place, each in self.both(count)]

    def both(self, count: int) -> list[Output]:
        """The outputs of some filters, those of two vectors by turns."""
        fours = self.plan.fours(count)
        return [output for pair in zip(fours[0], fours[-1], strict=True) for output in pair]

    def some(
        self,
        x: Sequence[SSAValue],
        weights: ApartFilters | TableFilters,
        filters: tuple[Index, range],
        place: Place,
    ) -> None:
        """Compute and store up to eight outputs; `filters` are counted from a first one.

        The place is that of the first pixel's output, of the first of these filters.
        """
        count = len(filters[1])
        if self.plan.pixels >= FOUR:
            products = self.pixels_in_lanes(x, weights, filters[1])
        else:
            products = self.filters_in_lanes(x, weights, filters, place)
        both = self.both(count)
        mask = sum(1 << lane for lane, (_, each) in enumerate(both) if each < count)
        self.channel.store(products, place.own, self.targets(count), mask)

    def pixels_in_lanes(
        self,
        x: Sequence[SSAValue],
        weights: ApartFilters | TableFilters,
        filters: range,
        *,
        is_last: bool = False,
    ) -> list[SSAValue]:
        """Up to eight outputs before they are rounded, four pixels of a filter in a vector.

        The sums of the last eight of sixteen find no free vector but that of their weights. They
        need core registers, so gcc may not load their constants before the sums in front of them.
        """
        b, found = self.b, list[SSAValue]()
        for filter in filters:
            if is_last:
                b.insert(dsp.KeepOrderOp.create())
            bias, scale = weights.constants(filter)
            for first, users in self.plan.weights():
                b.insert(dsp.KeepOrderOp.create())
                w, four = weights.load(filter, first), [x[vector] for _, vector in users]
                sums = b.insert(mve.MulLanesOp(four, w, in_place=is_last), "sums").result
                found.append(self.channel.scaled(sums, bias, scale))
        return found

    def filters_in_lanes(
        self,
        x: Sequence[SSAValue],
        weights: ApartFilters | TableFilters,
        filters: tuple[Index, range],
        place: Place,
    ) -> list[SSAValue]:
        """The same with four filters of a pixel in a vector; `place` is that of the first one."""
        b, sums, found = self.b, dict[Output, SSAValue](), list[SSAValue]()
        count = len(filters[1])
        known = Constants(self, b.add(filters[0], filters[1].start), count)
        for four in self.plan.fours(count):
            lanes = [(pixel, min(each, count - 1)) for pixel, each in four]
            for each in dict.fromkeys(each for _, each in lanes):
                if (0, each) not in sums:
                    totals = self.sums(x, weights, filters[1][each])
                    sums |= {(pixel, each): total for pixel, total in totals.items()}
            pixel, first = four[0]
            at = self.outputs.moved(place, pixels=pixel, channels=first)
            found.append(known.products([sums[key] for key in lanes], first, at))
        return found

    def sums(
        self, x: Sequence[SSAValue], weights: ApartFilters | TableFilters, filter: int
    ) -> dict[int, SSAValue]:
        """The sums of all pixels for one of some filters."""
        found = dict[int, SSAValue]()
        for first, users in self.plan.weights():
            self.b.insert(dsp.KeepOrderOp.create())
            w = weights.load(filter, first)
            for pixel, vector in users:
                found[pixel] = self.run.product(x[vector], w, found.get(pixel, self.run.zero))
        return found


def table_of(
    layer: Layer, outputs: VectorOutputs, plan: PixelPlan
) -> tuple[PixelTable | FilterBlocks, SSAValue]:
    """The table of all constants where all pixels are in blocks, and its buffer."""
    filters = len(layer.bias)
    if plan.pixels >= FOUR:
        table, scales = PixelTable(plan), np.array(outputs.scaling.scales, np.float32)
        weights = layer.weights.reshape(filters, -1).astype(np.int8)
        words = table.words(weights, wrapped(layer.first_values), scales)
        return table, layer.table("taps", words)
    # With a shorter last block, or without a free register for vectors, gcc needs the pointers.
    hides = filters % FOUR > 0 or plan.parts * PAIR == FREE
    sizes, shared = (plan.parts, filters), (PAIR, PAIR)
    blocks = FilterBlocks(layer, outputs, *sizes, hides=hides, shared=shared, zeroed=True)
    return blocks, blocks.table


class ApartFilters(NearTaps):
    """Some filters whose weights, first values and scales lie in tables of their own."""

    def __init__(self, blocks: PixelBlocks, filter: Index, count: int) -> None:
        super().__init__(blocks.b, blocks.run.taps, blocks.size, filter, count, blocks.plan.lead)
        self.channel = blocks.channel

    def constants(self, filter: int) -> tuple[SSAValue, SSAValue]:
        """The first value of one of the filters, and its scale."""
        return self.channel.constants(self.b.add(self.filter, filter))


class TableFilters:
    """A block of some filters in the table of all constants.

    gcc knows nothing of its place if no loop changes it: it would load all constants early.
    """

    def __init__(
        self, b: LoopBuilder, words: SSAValue, table: PixelTable, filter: Index, count: int
    ) -> None:
        self.b, self.table, self.count = b, table, count
        first, size = b.mul(filter, table.pitch), table.size(count)
        if isinstance(filter, int):
            self.run = part(b, words, first, size)
        else:
            self.run = b.window(words, [first], [size], [0], "run")

    def load(self, filter: int, first: int) -> SSAValue:
        """Load 16 bytes from byte `first` of one of the filters on."""
        b, place = self.b, self.table.row(filter, self.count, first)
        words = b.insert(mve.LoadOp(self.run, b.value(place), mve.I32X4), "w").result
        return b.insert(mve.AsBytesOp(words), "w").result

    def constants(self, filter: int) -> tuple[SSAValue, SSAValue]:
        """The first value of one of the filters, and its scale."""
        b = self.b
        load = dsp.LoadPairOp(self.run, b.value(CONSTANTS * filter))
        bias, bits = b.insert(load, "bias").results
        return bias, b.insert(arith.BitcastOp(bits, f32), "scale").result


class Constants:
    """First values and scales of some filters, four in a vector, each loaded once."""

    def __init__(self, blocks: PixelBlocks, filter: Index, count: int) -> None:
        self.blocks, self.filter, self.count = blocks, filter, count
        self.vectors: dict[int, tuple[SSAValue | None, SSAValue]] = {}

    def products(self, sums: Sequence[SSAValue], first: int, place: Place) -> SSAValue:
        """Four sums plus their first values, times their scales; and what is added to them.

        `first`: the filter of the first one. `place`: that of its output.
        """
        blocks, b, outputs = self.blocks, self.blocks.b, self.blocks.outputs
        count = min(FOUR, self.count - first)
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
