"""What becomes of the sums of a kernel with vectors: four are requantised and stored at once.

    %v = mve.join %a, %b, %c, %d : vector<4xi32>
    %s = mve.load %scales[%oc] : memref<16xf32, #npu.flash> -> vector<4xf32>
    %f = mve.to_float %v : vector<4xi32> -> vector<4xf32>
    %p = mve.mul %f, %s : vector<4xf32>
    %q = mve.add_scalar %p, %rounder : vector<4xf32>, f32
    mve.store %q, %ofm[%at] saturated : vector<4xf32>, memref<4096xi8, #npu.sram>

The lanes are neighbouring channels. Each gets the bits of `Scaling.by_float`. Where the epilogue
has more to do, the sums are stored one by one, as other kernels do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import limits_of
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.vector_sums import FusedAddition
from npu_passes.support.integers import Scaling, element_of
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.near_halves import largest_product, near_halves

FOUR = 4
"""Sums in a vector."""


class Outputs(ABC):
    """Keeps and stores the sums of some pixels, ordered by pixel, then by filter."""

    def __init__(self, layer: Layer) -> None:
        self.layer, self.b = layer, layer.b

    @abstractmethod
    def lowest(self, filters: int) -> list[SSAValue]:
        """The first values of the maxima of one pixel."""

    @abstractmethod
    def kept(self, sums: Sequence[SSAValue], pixels: int) -> list[SSAValue]:
        """The sums of some pixels, in the form in which they are kept."""

    @abstractmethod
    def greatest(self, best: Sequence[SSAValue], kept: Sequence[SSAValue]) -> list[SSAValue]:
        """The maxima of one pixel, with what is kept of some more pixels."""

    @abstractmethod
    def put(
        self,
        kept: Sequence[SSAValue],
        filter: Index,
        filters: int,
        row: Index,
        column: Index,
        *,
        flat: bool = False,
    ) -> None:
        """Store what is kept of neighbouring pixels; `flat`: of all pixels as one row."""


class SingleOutputs(Outputs):
    """Stores the sums one by one."""

    def lowest(self, filters: int) -> list[SSAValue]:
        """See `Outputs`."""
        return [self.layer.epilogue.lowest()] * filters

    def kept(self, sums: Sequence[SSAValue], pixels: int) -> list[SSAValue]:
        """See `Outputs`."""
        return list(sums)

    def greatest(self, best: Sequence[SSAValue], kept: Sequence[SSAValue]) -> list[SSAValue]:
        """See `Outputs`."""
        return list(self.layer.best(best, kept))

    def put(
        self,
        kept: Sequence[SSAValue],
        filter: Index,
        filters: int,
        row: Index,
        column: Index,
        *,
        flat: bool = False,
    ) -> None:
        """See `Outputs`."""
        self.layer.put(kept, filter, row, column, range(filters), flat=flat)


@dataclass(frozen=True)
class Place:
    """The place of an output in its map, and that of what is added to it in the residual."""

    own: Index
    other: Index


class VectorOutputs(Outputs):
    """Keeps a vector of four sums for each pixel; lanes without a filter repeat the last one.

    `steps`: elements from a pixel to the next one, and from row to row; `other_steps`: those of the
    residual; `apart`: from a channel to the next one. `addition`: what is added to requantised
    sums. `own`: zero point and bounds of requantised sums. `ends`: those of what is rounded last.
    """

    apart = 1

    def __init__(
        self,
        layer: Layer,
        scaling: Scaling,
        steps: tuple[int, int],
        addition: FusedAddition | None = None,
    ) -> None:
        super().__init__(layer)
        self.scaling, self.steps, self.addition = scaling, steps, addition
        self.memory = layer.vector(layer.out)
        largest = largest_product(layer.weights, layer.bias, scaling.scales)
        self.own = Ends(scaling.zero_point, scaling.bounds, largest)
        self.ends = self.own if addition is None else addition.ends
        self.other_steps = steps
        if addition is not None:
            self.other_steps = addition.steps
            other = layer.residual
            assert other is not None
            self.other = self.memory if other is layer.out else layer.vector(other)
        self.known: dict[tuple[int, mve.Vector], SSAValue] = {}
        self.scale: SSAValue | None = None

    def splat(self, number: int, type_: mve.Vector = mve.I32X4) -> SSAValue:
        """A vector of a known integer, computed in front of all loops."""
        if (number, type_) not in self.known:
            splat = mve.SplatOp(self.b.integer(number), type_)
            self.known[number, type_] = self.b.hoist(splat, "vector")
        return self.known[number, type_]

    def lowest(self, filters: int) -> list[SSAValue]:
        """See `Outputs`."""
        return [self.splat(-(2**31))]

    def kept(self, sums: Sequence[SSAValue], pixels: int) -> list[SSAValue]:
        """See `Outputs`."""
        filters = len(sums) // pixels
        found: list[SSAValue] = []
        for first in range(0, len(sums), filters):
            four = [sums[first + min(lane, filters - 1)] for lane in range(FOUR)]
            found.append(self.b.insert(mve.JoinOp(*four), "sums").result)
        return found

    def greatest(self, best: Sequence[SSAValue], kept: Sequence[SSAValue]) -> list[SSAValue]:
        """See `Outputs`."""
        (found,) = best
        for each in kept:
            found = self.b.insert(mve.MaxOp(found, each), "best").result
        return [found]

    def alike(self, columns: range, count: int) -> Sequence[range]:
        """Parts of some steps along a row, `count` outputs in each: these are stored alike."""
        return (columns,)

    @property
    def splatted(self) -> SSAValue | None:
        """The only scale in every lane; None if there is one for each channel."""
        if self.scaling.tables:
            return None
        if self.scale is None:
            number = self.b.real(self.scaling.scales[0])
            self.scale = self.b.hoist(mve.SplatOp(number, mve.F32X4), "scales")
        return self.scale

    def scales(self, filter: Index, filters: int) -> SSAValue:
        """The scales of some filters."""
        if (same := self.splatted) is not None:
            return same
        first = None if filters == FOUR else filters
        load = mve.LoadOp(self.scaling.tables[0], self.b.value(filter), mve.F32X4, first)
        return self.b.insert(load, "scales").result

    def products(self, sums: SSAValue, scales: SSAValue) -> SSAValue:
        """Sums times scales."""
        floats = self.b.insert(mve.ToFloatOp(sums)).result
        return self.b.insert(mve.MulOp(floats, scales), "product").result

    def rounded(self, numbers: SSAValue) -> SSAValue:
        """Floats as the nearest words."""
        return self.b.insert(mve.RoundOp(numbers)).result

    def summed(self, sums: SSAValue, scales: SSAValue, place: Place, first: int | None) -> SSAValue:
        """Sums times scales; with an addition, rounded, and with what it adds. The last is a float.

        `place` is that of the outputs, of which only the `first` ones are there.
        """
        found, b = self.products(sums, scales), self.b
        if self.addition is None:
            return found
        own = self.held(self.rounded(found), self.own)
        load = mve.LoadOp(self.other, b.value(place.other), mve.I32X4, first)
        return self.addition.of_words(own, b.insert(load, "residual").result)

    def held(self, found: SSAValue, ends: Ends) -> SSAValue:
        """Words within bounds less the point."""
        low, high = (self.splat(bound - ends.point) for bound in ends.bounds)
        return self.b.insert(mve.MinOp(self.b.insert(mve.MaxOp(found, low)).result, high)).result

    def bounded(self, numbers: SSAValue) -> SSAValue:
        """Floats, rounded to words within the bounds, plus the zero point."""
        found, point = self.held(self.rounded(numbers), self.ends), self.ends.point
        if point:
            found = self.b.insert(mve.AddOp(found, self.splat(point)), "q").result
        return found

    def put(
        self,
        kept: Sequence[SSAValue],
        filter: Index,
        filters: int,
        row: Index,
        column: Index,
        *,
        flat: bool = False,
        scales: SSAValue | None = None,
    ) -> None:
        """See `Outputs`; `scales`: those of the filters, if they are known."""
        scales = self.scales(filter, filters) if scales is None else scales
        place = self.moved(self.place(row, column, flat=flat), channels=filter)
        self.store(kept, scales, place, filters)

    def place(self, row: Index, column: Index, *, flat: bool = False) -> Place:
        """The place of the first channel of an output; `flat`: its column counts all pixels."""
        own = self.place_in(self.steps, row, column, flat=flat)
        if self.lies_alike:
            return Place(own, own)
        return Place(own, self.place_in(self.other_steps, row, column, flat=flat))

    def row(self, number: Index) -> Place:
        """The place of the first output of a row."""
        own, other = (self.b.mul(number, line) for _, line in (self.steps, self.other_steps))
        return Place(own, own if self.lies_alike else other)

    def place_in(self, steps: tuple[int, int], row: Index, column: Index, *, flat: bool) -> Index:
        """The same in one map, with the distances of its pixels and rows."""
        b, (pixel, line) = self.b, steps
        if flat:
            return b.mul(column, pixel)
        width = shape_of(self.layer.out)[3]
        if line == pixel * width:
            return b.mul(b.add(b.mul(row, width), column), pixel)
        return b.add(b.mul(row, line), b.mul(column, pixel))

    @property
    def lies_alike(self) -> bool:
        """Whether the residual, if there is one, has the distances of the output."""
        return self.other_steps == self.steps

    def moved(self, place: Place, *, pixels: Index = 0, channels: Index = 0) -> Place:
        """The place of an output some pixels of a row behind another one, or some channels."""
        b = self.b

        def behind(start: Index, pixel: int) -> Index:
            return b.add(b.add(start, b.mul(pixels, pixel)), b.mul(channels, self.apart))

        own = behind(place.own, self.steps[0])
        return Place(own, own if self.lies_alike else behind(place.other, self.other_steps[0]))

    def store(self, kept: Sequence[SSAValue], scales: SSAValue, place: Place, filters: int) -> None:
        """Requantise and store the sums of some filters, of neighbouring pixels from a place on."""
        first = None if filters == FOUR else filters
        for number, sums in enumerate(kept):
            at = self.moved(place, pixels=number)
            self.store_four(self.summed(sums, scales, at, first), at.own, first)

    def store_four(self, numbers: SSAValue, at: Index, first: int | None) -> None:
        """Round and store four floats; an addition rounds them to what a store saturates."""
        b, near = self.b, near_halves(self.ends.largest, self.ends.point)
        whole = self.ends.bounds == limits_of(element_of(self.memory))
        if near is not None and near.point == 0 and whole:
            found = b.insert(mve.AddScalarOp(numbers, b.real(float(near.addend))), "near").result
            b.insert(mve.StoreOp(found, self.memory, b.value(at), first, saturated=True))
            return
        b.insert(mve.StoreOp(self.bounded(numbers), self.memory, b.value(at), first))
