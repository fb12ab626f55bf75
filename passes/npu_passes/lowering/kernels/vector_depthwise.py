"""Depthwise convolutions of bytes on a vector unit: eight channels at once, channels last.

    %x = mve.load %ifm[%at] : memref<2048xi8, #npu.sram> -> vector<8xi16>
    %w = mve.load %taps[%c] : memref<288xi8, #npu.flash> -> vector<8xi16>
    %p = mve.mul %x, %w : vector<8xi16>

A product of two bytes fits 16 bits, and so does the sum of the products of some taps if the
magnitudes of their weights add up to less than 256. The taps are so put into groups, which hold for
all channels; a group is summed up in 16 bits and then added to words (`mve.widen`): one vector of
the even channels, one of the odd ones. The zero point is folded into the first values. The weights
lie as [eight channels, kernel y, kernel x, channel of the eight], with zeros behind the last one.

If a channel has several filters, eight channels are multiplied by the first one of each, then by
the second ones, and so on. Outputs of neighbouring lanes then lie apart, so they are scattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer, wrapped
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.lowering.kernels.vector_starts import Classes, Starts
from npu_passes.lowering.kernels.walk import each_row, each_strip
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.packing import PAIR, QUAD
from npu_plans.kernels.patch_plan import FARTHEST
from npu_plans.kernels.vector_plan import Strip

EIGHT = 8
"""Channels in a vector."""
LARGEST = 255
"""The most that the magnitudes of a group's weights add up to: 128 * 255 is below 2^15."""
STRAIGHT = 25
"""The most taps in straight-line code."""
FEW = 9
"""The most taps with which half of a vector takes fewer instructions than words of channels."""


def groups_of(weights: NDArray[np.integer[Any]]) -> list[list[int]]:
    """The taps of each group, for weights [taps, channels]; a tap goes into the first that fits."""
    found: list[tuple[list[int], NDArray[np.int64]]] = []
    for tap, row in enumerate(np.abs(weights.astype(np.int64))):
        for number, (taps, total) in enumerate(found):
            if (total + row).max() <= LARGEST:
                found[number] = ([*taps, tap], total + row)
                break
        else:
            found.append(([tap], row))
    return [taps for taps, _ in found]


