"""First values of sums whose windows padding may cut: biases less what the zero point adds.

A kernel that multiplies 16 bytes at once cannot subtract the zero point from each. So it is folded
into the bias of every window, also of those that padding cuts: these fall into few classes with
equal taps, and the table has a row for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.layer import Layer, wrapped
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.vector_plan import LANES


@dataclass(frozen=True)
class Classes:
    """The classes of the positions of a window along an axis.

    Each position that padding cuts is one of its own, and all others are one.
    """

    axis: Axis

    @property
    def inside(self) -> tuple[int, int]:
        """The positions that padding does not cut; at least one of them is counted as such."""
        low, high = self.axis.interior()
        return (low, high) if low < high else (0, 1)

    @property
    def positions(self) -> list[int]:
        """A position of each class."""
        low, high = self.inside
        return [*range(low + 1), *range(high, self.axis.outputs)]

    def number(self, b: LoopBuilder, position: Index) -> Index:
        """The number of the class of a position."""
        low, high = self.inside
        before = b.least(position, low) if low else 0
        beyond = b.most(b.sub(position, high - 1), 0) if high < self.axis.outputs else 0
        return b.add(before, beyond)


@dataclass(frozen=True)
class Starts:
    """The first values of a layer's sums; `weights` are [filters, channels, kernel y, kernel x]."""

    layer: Layer
    rows: Classes
    columns: Classes

    @property
    def is_plain(self) -> bool:
        """Whether all windows have the same first values, those of a whole kernel."""
        alone = all(
            each.positions == [0] and each.axis.taps(0) == (0, each.axis.kernel)
            for each in (self.rows, self.columns)
        )
        return alone or self.layer.zero_point == 0

    @cached_property
    def values(self) -> NDArray[np.int64]:
        """The first values: a row of all filters for each pair of classes."""
        layer, found = self.layer, list[NDArray[np.int64]]()
        kernel = self.rows.axis.kernel, self.columns.axis.kernel
        weights = layer.weights.reshape(len(layer.bias), -1, *kernel).astype(np.int64).sum(axis=1)
        for y in self.rows.positions:
            for x in self.columns.positions:
                (top, bottom), (left, right) = self.rows.axis.taps(y), self.columns.axis.taps(x)
                total = weights[:, top:bottom, left:right].sum(axis=(1, 2))
                found.append(layer.bias - layer.zero_point * total)
        return np.stack(found)

    @cached_property
    def table(self) -> SSAValue:
        """The table of all values."""
        return self.layer.table("starts", wrapped(self.values.ravel()))

    def of(self, row: Index, column: Index, filter: Index, lanes: Sequence[int]) -> list[SSAValue]:
        """The first values at an output, for the filters `filter + lane`."""
        if self.is_plain:
            return self.layer.loaded(self.layer.folded, filter, lanes)
        b, first = self.layer.b, self.place(row, column, filter)
        return [b.load(self.table, [b.add(first, lane)], "bias") for lane in lanes]

    def place(self, row: Index, column: Index, filter: Index) -> Index:
        """The place in the table of the first value at an output, for a filter."""
        return self.place_in(row, self.columns.number(self.layer.b, column), filter)

    def place_in(self, row: Index, number: Index, filter: Index) -> Index:
        """The same in a class of columns."""
        b = self.layer.b
        pair = b.add(b.mul(self.rows.number(b, row), len(self.columns.positions)), number)
        return b.add(b.mul(pair, len(self.layer.bias)), filter)

    def vector(self, row: Index, column: Index, filter: Index, count: int) -> SSAValue | None:
        """The first values at an output, for up to four filters; None if all are zero."""
        b, first = self.layer.b, None if count == LANES else count
        table, at = self.layer.folded, filter
        if not self.is_plain:
            table, at = self.table, self.place(row, column, filter)
        if table is None:
            return None
        return b.insert(mve.LoadOp(table, b.value(at), mve.I32X4, first), "bias").result
