"""Tables of float weights in the order of the loops, which load those of a block at once.

The weights of the filters of a block lie side by side: [filters / F, channels, rows, columns, F].
A block of F filters reads those of a tap, or of several, with `dsp.load_floats`. The table takes as
many bytes as the weights, which nothing reads any more. For F = 1 it is the weights themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.kernels.constants import Weighted, constant_of
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder, is_gapless, memref_type


@dataclass(frozen=True)
class FloatWeights:
    """The table of a layer whose blocks have `filters` filters, each of `size` weights."""

    b: LoopBuilder
    table: SSAValue
    filters: int
    size: int

    @staticmethod
    def of(b: LoopBuilder, op: Weighted, filters: int, options: LoopOptions) -> FloatWeights | None:
        """The table of a layer; None if loads of single weights are as good, or all there is."""
        if op.zero_points is not None or not options.loads_floats:
            return None
        if filters == 1 and is_gapless(memref_type(op.weight)):
            return FloatWeights(b, b.flat(op.weight), 1, prod(shape_of(op.weight)[1:]))
        weights = constant_of(op.weight, options.users)
        if weights is None:
            return None
        blocks = weights.reshape(len(weights) // filters, filters, -1)
        packed = np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(-1)
        return FloatWeights(b, constant_table(b, op, "weights", packed), filters, blocks.shape[2])

    def part(self, filter: Index, first: Index, count: int) -> SSAValue:
        """The weights `first` and on of a block of filters, `count` of each: a view of one axis."""
        b = self.b
        at = b.add(b.mul(filter, self.size), b.mul(first, self.filters))
        return b.window(self.table, (at,), (count * self.filters,), (0,), "taps")

    def load(self, part: SSAValue, place: Index, count: int = 1) -> list[SSAValue]:
        """The weights at a place of a part of each filter, then those at the next, up to `count`.

        They are in the first registers.
        """
        b = self.b
        first, words = b.mul(place, self.filters), count * self.filters
        if words < dsp.PAIR:
            return [b.load(part, (first,), "w")]
        return list(b.insert(dsp.LoadFloatsOp(part, b.value(first), words, 0), "w").results)


Taps: TypeAlias = Callable[[Index, Index], list[SSAValue]]
"""Loads the weights of a tap, by row and column, for each filter of a block."""


@dataclass(frozen=True)
class Part:
    """The weights of a block for some channels, `most` taps at once.

    They are asked for in the order in which they lie.
    """

    weights: FloatWeights
    view: SSAValue
    columns: int
    size: int
    """The taps of all channels."""
    most: int
    loaded: dict[int, list[SSAValue]]

    def taps(self, rows: int, y: Index, x: Index) -> list[SSAValue]:
        """The weights of a tap, `rows` behind the first."""
        assert isinstance(y, int)
        assert isinstance(x, int)
        first, place = divmod((rows + y) * self.columns + x, self.most)
        if first not in self.loaded:
            at = first * self.most
            self.loaded[first] = self.weights.load(self.view, at, min(self.most, self.size - at))
        filters = self.weights.filters
        return self.loaded[first][place * filters : (place + 1) * filters]


def load_row(b: LoopBuilder, row: SSAValue, count: int, register: int) -> list[SSAValue]:
    """The first elements of a view of one axis, in registers from one on."""
    if count < dsp.PAIR:
        return [b.load(row, (each,), "x") for each in range(count)]
    return list(b.insert(dsp.LoadFloatsOp(row, b.value(0), count, register), "x").results)