def in_eights(values: NDArray[np.generic], multiplier: int) -> NDArray[np.generic]:
    """Values [..., filters] in the order of vectors; a channel has `multiplier` filters.

    For each eight channels lie those of their first filters, of their second ones, and so on. What
    the last channels lack of eight is 0.
    """
    shape, channels = values.shape[:-1], values.shape[-1] // multiplier
    room = np.zeros((*shape, -(-channels // EIGHT) * EIGHT, multiplier), values.dtype)
    room[..., :channels, :] = values.reshape(*shape, channels, multiplier)
    eights = np.swapaxes(room.reshape(*shape, -1, EIGHT, multiplier), -1, -2)
    return np.ascontiguousarray(eights).reshape(*shape, -1)


def in_halves(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Values [..., lanes of vectors], eight by eight the even ones before the odd ones."""
    pairs = values.reshape(*values.shape[:-1], -1, EIGHT // 2, 2)
    return np.ascontiguousarray(np.swapaxes(pairs, -1, -2)).reshape(values.shape)


class VectorDepthwiseKernel:
    """Builds the loops of a depthwise convolution."""

    def __init__(self, layer: Layer, map: SSAValue, grid: Grid, outputs: VectorOutputs) -> None:
        self.layer, self.grid, self.outputs = layer, grid, outputs
        self.signed = SignedBytes(layer, map)
        self.b: LoopBuilder = layer.b
        self.rows, self.columns, self.channels = grid.rows, grid.columns, grid.channels
        self.multiplier = layer.filters_of_each(self.channels)
        self.scattered = ChannelOutputs(layer, outputs)
        weights = layer.weights.reshape(len(layer.bias), -1).transpose()
        self.groups = groups_of(weights)
        rows = weights.reshape(self.rows.kernel, self.columns.kernel, -1)
        self.row_groups = groups_of(np.abs(rows.astype(np.int64)).max(axis=0))
        ordered = in_eights(weights, self.multiplier)
        self.pitch = ordered.shape[-1]
        packed = ordered.reshape(self.size, -1, EIGHT).transpose(1, 0, 2)
        self.taps = layer.table("taps", packed.ravel())
        self.patch = layer.vector(map)
        self.starts = Starts(layer, Classes(self.rows), Classes(self.columns))
        first = np.stack([layer.bias]) if self.starts.is_plain else self.starts.values
        if self.starts.is_plain:
            first = first - layer.zero_point * weights.astype(np.int64).sum(axis=0)
        starts = in_halves(in_eights(first, self.multiplier)).astype(np.int64)
        self.first = layer.table("starts", wrapped(starts.ravel()))

    @cached_property
    def scales(self) -> SSAValue:
        """The table of scales, the even channels of eight before the odd ones."""
        scales = np.array(self.outputs.scaling.scales, np.float32)
        return self.layer.table("scales", in_halves(in_eights(scales, self.multiplier)))

    @staticmethod
    def fits(grid: Grid, multiplier: int, apart: int) -> bool:
        """Whether the kernel is for a layer with `multiplier` filters a channel.

        Lanes are `apart` in the output; scattered ones must lie within reach. With several filters,
        four channels are left to words if their taps are many, but straight code: half of the lanes
        would be idle.
        """
        taps = grid.rows.kernel * grid.columns.kernel
        words = grid.channels == QUAD and FEW < taps <= STRAIGHT
        near = EIGHT * apart <= FARTHEST
        return near and not (multiplier > 1 and words)

    def build(self) -> None:
        """Build the loops over the outputs."""
        columns = interior(self.columns, None)

        def one_row(row: Index, inside: bool) -> tuple[()]:
            return each_strip(self.b, columns, PAIR, partial(self.strip, row, inside))

        each_row(self.b, interior(self.rows, None), one_row, once=self.small)

    @property
    def small(self) -> bool:
        """Whether flash is short."""
        return self.layer.unit.form == "narrow"

    def strip(self, row: Index, inside: bool, column: Index, width: int) -> None:
        """Compute some neighbouring outputs of a row, for all channels.

        `inside`: no padding cuts the rows of their windows. It cuts columns if they are known.
        """
        b, whole = self.b, self.channels // EIGHT * EIGHT
        known = column if isinstance(column, int) else None
        strip = Strip.of(self.columns, known, range(width))
        places = [None if known is None else known + pixel for pixel in range(width)]
        y = window_start(b, self.rows, row)
        x = window_start(b, self.columns, column) if known is None else strip.origin
        base = b.add(b.mul(y, self.grid.line), b.mul(x, self.grid.pixel))

        def block(channel: Index, number: Index, first: int | None) -> None:
            lanes = b.add(b.mul(channel, self.multiplier), b.mul(number, EIGHT))
            sums = self.first_sums(None if inside else row, places, lanes)
            at, keeps = b.add(base, channel), first is None and self.pitch > EIGHT
            if strip.reach and inside and self.size <= STRAIGHT:
                taps = b.mul(lanes, self.size)
                sums = self.add(strip, at, taps, self.groups, sums, first, keeps=keeps)
            elif strip.reach:
                sums = self.looped(strip, row, (at, lanes), sums, first)
            filter = b.add(b.mul(channel, self.multiplier), number)
            self.put(sums, (lanes, filter), row, column, first)

        def blocks(channel: Index, first: int | None) -> None:
            def one(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
                block(channel, number, first)
                return ()

            b.loop(0, self.multiplier, one, hint="filter")

        def eight(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
            blocks(channel, None)
            return ()

        b.loop(0, whole, eight, step=EIGHT, hint="c")
        if whole < self.channels:
            blocks(whole, self.channels - whole)

    @property
    def size(self) -> int:
        """The taps of a channel."""
        return self.rows.kernel * self.columns.kernel

    def first_sums(
        self, row: Index | None, columns: Sequence[int | None], lanes: Index
    ) -> list[SSAValue]:
        """The first values of eight channels of each output: of even ones, then of odd ones.

        A row or column is None if padding cuts no window there. `lanes`: where eight values begin.
        """
        b, rows = self.b, self.starts.rows
        places: dict[Index, list[SSAValue]] = {}
        sums: list[SSAValue] = []
        for column in columns:
            number: Index = 0
            if not self.starts.is_plain:
                across = self.starts.columns
                number = b.mul(
                    rows.number(b, rows.inside[0] if row is None else row), len(across.positions)
                )
                inside = across.inside[0] if column is None else column
                number = b.add(number, across.number(b, inside))
            if number not in places:
                place = b.add(b.mul(number, self.pitch), lanes)
                halves = (0, EIGHT // 2)
                places[number] = [self.words(self.first, b.add(place, half)) for half in halves]
            sums += places[number]
        return sums

    def words(self, table: SSAValue, at: Index) -> SSAValue:
        """Four first values."""
        return self.b.insert(mve.LoadOp(table, self.b.value(at), mve.I32X4), "acc").result

    def elements(self, at: Index, first: int | None) -> SSAValue:
        """Eight channels of a pixel."""
        load = mve.LoadOp(self.patch, self.b.value(at), mve.I16X8, first)
        return self.signed.halves(self.b.insert(load, "x").result)

    def weights(self, at: Index) -> SSAValue:
        """The weights of eight channels."""
        return self.b.insert(mve.LoadOp(self.taps, self.b.value(at), mve.I16X8), "w").result

    def added(self, sums: Sequence[SSAValue], part: SSAValue) -> list[SSAValue]:
        """The sums of even and odd channels plus eight halves."""
        b = self.b
        halves = [b.insert(mve.WidenOp(part, top=top)).result for top in (False, True)]
        pairs = zip(sums, halves, strict=True)
        return [b.insert(mve.AddOp(total, each), "acc").result for total, each in pairs]

    def add(
        self,
        strip: Strip,
        base: Index,
        taps: Index,
        groups: Sequence[Sequence[int]],
        sums: Sequence[SSAValue],
        first: int | None,
        *,
        keeps: bool = False,
    ) -> list[SSAValue]:
        """Add the products of groups of taps, which count from the first of some kernel rows.

        `base` is the place in the map of the strip in that row, `taps` that of its first weights.
        `keeps`: a C compiler loads the operands of a tap behind those of the tap before, as those
        of all taps do not fit into the registers. So what two neighbouring taps read is loaded once
        here. With more taps than straight code has, a C compiler does better without that.
        """
        b, found = self.b, list(sums)
        for group in groups:
            parts: list[SSAValue | None] = [None] * len(strip.starts)
            near: dict[int, SSAValue] = {}
            for ky, kx in (divmod(tap, self.columns.kernel) for tap in group):
                users = [p for p, (low, high) in enumerate(strip.taps) if low <= kx < high]
                if not users:
                    continue
                if keeps:
                    b.insert(dsp.KeepOrderOp.create())
                w = self.weights(b.add(taps, (ky * self.columns.kernel + kx) * EIGHT))
                before, near = near if self.size <= STRAIGHT else {}, {}
                for p in users:
                    place = strip.starts[p] + kx * self.columns.dilation
                    step = ky * self.grid.row_step + place * self.grid.pixel
                    x = before.get(step) or self.elements(b.add(base, step), first)
                    near[step], part = x, parts[p]
                    made = b.insert(mve.MulOp(x, w), "p").result
                    parts[p] = made if part is None else b.insert(mve.AddOp(part, made)).result
            for p, part in enumerate(parts):
                if part is not None:
                    found[2 * p : 2 * p + 2] = self.added(found[2 * p : 2 * p + 2], part)
        return found

    def looped(
        self,
        strip: Strip,
        row: Index,
        starts: tuple[Index, Index],
        sums: Sequence[SSAValue],
        first: int | None,
    ) -> Sequence[SSAValue]:
        """Add the taps that lie on the map, one kernel row after the other.

        `starts`: the place of the strip in the map, and where its filters begin in tables.
        """
        b, (base, lanes) = self.b, starts
        width, all_taps = self.columns.kernel * EIGHT, b.mul(lanes, self.size)

        def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = b.add(base, b.mul(ky, self.grid.row_step))
            taps = b.add(all_taps, b.mul(ky, width))
            return self.add(strip, at, taps, self.row_groups, sums, first)

        rows = tap_range(b, self.rows, row)
        return b.loop(*rows, one_row, sums, hint="ky", carry="acc")

    def put(
        self,
        sums: Sequence[SSAValue],
        starts: tuple[Index, Index],
        row: Index,
        column: Index,
        first: int | None,
    ) -> None:
        """Requantise and store the sums of some pixels.

        `starts`: where their filters begin in tables, and the first channel of the output.
        """
        b, (pixel, line), (lanes, filter) = self.b, self.outputs.steps, starts
        step = self.multiplier * self.outputs.apart
        place = b.add(b.mul(row, line), b.mul(filter, self.outputs.apart))
        for p in range(len(sums) // 2):
            products: list[SSAValue] = []
            for half in (0, 1):
                scales = self.outputs.splatted
                if scales is None:
                    at = b.value(b.add(lanes, half * EIGHT // 2))
                    scales = b.insert(mve.LoadOp(self.scales, at, mve.F32X4), "scales").result
                products.append(self.outputs.products(sums[2 * p + half], scales))
            at = b.add(place, b.mul(b.add(column, p), pixel))
            if step > 1:
                steps = range(0, EIGHT * step, step)
                mask = mve.ALL_LANES if first is None else (1 << first) - 1
                self.scattered.store(products, at, steps, mask)
                continue
            found = self.scattered.halves(*products)
            b.insert(mve.StoreOp(found, self.outputs.memory, b.value(at), first, saturated=True))
