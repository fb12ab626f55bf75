"""Addresses of convolution windows in a map whose pixels hold their channels side by side.

Distances are in elements. Pixels may have gaps between them, and so may rows: the map may be a
slice of a concatenation, some channels of a group, or one image of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.buffers.choose_layouts import map_steps, pixel_steps
from npu_passes.support.common import window_start
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type


@dataclass(frozen=True)
class Grid:
    """The windows of a convolution over a map.

    `pixel` is the distance from a pixel to the next in its row, `line` that from row to row, and
    `apart` that from a channel to the next.
    """

    rows: Axis
    columns: Axis
    channels: int
    pixel: int
    line: int
    apart: int = 1

    @staticmethod
    def dense(rows: Axis, columns: Axis, channels: int) -> Grid:
        """Windows over a map without gaps."""
        return Grid(rows, columns, channels, channels, columns.size * channels)

    @staticmethod
    def of(op: Conv2dOp) -> Grid:
        """The windows of a convolution."""
        channels = shape_of(op.input)[1]
        rows, columns = op.axes()
        steps = pixel_steps(memref_type(op.input)) or (channels, columns.size * channels)
        return Grid(rows, columns, channels, *steps)

    @staticmethod
    def by_channel(op: Conv2dOp) -> Grid | None:
        """The windows of a convolution over channels in any layout; None if it is not known."""
        steps = map_steps(memref_type(op.input))
        if steps is None:
            return None
        channel, pixel, line = steps
        return Grid(*op.axes(), shape_of(op.input)[1], pixel, line, channel)

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
        return Grid(self.rows, line, 1, 1, self.line)

    @property
    def flat(self) -> Grid:
        """The pixels of all rows as one row, where they lie at equal distances."""
        pixels = self.rows.size * self.columns.size
        return Grid(Axis(1, 1), Axis(pixels, 1), self.channels, self.pixel, pixels * self.pixel)

    def origin(self, b: LoopBuilder, row: Index, column: Index) -> Index:
        """The place of the first tap of an output; negative if it lies in front of the map."""
        y, x = window_start(b, self.rows, row), window_start(b, self.columns, column)
        if self.line == self.columns.size * self.pixel:
            return b.mul(b.add(b.mul(y, self.columns.size), x), self.pixel)
        return b.add(b.mul(y, self.line), b.mul(x, self.pixel))

    @property
    def pitch(self) -> int:
        """Elements from the first tap of an output to that of the next one."""
        return self.columns.stride * self.pixel

    @property
    def step(self) -> int:
        """Elements from one tap of a kernel row to the next."""
        return self.columns.dilation * self.pixel

    @property
    def row_step(self) -> int:
        """Elements from one kernel row to the next."""
        return self.rows.dilation * self.line

    @property
    def row_pitch(self) -> int:
        """Elements from the first tap of an output to that of the output below."""
        return self.rows.stride * self.line

    @property
    def is_even(self) -> bool:
        """Whether all pixels, of all rows, lie at equal distances."""
        return self.line == self.columns.size * self.pixel or self.rows.size == 1

    @property
    def is_pointwise(self) -> bool:
        """Whether each output pixel depends on the input pixel at the same place only."""
        axes = (self.rows, self.columns)
        return all(a.kernel == a.stride == 1 and a.outputs == a.size for a in axes)

    @property
    def cuts_rows(self) -> bool:
        """Whether padding cuts kernel rows."""
        return self.columns.interior() != (0, self.columns.outputs)
