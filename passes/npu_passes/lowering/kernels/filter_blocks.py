"""Products of vectors with blocks of four filters, whose table has their biases and scales, too.

    %run = dsp.opaque %view : memref<80xi32, strided<[1], offset: ?>, #npu.flash>
    %a, %b = mve.mul_rows %v, %w by %run[%c4] rows 4 biased : ...
    %scales = mve.load %run[%c0] : ...

`npu_plans/kernels/row_blocks.py` says how the table lies. The vectors of two pixels stay in
registers if there are few; those of others are packed on the stack once for all filters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.kernels.layer import Layer, wrapped
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.lowering.kernels.vector_runs import part
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.gathers import BYTES, FOUR
from npu_plans.kernels.idle_lanes import constant, idle_words, is_worth_words, saved, weights_of
from npu_plans.kernels.row_blocks import WORD, WORDS, RowBlocks

Window: TypeAlias = Sequence[SSAValue]
"""The vectors of a window."""


@dataclass(frozen=True)
class Filters:
    """A block of up to four filters of a group: its place in a part of the table."""

    first: Index
    count: int
    run: SSAValue
    place: int


@dataclass(frozen=True)
class Side:
    """The vectors of one or two pixels as `mve.mul_rows` gets them."""

    vectors: Sequence[SSAValue]
    pixels: int
    packed: bool


class FilterBlocks:
    """Builds the sums of a layer whose `filters` of each group read windows of some vectors.

    `hides`: gcc knows nothing of the place of a block, though a loop changes it. Where much else
    needs registers it would step several pointers to its parts. `weights`: those of each filter in
    the order of its vectors, if they are not in that of the layer. `alike`: all windows have the
    same first values, so these are in the table. `shared`: how many windows, all in registers, are
    computed for how many sums, if that is known. Then idle lanes may hold the first values.
    `zeroed`: lanes of windows behind their bytes are zero, so rows may be shorter. `runs`: the runs
    of a row, and the words of the last vector of each.
    """

    def __init__(
        self,
        layer: Layer,
        outputs: VectorOutputs,
        vectors: int,
        filters: int,
        *,
        hides: bool = True,
        weights: NDArray[np.int8] | None = None,
        alike: bool = True,
        shared: tuple[int, int] | None = None,
        zeroed: bool = False,
        runs: tuple[int, int] = (1, WORDS),
    ) -> None:
        self.layer, self.b, self.outputs, self.hides = layer, layer.b, outputs, hides
        rows = layer.weights if weights is None else weights
        self.rows = rows.reshape(len(layer.bias), -1).astype(np.int8)
        biases, scaling = alike and bool(layer.first_values.any()), outputs.scaling
        self.words = range(0)
        if biases and shared is not None:
            self.words = self.put_in_lanes(filters, shared, zeroed=zeroed)
        if zeroed:
            runs = 1, -(-self.rows.shape[1] // WORD) % WORDS or WORDS
        biases = biases and not self.words
        self.plan = RowBlocks(vectors, filters, biases, bool(scaling.tables), *runs)
        self.group: Index = 0

    def put_in_lanes(self, filters: int, shared: tuple[int, int], *, zeroed: bool) -> range:
        """Put first values behind the weights; returns which words of the last vector have them.

        None of them do if the values are too large, or if each block adds them as quickly.
        """
        size = self.rows.shape[1]
        idle = idle_words(size)
        found = weights_of(self.layer.first_values, idle)
        if found is None:
            return range(0)
        count, (windows, _) = found.shape[1] // WORD, shared
        less, op = saved(-(-filters // FOUR), *shared, count), self.layer.op
        times = op.repetitions * prod(shape_of(op.output)) / filters / windows
        if not less or (zeroed and not is_worth_words(len(self.rows), count, less * times)):
            return range(0)
        start = WORDS - idle if zeroed else WORDS - count
        place = size // BYTES * BYTES + start * WORD
        self.rows = np.hstack([np.pad(self.rows, ((0, 0), (0, place - size))), found])
        return range(start, start + count)

    @cached_property
    def table(self) -> SSAValue:
        """All blocks."""
        layer, scales = self.layer, np.array(self.outputs.scaling.scales, np.float32)
        words = self.plan.table(self.rows, wrapped(layer.first_values), scales)
        return layer.table("taps", words)

    def straight(self) -> Iterator[Filters]:
        """All blocks of the group. Neighbouring ones share a pointer."""
        filters, near = self.plan.filters, self.plan.near * FOUR
        for first in range(0, filters, near):
            count = min(near, filters - first)
            run = self.part(first, count)
            for behind in range(0, count, FOUR):
                place = behind // FOUR * self.plan.pitch
                yield Filters(first + behind, min(FOUR, count - behind), run, place)

    def one(self, first: Index, count: int) -> Filters:
        """The block of a filter."""
        return Filters(first, count, self.part(first, count), 0)

    def part(self, first: Index, count: int) -> SSAValue:
        """The blocks of some filters.

        gcc knows nothing of their place if no loop changes it: it would load all constants early.
        """
        b, plan = self.b, self.plan
        start = b.add(b.mul(self.group, plan.size), b.mul(first, plan.pitch // FOUR))
        size = replace(plan, filters=count).size + plan.behind
        if self.hides or isinstance(first, int):
            return part(b, self.table, start, size)
        return b.window(self.table, [start], [size], [0], "run")

    def side(self, windows: Sequence[Window], *, packed: bool) -> Side:
        """The vectors of one or two windows; `packed`: they lie on the stack."""
        vectors = [vector for window in windows for vector in self.complete_window(window)]
        if packed:
            vectors = [self.b.insert(mve.PackOp(vectors), "windows").result]
        return Side(vectors, len(windows), packed)

    def complete_window(self, window: Window) -> Window:
        """A window whose idle lanes are set, if these have first values."""
        last = window[-1]
        for word in self.words:
            number = self.b.integer(constant(word - self.words.start, len(self.words)))
            last = self.b.insert(mve.SetWordOp(last, word, number), "window").result
        return [*window[:-1], last]

    def sums(self, side: Side, block: Filters, *, biased: bool = False) -> Sequence[SSAValue]:
        """The sums of a block, a vector for each pixel; `biased`: plus their first values.

        gcc loads nothing for the block earlier, so its vectors stay in registers meanwhile.
        """
        b = self.b
        b.insert(dsp.KeepOrderOp.create())
        place = b.value(block.place + (self.plan.head - biased) * block.count)
        sizes = block.count, side.pixels
        tail = self.plan.tail
        op = mve.MulRowsOp(side.vectors, block.run, place, *sizes, tail=tail, biased=biased)
        found = b.insert(op, "sums").sums
        b.insert(dsp.KeepOrderOp.create())
        return found

    def complete(self, side: Side, block: Filters) -> Sequence[SSAValue]:
        """The sums of a block plus their first values."""
        biased = self.plan.biased(block.count, side.pixels, packed=side.packed)
        kept = self.sums(side, block, biased=biased)
        return kept if biased else self.biased(kept, block)

    def biased(self, kept: Sequence[SSAValue], block: Filters) -> list[SSAValue]:
        """Vectors of sums plus the first values of their filters."""
        b = self.b
        if not self.plan.biases:
            return list(kept)
        place = block.place + (self.plan.head - 1) * block.count
        load = mve.LoadOp(block.run, b.value(place), mve.I32X4)
        bias = b.insert(load, "bias").result
        return [b.insert(mve.AddOp(each, bias), "sums").result for each in kept]

    def scales(self, block: Filters) -> SSAValue:
        """The scales of the filters of a block."""
        b = self.b
        if (same := self.outputs.splatted) is not None:
            return same
        load = mve.LoadOp(block.run, b.value(block.place), mve.I32X4)
        words = b.insert(load, "scales").result
        return b.insert(mve.AsFloatsOp(words), "scales").result
