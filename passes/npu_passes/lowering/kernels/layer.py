"""The parts that all kernels share: a layer's constants, its tables, and storing its sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from npu_dialect import dsp
from npu_dialect.attributes import RUNS
from npu_dialect.npu import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.lowering.epilogue import Epilogue
from npu_passes.lowering.kernels.constants import farthest_input
from npu_passes.lowering.kernels.folding import Folding
from npu_passes.lowering.kernels.unit import DualUnit, Unit
from npu_passes.support.integers import constant_table, store
from npu_passes.support.loop_builder import (
    Body,
    Index,
    LoopBuilder,
    is_dense,
    is_gapless,
    memref_type,
)
from npu_plans.kernels.conv_plan import Span, interior, kernel_rows, whole_rows
from npu_plans.kernels.packing import FILTERS, QUAD
from npu_plans.kernels.rescaling import largest_sums

HALF_BITS = 16
KERNEL_AXES = 4
"""The axes of the weights of a convolution: filters, channels, rows and columns."""
SIGNS = -(2**31) | 0x00808080
"""The topmost bit of each byte of a word; flipping them adds 128 modulo 256 to each byte."""


@dataclass(frozen=True)
class Maps:
    """The maps of a layer, or of one image of it; `residual` is that of a fused addition."""

    input: SSAValue
    out: SSAValue
    residual: SSAValue | None = None

    def image(self, b: LoopBuilder, number: Index) -> Maps:
        """The maps of one image of a batch."""
        out = image_of(b, self.out, number)
        residual = out if self.residual is self.out else self.residual
        if residual is not None and residual is not out:
            residual = image_of(b, residual, number)
        return Maps(image_of(b, self.input, number), out, residual)


def image_of(b: LoopBuilder, map: SSAValue, number: Index) -> SSAValue:
    """One image of a map."""
    sizes = [1, *shape_of(map)[1:]]
    return b.window(map, [number, 0, 0, 0], sizes, range(4), map.name_hint)


class Layer:
    """A layer with constant i8 weights [O, ...] and a constant bias or none.

    With `axes`, its outputs are folded into the overlapping windows of a max pool.
    """

    def __init__(
        self,
        b: LoopBuilder,
        op: Conv2dOp | FullyConnectedOp,
        maps: Maps,
        unit: Unit,
        weights: NDArray[np.integer[Any]],
        bias: NDArray[np.integer[Any]] | None,
        axes: tuple[Axis, Axis] | None = None,
    ) -> None:
        self.b, self.op, self.unit = b, op, unit
        self.out, self.residual = maps.out, maps.residual
        self.weights = weights.astype(np.int8)
        self.bias = np.zeros(weights.shape[0], np.int64) if bias is None else bias.astype(np.int64)
        self.zero_point = int_values(op.zero_points)[0] if op.zero_points is not None else 0
        largest = (
            None if b.has_floats else largest_sums(self.weights, self.bias, farthest_input(op))
        )
        self.epilogue = Epilogue(b, op, self.out, largest)
        self.pixels, self.residual_pixels = self.out, self.residual
        self.folding = None if axes is None else Folding(b, self.out, axes, self.epilogue)
        self.words = self.vector(self.out) if self.stores_words else None
        self.surplus: NDArray[np.int64] | None = None
        """What the unit adds to the sum of each filter besides, in windows without padding."""
        self.joins_early = True
        """Whether bytes are joined two by two when they are requantised, which saves registers."""
        self.counted = self.weights
        """The weights that count in windows that padding does not cut."""

    def count_rows(self, rows: Axis) -> tuple[tuple[int, int], Span]:
        """Let only the kernel rows count that `kernel_rows` says.

        Returns their range, and the rows of outputs that padding does not cut then. A row that is
        computed once keeps the shorter code for border rows.
        """
        if RUNS.get(self.op) == 1:
            return (0, rows.kernel), interior(rows, None)
        low, high = kernel_rows(rows)
        if self.weights.ndim == KERNEL_AXES:
            self.counted = self.weights[:, :, low:high]
        return (low, high), whole_rows(rows)

    def filters_of_each(self, channels: int) -> int:
        """The filters that read one channel in a depthwise layer: neighbours in the output."""
        return len(self.bias) // channels

    def vector(self, map: SSAValue) -> SSAValue:
        """The memory of a map as a buffer of one axis."""
        if is_gapless(memref_type(map)):
            return self.b.flat(map, map.name_hint)
        return self.b.span(map, map.name_hint)

    def table(self, what: str, values: NDArray[Any]) -> SSAValue:
        """Make a constant table of i8 or i32; returns its buffer."""
        return constant_table(self.b, self.op, what, values)

    @property
    def folds(self) -> bool:
        """Whether the zero point is folded into the bias of windows without padding.

        A folded bias needs a second table. If flash is short, the zero point is subtracted from
        each byte instead, in all windows.
        """
        return self.zero_point == 0 or self.unit.form != "narrow"

    @cached_property
    def plain(self) -> SSAValue | None:
        """The table of biases; None if all are zero."""
        return self.table("biases", wrapped(self.bias)) if self.bias.any() else None

    @cached_property
    def folded(self) -> SSAValue | None:
        """The table of biases minus zero point * sum of weights, for windows without padding."""
        if self.zero_point == 0 and self.surplus is None:
            return self.plain
        return self.table("starts", wrapped(self.first_values))

    @property
    def first_values(self) -> NDArray[np.int64]:
        """The values of this table."""
        total = self.counted.reshape(len(self.bias), -1).astype(np.int64).sum(axis=1)
        surplus = 0 if self.surplus is None else self.surplus
        return self.bias - self.zero_point * total - surplus

    def biases(self, filter: Index, lanes: Sequence[int], *, folded: bool) -> list[SSAValue]:
        """First values of the sums of filters `filter + lane`, for each of `lanes`."""
        return self.loaded(self.folded if folded and self.folds else self.plain, filter, lanes)

    def loaded(self, table: SSAValue | None, filter: Index, lanes: Sequence[int]) -> list[SSAValue]:
        """Elements `filter + lane` of a table of first values, which is None if all are zero."""
        b = self.b
        if table is None:
            return [self.epilogue.zero()] * len(lanes)
        return [b.load(table, [b.add(filter, lane)], "bias") for lane in lanes]

    @property
    def has_even_pixels(self) -> bool:
        """Whether the pixels of the output and of the residual lie at equal distances.

        Those of a slice, such as a part of a concatenation, may not.
        """
        if self.folding is not None:
            return False
        stored = [self.out] if self.residual is None else [self.out, self.residual]
        return all(map(has_even_pixels, map(memref_type, stored)))

    @property
    def stores_words(self) -> bool:
        """Whether four channels of an output are stored together as a word.

        The output minus its zero point must have the range 0 to 255. Then adding the zero point
        takes one exclusive or for all four bytes if it is -128, and nothing if it is 0.
        """
        last = pixel_steps(memref_type(self.out)) is not None
        return last and self.joins_bytes

    @property
    def stores_rows(self) -> bool:
        """Whether four neighbouring outputs of a row are stored together as a word, as above."""
        type_ = memref_type(self.out)
        strides = type_.get_strides()
        beside = type_.get_num_dims() == KERNEL_AXES and strides is not None and strides[3] == 1
        return beside and self.joins_bytes

    @property
    def joins_bytes(self) -> bool:
        """Whether four outputs may be joined to a word; see `stores_words`."""
        plain = self.residual is None and self.folding is None
        return plain and isinstance(self.unit, DualUnit) and self.epilogue.fills_byte

    def put(
        self,
        sums: Sequence[SSAValue],
        filter: Index,
        row: Index,
        column: Index,
        lanes: Sequence[int],
        *,
        flat: bool = False,
    ) -> None:
        """Store the sums of neighbouring pixels, those of filters `filter + lane` for each pixel.

        `flat`: `column` counts the pixels of all rows.
        """
        b = self.b
        if self.folding is not None:
            for first in range(0, len(sums), len(lanes)):
                at = row, b.add(column, first // len(lanes))
                self.folding.put(sums[first : first + len(lanes)], filter, *at, lanes)
            return
        if self.words is not None and list(lanes) == list(range(QUAD)):
            bits = [8 * lane for lane in lanes]
            fours = [sums[first : first + QUAD] for first in range(0, len(sums), QUAD)]
            for pixel, four in enumerate(fours):
                words = [self.joined(four, filter, lanes, bits)]
                self.store_words(words, self.words, filter, row, b.add(column, pixel))
            return
        places = [divmod(index, len(lanes)) for index in range(len(sums))]
        channels = [b.add(filter, lanes[lane]) for _, lane in places]
        values = self.epilogue.stored(sums, channels) if self.op.pool is None else None
        for index, (total, channel) in enumerate(zip(sums, channels, strict=True)):
            x = b.add(column, places[index][0])
            at = self.place(channel, row, x, flat)
            if values is None:
                residual = self.residual_pixels if flat else self.residual
                value = self.epilogue(total, channel, at, residual)
            else:
                value = values[index]
            store(b, value, self.pixels if flat else self.out, at)

    def put_along(self, sums: Sequence[SSAValue], filter: Index, row: Index, column: Index) -> None:
        """Store the sums of neighbouring pixels of one filter, four of them as a word if it may."""
        if len(sums) != QUAD or not self.stores_rows:
            self.put(sums, filter, row, column, [0])
            return
        word = self.joined(sums, filter, [0] * QUAD, range(0, 8 * QUAD, 8))
        sizes = [1, 1, 1, QUAD]
        view = self.b.window(self.out, (0, filter, row, column), sizes, [3], "outputs")
        self.b.insert(dsp.StoreWordOp(self.with_zero(word), view, self.b.value(0)))

    def each_block(
        self, body: Callable[[Index, int], None], first: Index = 0, filters: int | None = None
    ) -> None:
        """Visit the blocks of some filters; `body` gets the first of a block, and their number."""
        b, filters = self.b, len(self.bias) if filters is None else filters
        whole = filters // FILTERS * FILTERS

        def one(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(b.add(first, filter), FILTERS)
            return ()

        b.loop(0, whole, one, step=FILTERS, hint="oc" if first == 0 else "o")
        if whole < filters:
            body(b.add(first, whole), filters - whole)

    def put_greatest(
        self,
        rows: tuple[Index, Index],
        one_row: Body,
        filter: Index,
        count: int,
        row: Index,
        column: Index,
    ) -> None:
        """Store a max-pooled output of `count` filters; `one_row` folds in a row of the window."""
        lowest = [self.epilogue.lowest()] * count
        found = self.b.loop(*rows, one_row, lowest, hint="wy", carry="best")
        self.put(found, filter, row, column, range(count))

    def best(self, best: Sequence[SSAValue], sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The maximum for each filter so far, with the sums of some more pixels.

        Requantisation is monotone, so it can come after the maximum.
        """
        count = len(best)
        for first in range(0, len(sums), count):
            pixel = sums[first : first + count]
            best = [self.b.maxf(new, old, "best") for old, new in zip(best, pixel, strict=True)]
        return best

    def joined(
        self, sums: Sequence[SSAValue], filter: Index, lanes: Sequence[int], bits: Sequence[int]
    ) -> SSAValue:
        """Sums of some filters, requantised to 0 .. 255, in one word.

        Each is shifted left by its number of `bits`: the first one by 0, and without a pool one of
        each two by 16 more than the other.
        """
        b, scaling = self.b, self.epilogue.scaling
        assert scaling is not None
        channels = [b.add(filter, lane) for lane in lanes]
        steps, found = bits, list[SSAValue]()
        if self.op.pool is not None:  # maxima are in the way of registers for two
            found = [scaling.byte(each, channel) for each, channel in zip(sums, channels)]
        elif self.joins_early:
            places = {bit: place for place, bit in enumerate(bits)}
            steps = [bit for bit in sorted(places) if bit < HALF_BITS]
            for bit in steps:
                low, high = places[bit], places[bit + HALF_BITS]
                two = (sums[low], sums[high]), (channels[low], channels[high])
                found.append(scaling.bytes(*two))
        else:
            found = scaling.pairs(sums, channels, less_zero=True)
        word = found[0]
        for byte, step in zip(found[1:], steps[1:], strict=True):
            word = self.beside(word, byte, step)
        return word

    def beside(self, word: SSAValue, other: SSAValue, step: int) -> SSAValue:
        """word | other << step, for two words whose bits do not collide."""
        moved = self.b.insert(arith.ShLIOp(other, self.b.integer(step))).result
        return self.b.insert(arith.OrIOp(word, moved), "word").result

    def store_words(
        self,
        words: Sequence[SSAValue],
        memory: SSAValue,
        filter: Index,
        row: Index,
        column: Index,
    ) -> None:
        """Store four channels of neighbouring outputs as a word each, with the zero point added.

        The outputs have one view, so a C compiler needs one pointer for all of them.
        """
        b = self.b
        pixel, line = pixel_steps(memref_type(self.out)) or (0, 0)
        width = shape_of(self.out)[3]
        if line == pixel * width:
            place = b.mul(b.add(b.mul(row, width), column), pixel)
        else:
            place = b.add(b.mul(row, line), b.mul(column, pixel))
        reach = (len(words) - 1) * pixel + QUAD
        view = b.window(memory, [b.add(place, filter)], [reach], [0], "outputs")
        for index, word in enumerate(words):
            b.insert(dsp.StoreWordOp(self.with_zero(word), view, b.value(index * pixel)))

    def with_zero(self, word: SSAValue) -> SSAValue:
        """Four bytes with the zero point of the output added to each."""
        scaling = self.epilogue.scaling
        if scaling is None or not scaling.zero_point:
            return word
        return self.b.insert(arith.XOrIOp(word, self.b.integer(SIGNS)), "word").result

    def place(self, channel: Index, row: Index, column: Index, flat: bool) -> tuple[Index, ...]:
        """The index of an output in the buffer; `flat`: in its view as [pixels, channels]."""
        if len(shape_of(self.out)) == 2:
            return (0, channel)
        return (column, channel) if flat else (0, channel, row, column)

    def flatten(self) -> None:
        """Make views of the output and the residual as [pixels, channels]."""
        if memref_type(self.out).get_num_dims() == 2:
            return
        self.pixels = self.b.pixels(self.out, self.out.name_hint)
        if self.residual is not None:
            same = self.residual is self.out
            self.residual_pixels = (
                self.pixels if same else self.b.pixels(self.residual, self.residual.name_hint)
            )


def has_even_pixels(type_: MemRefType[Attribute]) -> bool:
    """Whether all pixels of a map [N, C, H, W], of all rows, lie at equal distances."""
    strides = type_.get_strides()
    if strides is None or type_.get_num_dims() != 4 or None in strides:
        return is_dense(type_)
    return type_.get_shape()[2] == 1 or strides[2] == (strides[3] or 0) * type_.get_shape()[3]


def wrapped(values: NDArray[np.int64]) -> NDArray[np.int32]:
    """Integers modulo 2^32 as i32, as sums wrap around too."""
    return (values & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
