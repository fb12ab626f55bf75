"""Overlapping pooling windows: each convolution value is folded into every window that holds it.

So the pooled output is the only buffer: it starts with a maximum or a sum of nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.conv_places import BlockOrigin
from npu_passes.lowering.epilogue import Epilogue
from npu_passes.lowering.pool_window import PoolWindow, windows_with
from npu_passes.support.common import for_each
from npu_passes.support.integers import load, store
from npu_passes.support.loop_builder import Index, LoopBuilder


@dataclass(frozen=True)
class Scatter:
    """Builds the pooled output of a convolution, for blocks of `filters` filters."""

    b: LoopBuilder
    out: SSAValue
    window: PoolWindow
    epilogue: Epilogue
    filters: int

    def each_output(self, body: Callable[[int, Index, Index], None]) -> None:
        """Visit the pooled outputs of the filters of a block."""
        height, width = shape_of(self.out)[2:]

        def one(at: Sequence[Index]) -> None:
            for filter in range(self.filters):
                body(filter, *at)

        for_each(self.b, (height, width), one, ("py", "px"))

    def clear(self, place: BlockOrigin) -> None:
        """Initialise the pooled outputs of a block of filters: a maximum or a sum of nothing."""
        b = self.b
        start = self.epilogue.lowest_stored() if self.window.pool.is_max else b.real(0.0)

        def body(filter: int, py: Index, px: Index) -> None:
            store(b, start, self.out, (place.image, b.add(place.filter, filter), py, px))

        self.each_output(body)

    def divide(self, place: BlockOrigin) -> None:
        """Divide the sums of average pooling by their numbers of taps."""
        b = self.b

        def body(filter: int, py: Index, px: Index) -> None:
            at = (place.image, b.add(place.filter, filter), py, px)
            count = self.window.count(py, px)
            b.store(b.divf(b.load(self.out, at), count), self.out, at)

        self.each_output(body)

    def put(
        self, place: BlockOrigin, row: Index, column: Index, width: int, values: Sequence[SSAValue]
    ) -> None:
        """Fold the values of a block into every pooled output whose window holds them.

        `values`: those of `width` columns for each filter. All filters have the same windows, so
        these are found once for a row, and once for each column.
        """
        b, first = self.b, place.filter
        channels = [b.add(first, index // width) for index in range(len(values))]
        ready = list(map(self.epilogue, values, channels))
        rows, columns = self.window.axes

        def fold(offset: int, py: Index, px: Index) -> tuple[()]:
            for channel, value in zip(channels[offset::width], ready[offset::width], strict=True):
                at = (place.image, channel, py, px)
                old = load(b, self.out, at)
                new = b.raised(old, value) if self.window.pool.is_max else b.addf(old, value)
                store(b, new, self.out, at)
            return ()

        def one_row(py: Index) -> tuple[()]:
            for offset in range(width):
                windows_with(b, columns, b.add(column, offset), partial(fold, offset, py), "px")
            return ()

        windows_with(b, rows, row, one_row, "py")
