"""Max pools whose windows overlap: each output of a convolution goes into every window with it.

So a kernel computes each of its outputs once, and needs no buffer besides the pooled output. That
starts with the least number; each output of the convolution then raises what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.lowering.epilogue import Epilogue
from npu_passes.lowering.pool_window import windows_with
from npu_passes.support.common import for_each
from npu_passes.support.integers import load, store
from npu_passes.support.loop_builder import Index, LoopBuilder


@dataclass(frozen=True)
class Folding:
    """Stores outputs of a convolution in `out`, the pooled map; `axes` are the windows."""

    b: LoopBuilder
    out: SSAValue
    axes: tuple[Axis, Axis]
    epilogue: Epilogue

    def clear(self) -> None:
        """Fill the pooled map with the least number."""
        _, channels, rows, columns = shape_of(self.out)
        start = self.epilogue.lowest_stored()

        def one(at: tuple[Index, ...]) -> None:
            row, column, channel = at
            store(self.b, start, self.out, (0, channel, row, column))

        for_each(self.b, (rows, columns, channels), one, ("py", "px", "c"))

    def put(
        self,
        sums: Sequence[SSAValue],
        filter: Index,
        row: Index,
        column: Index,
        lanes: Sequence[int],
    ) -> None:
        """Fold in the sums of one output, those of filters `filter + lane`.

        In a loop over filters, its channels have one view, so a C compiler steps one pointer for
        all of them. Channels that are constants share a pointer anyway.
        """
        b, (rows, columns) = self.b, self.axes
        channels = [b.add(filter, lane) for lane in lanes]
        values = [self.epilogue(*each) for each in zip(sums, channels, strict=True)]

        def fold(py: Index, px: Index) -> tuple[()]:
            memory, places = self.out, [(0, channel, py, px) for channel in channels]
            if not isinstance(filter, int):
                sizes = (1, max(lanes) + 1, 1, 1)
                memory = b.window(self.out, (0, filter, py, px), sizes, [1], "outputs")
                places = [(lane,) for lane in lanes]
            for value, at in zip(values, places, strict=True):
                store(b, b.maxf(value, load(b, memory, at, "best"), "best"), memory, at)
            return ()

        def one_row(py: Index) -> tuple[()]:
            windows_with(b, columns, column, lambda px: fold(py, px), "px")
            return ()

        windows_with(b, rows, row, one_row, "py")
