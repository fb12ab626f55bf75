"""Kernel rows of one channel for both units: how their weights are stored, and their products.

With dual multiply-accumulates, a row is split into words of two halves (`row_plan.py`). Without
them, each element is multiplied with the weight of each filter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_passes.lowering.kernels.unit import CROWDED, ByteUnit, DualUnit
from npu_passes.support.integers import widened, without
from npu_passes.support.loop_builder import LoopBuilder
from npu_plans.kernels.packing import PAIR, blocks_of, pairs
from npu_plans.kernels.row_plan import (
    QUAD,
    Pixel,
    Product,
    WeightWord,
    Word,
    plan_row,
    weight_words,
)


def pack_rows(weights: NDArray[np.int8], dilation: int = 1) -> NDArray[np.int32]:
    """Pack weights [filters, channels, rows, taps] as words, one block of filters after the other.

    The words of a block have the order [channels, rows, words, filters]. `dilation`: that of the
    columns.
    """
    zero = np.zeros_like(weights[..., 0])
    words = [
        pairs(weights[..., low], zero if high is None else weights[..., high])
        for low, high in weight_words(weights.shape[-1], dilation)
    ]
    return in_blocks(np.stack(words, axis=-1))


def in_blocks(weights: NDArray[Any]) -> NDArray[Any]:
    """Reorder [filters, channels, rows, elements] block by block, with the filters innermost."""
    blocks = [weights[first : first + count] for first, count in blocks_of(len(weights))]
    return np.concatenate([block.transpose(1, 2, 3, 0).reshape(-1) for block in blocks])


STRAIGHT = 12
"""The most kernel rows in straight-line code, unless flash is short."""


@dataclass(frozen=True)
class Views:
    """Views of kernel rows: `patch` of the input, from element `origin` of a row on, and `taps`."""

    patch: SSAValue
    origin: int
    taps: SSAValue


@dataclass(frozen=True)
class RowPlan:
    """Which elements of an input row, `origin` to `end`, a kernel row reads for some pixels.

    `steps` are the weight words in order, with their products; empty for single bytes.
    """

    pixels: Sequence[Pixel]
    steps: Sequence[WeightWord]
    origin: int
    end: int


class Rows(ABC):
    """Builds kernel rows for one unit; `words`: table elements per kernel row and filter."""

    words: int
    straight: int
    """The most kernel rows in straight-line code."""

    @abstractmethod
    def packed(self, weights: NDArray[np.int8]) -> NDArray[Any]:
        """The weights [filters, channels, rows, taps] in the order in which they are read."""

    @abstractmethod
    def plan(self, pixels: Sequence[Pixel], first: int, last: int) -> RowPlan:
        """The plan of a row for some pixels; words may be loaded at elements `first` to `last`."""

    @abstractmethod
    def row(
        self,
        views: Views,
        place: int,
        weights: int,
        plan: RowPlan,
        sums: Sequence[SSAValue],
        *,
        less_zero: bool,
        in_place: bool,
    ) -> Sequence[SSAValue]:
        """Add one kernel row to the sums.

        It starts at element `place` of the input view and element `weights` of the weight view.
        `less_zero` subtracts the zero point from each element. `in_place`: many sums stay in their
        registers, as a loop over channels carries them, or as there are many kernel rows or words.
        """


class ByteRows(Rows):
    """One byte at a time; rows are not unrolled, as C compilers would load all weights first.

    `step`: bytes from an element of a row to the next.
    """

    straight = 1

    def __init__(self, b: LoopBuilder, unit: ByteUnit, taps: int, step: int) -> None:
        self.b, self.unit, self.words, self.step = b, unit, taps, step

    def packed(self, weights: NDArray[np.int8]) -> NDArray[Any]:
        """See `Rows`."""
        return in_blocks(weights)

    def plan(self, pixels: Sequence[Pixel], first: int, last: int) -> RowPlan:
        """See `Rows`."""
        elements = [pixel.element(tap) for pixel in pixels for tap in range(self.words)]
        read = [element for element in elements if element is not None]
        return RowPlan(pixels, (), min(read, default=0), max(read, default=-1) + 1)

    def row(
        self,
        views: Views,
        place: int,
        weights: int,
        plan: RowPlan,
        sums: Sequence[SSAValue],
        *,
        less_zero: bool,
        in_place: bool,
    ) -> Sequence[SSAValue]:
        """See `Rows`."""
        b, found = self.b, list(sums)
        count = len(sums) // len(plan.pixels)
        values: dict[int, SSAValue] = {}
        for tap in range(self.words):
            wanted = [(p, pixel.element(tap)) for p, pixel in enumerate(plan.pixels)]
            users = [(p, element) for p, element in wanted if element is not None]
            for _, element in users:
                if element not in values:
                    at = place + (element - views.origin) * self.step
                    value = widened(b, b.load(views.patch, [at], "x"), "x")
                    values[element] = (
                        without(b, value, self.unit.zero_point) if less_zero else value
                    )
            for f in range(count if users else 0):
                loaded = b.load(views.taps, [weights + tap * count + f], "w")
                weight = widened(b, loaded, "w")
                for p, element in users:
                    here = p * count + f
                    found[here] = b.mac(found[here], values[element], weight)
            if len(sums) >= CROWDED:
                b.insert(dsp.KeepOrderOp(found))
        return found


class DualRows(Rows):
    """Two products at a time, by dual multiply-accumulates."""

    def __init__(self, b: LoopBuilder, unit: DualUnit, taps: int, dilation: int) -> None:
        self.b, self.unit, self.taps, self.dilation = b, unit, taps, dilation
        self.straight = 1 if unit.form == "narrow" else STRAIGHT
        self.words = len(weight_words(taps, dilation))

    def packed(self, weights: NDArray[np.int8]) -> NDArray[Any]:
        """See `Rows`."""
        return pack_rows(weights, self.dilation)

    def plan(self, pixels: Sequence[Pixel], first: int, last: int) -> RowPlan:
        """See `Rows`."""
        steps = plan_row(self.taps, pixels, first, last)
        assert steps is not None  # a row has at least one word
        starts = [product.word.start for step in steps for product in step.products]
        return RowPlan(pixels, steps, min(starts, default=0), max(starts, default=-QUAD) + QUAD)

    def row(
        self,
        views: Views,
        place: int,
        weights: int,
        plan: RowPlan,
        sums: Sequence[SSAValue],
        *,
        less_zero: bool,
        in_place: bool,
    ) -> Sequence[SSAValue]:
        """See `Rows`."""
        b, unit, found = self.b, self.unit, list(sums)
        count = len(sums) // len(plan.pixels)
        crowded = len(sums) >= CROWDED or len(plan.pixels) > PAIR
        values: dict[Word, SSAValue] = {}
        ahead: dict[int, SSAValue] = {}
        for step in plan.steps:
            used = {product.word for product in step.products}
            if crowded:  # drop what this step does not use: it would take a register
                values = {word: value for word, value in values.items() if word in used}
            for product in step.products:
                if product.word not in values:
                    at = place + product.word.start - views.origin
                    loaded = unit.word(views.patch, at)
                    values[product.word] = unit.halves(loaded, product.word.half, less_zero)
            if crowded:
                b.insert(dsp.KeepOrderOp())
            for low in range(0, count, dsp.PAIR):
                group = range(low, min(low + dsp.PAIR, count))
                loaded = self.weights(views.taps, weights, step.weight, group, count, ahead)
                for f, weight in zip(group, loaded, strict=True):
                    for product in step.products:
                        here = product.pixel * count + f
                        value, total = values[product.word], found[here]
                        op = product_of(value, weight, total, product, crowded and in_place)
                        found[here] = b.insert(op, "acc").result
                if crowded:
                    b.insert(dsp.KeepOrderOp())
        return found

    def weights(
        self,
        taps: SSAValue,
        first: int,
        number: int,
        group: range,
        count: int,
        ahead: dict[int, SSAValue],
    ) -> list[SSAValue]:
        """Word `number` of a kernel row for a group of the `count` filters of a block.

        Of a filter by itself, the next word is loaded, too, and waits in `ahead`.
        """
        if count > 1:
            return self.unit.loaded(taps, first + number * count + group.start, len(group))
        if number not in ahead:
            words = min(dsp.PAIR, self.words - number)
            ahead.update(enumerate(self.unit.loaded(taps, first + number, words), number))
        return [ahead[number]]


def product_of(
    value: SSAValue, weight: SSAValue, total: SSAValue, product: Product, in_place: bool
) -> dsp.SmladOp | dsp.SmlaOp:
    """One product, or two with a dual multiply-accumulate, added to a sum."""
    if product.halves:
        return dsp.SmlaOp(value, weight, total, product.halves)
    return dsp.SmladOp(value, weight, total, in_place=in_place)
