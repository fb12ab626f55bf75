"""Loops over the windows of a pool of bytes with channels last, some channels at a time.

    scf.for %oy = %c0 to %c8 step %c1 {
      scf.for %ox = %c0 to %c8 step %c1 {
        scf.for %c = %c0 to %c32 step %c16 {          // the channels of a pixel
          %x = mve.load %ifm[%at] : memref<2048xi8, #npu.sram> -> vector<16xi8>
          ...                                         // for each tap of the window
        }
      }
    }

Pixels may have gaps between them, as in slices of a concatenation.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.maps import shape_of
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.support.common import for_each, walk, window_start
from npu_passes.support.loop_builder import Index, LoopBuilder, is_gapless, memref_type
from npu_plans.kernels.conv_plan import interior

Body = Callable[[Index, int | None], None]
"""Computes channels from one on: all lanes, or only so many."""


@dataclass(frozen=True)
class Output:
    """An output of all channels: an image, and the place there."""

    image: Index
    y: Index
    x: Index


class Pixels:
    """A map with channels last as a buffer of one axis."""

    def __init__(self, b: LoopBuilder, map: SSAValue) -> None:
        steps, type_ = pixel_steps(memref_type(map)), memref_type(map)
        assert steps is not None
        (self.pixel, self.line), self.b = steps, b
        self.image = (type_.get_strides() or (0,))[0] or 0
        flat = b.flat if is_gapless(type_) else b.span
        self.buffer = flat(map, map.name_hint)

    def place(self, image: Index, row: Index, column: Index) -> Index:
        """The first channel of a pixel."""
        b = self.b
        at = b.add(b.mul(row, self.line), b.mul(column, self.pixel))
        return b.add(b.mul(image, self.image), at)


class VectorPooling(abc.ABC):
    """Builds the loops of a pool."""

    def __init__(self, b: LoopBuilder, map: SSAValue, out: SSAValue, pool: PoolAttr) -> None:
        self.b = b
        self.input, self.out = Pixels(b, map), Pixels(b, out)
        self.images, self.channels, height, width = shape_of(map)
        self.rows, self.columns = pool.axes(height, width)

    def build(self) -> None:
        """Visit all outputs; windows that the border cuts leave taps out."""
        spans = interior(self.rows, None), interior(self.columns, None)

        def image(at: tuple[Index, ...]) -> None:
            (number,) = at
            walk(
                self.b,
                *spans,
                1,
                lambda y, x, _: self.whole(Output(number, y, x)),
                lambda y, x: self.cut(Output(number, y, x)),
            )

        for_each(self.b, (self.images,), image, ("n",))

    @abc.abstractmethod
    def whole(self, at: Output) -> None:
        """Compute the output of a window that lies on the map."""

    @abc.abstractmethod
    def cut(self, at: Output) -> None:
        """Compute an output from the taps of its window that are on the map."""

    def each(self, count: int, body: Body) -> None:
        """Visit `count` channels at a time, and then the rest."""
        whole, rest = divmod(self.channels, count)

        def all_lanes(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(channel, None)
            return ()

        self.b.loop(0, count * whole, all_lanes, step=count, hint="c")
        if rest:
            body(count * whole, rest)

    def tap(self, at: Output, tap: tuple[Index, Index], channel: Index) -> Index:
        """The place of a channel of a tap of a window."""
        b = self.b
        row, column = (
            b.add(window_start(b, axis, place), b.mul(step, axis.dilation))
            for axis, place, step in zip((self.rows, self.columns), (at.y, at.x), tap, strict=True)
        )
        return b.add(self.input.place(at.image, row, column), channel)

    def load(self, place: Index, lanes: int | None, type_: mve.Vector) -> SSAValue:
        """Some channels from a place on."""
        load = mve.LoadOp(self.input.buffer, self.b.value(place), type_, lanes)
        return self.b.insert(load, "x").result

    def target(self, at: Output, channel: Index) -> SSAValue:
        """The place of a channel of an output."""
        return self.b.value(self.b.add(self.out.place(at.image, at.y, at.x), channel))
