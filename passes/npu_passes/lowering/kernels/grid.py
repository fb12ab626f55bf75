"""Byte addresses of convolution windows in a map that is stored with its channels last."""

from __future__ import annotations

from dataclasses import dataclass

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.support.common import window_start
from npu_passes.support.loop_builder import Index, LoopBuilder


@dataclass(frozen=True)
class Grid:
    """The windows of a convolution over a map of bytes; distances are for channels last."""

    rows: Axis
    columns: Axis
    channels: int

    @staticmethod
    def of(op: Conv2dOp) -> Grid:
        """The windows of a convolution."""
        return Grid(*op.axes(), shape_of(op.input)[1])

    @property
    def lines(self) -> Grid:
        """The same windows over an image of one channel, whose columns are channels of pixels.

        So a kernel row without dilation is one run of elements.
        """
        columns, channels = self.columns, self.channels
        line = Axis(
            columns.size * channels,
            columns.kernel * channels,
            columns.stride * channels,
            columns.before * channels,
            columns.after * channels,
        )
        return Grid(self.rows, line, 1)

    def origin(self, b: LoopBuilder, row: Index, column: Index) -> Index:
        """The byte of the first tap of an output; negative if it lies in front of the map."""
        y, x = window_start(b, self.rows, row), window_start(b, self.columns, column)
        return b.mul(b.add(b.mul(y, self.columns.size), x), self.channels)

    @property
    def pitch(self) -> int:
        """Bytes from the first tap of an output to that of the next one."""
        return self.columns.stride * self.channels

    @property
    def step(self) -> int:
        """Bytes from one tap of a kernel row to the next."""
        return self.columns.dilation * self.channels

    @property
    def row_step(self) -> int:
        """Bytes from one kernel row to the next."""
        return self.rows.dilation * self.columns.size * self.channels

    @property
    def row_pitch(self) -> int:
        """Bytes from the first tap of an output to that of the output below."""
        return self.rows.stride * self.columns.size * self.channels

    @property
    def is_pointwise(self) -> bool:
        """Whether each output pixel depends on the input pixel at the same place only."""
        axes = (self.rows, self.columns)
        return all(a.kernel == a.stride == 1 and a.outputs == a.size for a in axes)

    @property
    def cuts_rows(self) -> bool:
        """Whether padding cuts kernel rows."""
        return self.columns.interior() != (0, self.columns.outputs)

    @property
    def is_padded(self) -> bool:
        """Whether some output has taps on padding."""
        return self.cuts_rows or self.rows.interior() != (0, self.rows.outputs)
