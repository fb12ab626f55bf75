"""Folds the outputs of a kernel with vectors into the overlapping windows of a max pool.

    %q = mve.low_halves %first, %second : vector<4xf32> -> vector<8xi16>     // eight filters
    %best = mve.gather %ofm[%at] at %turns reach 8 signed : memref<3600xi8, #npu.sram>
    %more = mve.max %best, %q : vector<8xi16>
    mve.scatter %more, %ofm[%at] at %turns reach 8 saturated : memref<3600xi8, #npu.sram>

The pooled map holds the maxima so far. `folding.py` does the same output by output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_passes.lowering.kernels.byte_stores import ByteStores
from npu_passes.lowering.kernels.folded_pairs import WindowPair, is_behind, raise_halves
from npu_passes.lowering.kernels.vector_outputs import FOUR, VectorOutputs
from npu_passes.lowering.pool_window import (
    alike,
    few_windows_with,
    held_by_window,
    windows_around,
    windows_with,
)
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.packing import PAIR
from npu_plans.kernels.patch_plan import FARTHEST

Block: TypeAlias = tuple[Sequence[SSAValue], Index, int, SSAValue]
"""What is kept of some pixels, the first filter, the number of filters, and their scales."""
Pixels: TypeAlias = dict[Index, list[list["Folded"]]]
"""The outputs of each of some neighbouring pixels, by the column of the first one."""


@dataclass(frozen=True)
class Folded:
    """A vector of outputs of a pixel: the first filter, and how many lanes count; None: all.

    Eight outputs are halves; two groups of four filters take turns in the lanes.
    """

    value: SSAValue
    filter: Index
    first: int | None = None
    eight: bool = False


class FoldedOutputs(VectorOutputs):
    """Folds each vector of outputs into the windows of a max pool that hold it (`folding.py`).

    Eight filters are folded at once if both groups of four are at hand. The maxima then take 4
    instructions in place of 6, and the outputs half of the registers.
    """

    @cached_property
    def bytes(self) -> ByteStores:
        """What makes eight outputs halves."""
        return ByteStores(self.b, self.layer.op, self.memory, self.ends, self.splat)

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
        """See `VectorOutputs`; outputs that are folded are never `flat`."""
        scales = self.scales(filter, filters) if scales is None else scales
        self.put_all([(column, (kept, filter, filters, scales))], row)

    def put_all(self, blocks: Iterable[tuple[Index, Block]], row: Index) -> None:
        """Store blocks of filters of neighbouring pixels, each with the column of the first one.

        The windows that hold a pixel are found once for all of its blocks.
        """
        pixels: Pixels = {}
        single: dict[Index, Block] = {}
        pairs: dict[Index, WindowPair | None] = {}
        for column, block in blocks:
            if column not in pairs:
                pairs[column] = self.pair(column, len(block[0]))
            if (pair := pairs[column]) is not None and block[2] == FOUR:
                kept, filter, _, scales = block
                best = pair.greatest(kept)
                pair.take([self.products(sums, scales) for sums in best], filter)
                continue
            before = single.pop(column, None)
            if before is not None and are_eight(block, before):
                self.take_eight(pixels, column, before, block)
                continue
            if before is not None:
                self.take_four(pixels, column, before)
            single[column] = block
        for column, block in single.items():
            self.take_four(pixels, column, block)
        for column, values in pixels.items():
            self.fold(values, row, column)
        self.put_pairs([pair for pair in pairs.values() if pair is not None and pair.raises], row)

    def alike(self, columns: range, count: int) -> Sequence[range]:
        """See `VectorOutputs`."""
        assert self.layer.folding is not None
        return alike(self.layer.folding.axes[1], columns, count)

    def pair(self, column: Index, pixels: int) -> WindowPair | None:
        """The two windows that hold some of two neighbouring pixels, if there are two."""
        folding = self.layer.folding
        assert folding is not None
        if pixels != PAIR or self.steps[0] + FOUR > FARTHEST:
            return None
        known = windows_around(self.b, folding.axes[1], column, pixels)
        return WindowPair.of(self.b, self.bytes, self.steps[0], known)

    def window_pair(self, last: Sequence[int], first: int) -> WindowPair | None:
        """The window of a row's `last` pixels, and that of its `first` one, if each has one."""
        folding = self.layer.folding
        assert folding is not None
        axis, step = folding.axes[1], self.steps[0]
        found = held_by_window([axis.holders(each) for each in (*last, first)])
        found = {window: pixels for window, pixels in found.items() if pixels}
        apart = [len(last)], list(range(len(last)))
        if axis.dilation != 1 or tuple(found.values()) != apart:
            return None
        low, high = (window * step for window in (min(found), max(found)))
        near = high - low + FOUR <= FARTHEST
        return WindowPair(self.b, self.bytes, low, apart, high - low) if near else None

    def put_ends(self, pair: WindowPair, blocks: Iterable[Block], row: Index) -> None:
        """Store blocks of four filters of the pixels of a pair of windows."""
        for kept, filter, _, scales in blocks:
            pair.take([self.products(sums, scales) for sums in pair.greatest(kept)], filter)
        self.put_pairs([pair], row)

    def put_pairs(self, pairs: Sequence[WindowPair], row: Index) -> None:
        """Raise the maxima of pairs of windows in all rows of windows that hold a pixel."""
        b, folding = self.b, self.layer.folding
        assert folding is not None

        targets = [pair.targets() for pair in pairs]

        def one_row(py: Index) -> tuple[()]:
            for pair, each in zip(pairs, targets, strict=True):
                pair.put(b.mul(py, self.steps[1]), each)
            return ()

        if pairs:
            few_windows_with(b, folding.axes[0], row, one_row, "py")

    def take_four(self, pixels: Pixels, column: Index, block: Block) -> None:
        """Requantise a block of filters."""
        kept, filter, filters, scales = block
        first = None if filters == FOUR else filters
        for sums, found in zip(kept, pixels.setdefault(column, [[] for _ in kept]), strict=True):
            value = self.bounded(self.products(sums, scales))
            found.append(Folded(value, filter, first))

    def take_eight(self, pixels: Pixels, column: Index, one: Block, other: Block) -> None:
        """Requantise two blocks of four filters."""
        places = pixels.setdefault(column, [[] for _ in one[0]])
        for *both, found in zip(one[0], other[0], places, strict=True):
            fours = [self.products(sums, each[3]) for sums, each in zip(both, (one, other))]
            found.append(Folded(self.bytes.halves(*fours), one[1], eight=True))

    def fold(self, pixels: Sequence[Sequence[Folded]], row: Index, column: Index) -> None:
        """Raise the maxima of all windows with some pixels to their values.

        Pixels of a window are compared first if the windows of all of them are known.
        """
        b, folding = self.b, self.layer.folding
        assert folding is not None
        rows, columns = folding.axes
        known = windows_around(b, columns, column, len(pixels))
        if known is None:
            for number, values in enumerate(pixels):
                self.fold_one(values, row, b.add(column, number))
            return
        moved = known.place(b, self.steps[0])
        found = {
            window: self.best_of([pixels[number] for number in numbers])
            for window, numbers in held_by_window(known.held).items()
        }

        def one_row(py: Index) -> tuple[()]:
            for window, values in found.items():
                self.raise_all(values, py, b.add(moved, window * self.steps[0]))
            return ()

        windows_with(b, rows, row, one_row, "py")

    def fold_one(self, values: Sequence[Folded], row: Index, column: Index) -> None:
        """Raise the maxima of all windows with a pixel."""
        b, folding = self.b, self.layer.folding
        assert folding is not None
        rows, columns = folding.axes

        def one(py: Index, px: Index) -> tuple[()]:
            self.raise_all(values, py, b.mul(px, self.steps[0]))
            return ()

        def one_row(py: Index) -> tuple[()]:
            windows_with(b, columns, column, lambda px: one(py, px), "px")
            return ()

        windows_with(b, rows, row, one_row, "py")

    def best_of(self, pixels: Sequence[Sequence[Folded]]) -> list[Folded]:
        """The maxima of some pixels, vector by vector; none of no pixel."""
        found: list[Folded] = []
        for first, *others in zip(*pixels, strict=True):
            (value,) = self.greatest([first.value], [each.value for each in others])
            found.append(replace(first, value=value))
        return found

    def raise_all(self, values: Sequence[Folded], py: Index, place: Index) -> None:
        """Raise the maxima of a window of row `py`, whose place in that row is known."""
        b = self.b
        start = b.add(b.mul(py, self.steps[1]), place)
        for each in values:
            self.raise_to(each, b.value(b.add(start, each.filter)))

    def raise_to(self, found: Folded, place: SSAValue) -> None:
        """Raise the maxima at a place to the values of a vector."""
        b, memory = self.b, (self.memory, place)
        if found.eight:
            turns = [group + lane for lane in range(FOUR) for group in (0, FOUR)]
            raise_halves(self.bytes, found.value, place, turns)
            return
        best = b.insert(mve.LoadOp(*memory, mve.I32X4, found.first), "best").result
        best = b.insert(mve.MaxOp(best, found.value), "best").result
        b.insert(mve.StoreOp(best, *memory, found.first))


def are_eight(block: Block, before: Block) -> bool:
    """Whether a block has the four filters behind the four of another one."""
    (_, filter, filters, _), (_, start, count, _) = block, before
    return filters == count == FOUR and is_behind(filter, start)
