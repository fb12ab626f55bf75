"""Overlapping pooling windows: each convolution value is folded into every window that holds it.

So the pooled output is the only buffer: it starts with a maximum or a sum of nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.conv_sums import BlockOrigin
from npu_passes.lowering.epilogue import Epilogue
from npu_passes.lowering.pool_window import PoolWindow, windows_with
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

    def each_output(self, place: BlockOrigin, body: Callable[[int, Index, Index], None]) -> None:
        """Visit the pooled outputs of the filters of a block."""
        b = self.b
        height, width = shape_of(self.out)[2:]

        def one(filter: int, py: Index, px: Index) -> tuple[()]:
            body(filter, py, px)
            return ()

        def one_row(filter: int, py: Index) -> tuple[()]:
            b.loop(0, width, lambda px, _: one(filter, py, px), hint="px")
            return ()

        for filter in range(self.filters):
            b.loop(0, height, lambda py, _, f=filter: one_row(f, py), hint="py")

    def clear(self, place: BlockOrigin) -> None:
        """Initialise the pooled outputs of a block of filters: a maximum or a sum of nothing."""
        b = self.b
        start = self.epilogue.lowest_stored() if self.window.pool.is_max else b.real(0.0)

        def body(filter: int, py: Index, px: Index) -> None:
            store(b, start, self.out, (place.image, b.add(place.filter, filter), py, px))

        self.each_output(place, body)

    def divide(self, place: BlockOrigin) -> None:
        """Divide the sums of average pooling by their numbers of taps."""
        b = self.b

        def body(filter: int, py: Index, px: Index) -> None:
            at = (place.image, b.add(place.filter, filter), py, px)
            count = self.window.count(py, px)
            b.store(b.divf(b.load(self.out, at), count), self.out, at)

        self.each_output(place, body)

    def put(
        self, place: BlockOrigin, filter: int, row: Index, column: Index, value: SSAValue
    ) -> None:
        """Fold one convolution value into every pooled output whose window holds it."""
        b = self.b
        channel = b.add(place.filter, filter)
        value = self.epilogue(value, channel)
        rows, columns = self.window.axes

        def fold(py: Index, px: Index) -> tuple[()]:
            at = (place.image, channel, py, px)
            old = load(b, self.out, at)
            new = b.maxf(value, old) if self.window.pool.is_max else b.addf(old, value)
            store(b, new, self.out, at)
            return ()

        def one_row(py: Index) -> tuple[()]:
            windows_with(b, columns, column, lambda px: fold(py, px), "px")
            return ()

        windows_with(b, rows, row, one_row, "py")
