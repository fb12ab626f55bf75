"""Lower max pools of bytes with channels last to loops over vectors of sixteen channels.

    scf.for %c = %c0 to %c32 step %c16 {
      %x = mve.load %ifm[%at] : memref<2048xi8, #npu.sram> -> vector<16xi8>
      %y = mve.load %ifm[%next] : memref<2048xi8, #npu.sram> -> vector<16xi8>
      %best = mve.max %x, %y : vector<16xi8>           // for each tap of the window
      mve.store %best, %ofm[%to] : vector<16xi8>, memref<512xi8, #npu.sram>
    }

Pixels may have gaps between them, as in slices of a concatenation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.maps import shape_of
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.support.common import LoopOptions, for_each, tap_range, walk, window_start
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import Index, LoopBuilder, is_gapless, memref_type
from npu_plans.kernels.conv_plan import interior

SIXTEEN = 16
"""Channels in a vector."""
FEWEST = 4
"""With fewer channels the general loops are as fast."""

Body = Callable[[Index, int | None], None]
"""Computes channels from one on: all lanes, or only so many."""


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


class VectorPool:
    """Builds the loops of a max pool."""

    def __init__(
        self, b: LoopBuilder, map: SSAValue, out: SSAValue, pool: PoolAttr, options: LoopOptions
    ) -> None:
        self.b, self.most = b, options.unroll
        self.input, self.out = Pixels(b, map), Pixels(b, out)
        self.images, self.channels, height, width = shape_of(map)
        self.rows, self.columns = pool.axes(height, width)

    @staticmethod
    def fits(map: SSAValue, out: SSAValue, pool: PoolAttr, options: LoopOptions) -> bool:
        """Whether a pool finds maxima of signed bytes whose channels lie side by side."""
        last = all(pixel_steps(memref_type(each)) is not None for each in (map, out))
        signed = element_of(map) == element_of(out) == i8
        vectors = "mve" in options.features and pool.is_max
        return vectors and signed and last and shape_of(map)[1] >= FEWEST

    def build(self) -> None:
        """Visit all outputs; windows that the border cuts leave taps out."""
        spans = interior(self.rows, None), interior(self.columns, None)

        def image(at: tuple[Index, ...]) -> None:
            (number,) = at
            walk(
                self.b,
                *spans,
                1,
                lambda y, x, _: self.whole(number, y, x),
                lambda y, x: self.cut(number, y, x),
            )

        for_each(self.b, (self.images,), image, ("n",))

    def whole(self, image: Index, y: Index, x: Index) -> None:
        """Compute the output of a window that lies on the map."""
        taps = [(ky, kx) for ky in range(self.rows.kernel) for kx in range(self.columns.kernel)]
        if len(taps) > self.most:
            self.cut(image, y, x)
            return

        def some(channel: Index, lanes: int | None) -> None:
            best: SSAValue | None = None
            for ky, kx in taps:
                value = self.load(image, y, x, (ky, kx), channel, lanes)
                best = value if best is None else self.greater(best, value)
            assert best is not None
            self.store(best, image, y, x, channel, lanes)

        self.each(some)

    def cut(self, image: Index, y: Index, x: Index) -> None:
        """Compute an output from the taps of its window that are on the map."""
        b = self.b
        ranges = tap_range(b, self.rows, y), tap_range(b, self.columns, x)

        def some(channel: Index, lanes: int | None) -> None:
            def row(ky: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                def tap(kx: Index, best: Sequence[SSAValue]) -> list[SSAValue]:
                    value = self.load(image, y, x, (ky, kx), channel, lanes)
                    return [self.greater(best[0], value)]

                return b.loop(*ranges[1], tap, best, hint="kx", carry="best")

            least = b.insert(mve.SplatOp(b.integer(-128), mve.I8X16), "least").result
            (best,) = b.loop(*ranges[0], row, [least], hint="ky", carry="best")
            self.store(best, image, y, x, channel, lanes)

        self.each(some)

    def each(self, body: Body) -> None:
        """Visit sixteen channels at a time, and then the rest."""
        whole, rest = divmod(self.channels, SIXTEEN)

        def all_lanes(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(channel, None)
            return ()

        self.b.loop(0, SIXTEEN * whole, all_lanes, step=SIXTEEN, hint="c")
        if rest:
            body(SIXTEEN * whole, rest)

    def load(
        self,
        image: Index,
        y: Index,
        x: Index,
        tap: tuple[Index, Index],
        channel: Index,
        lanes: int | None,
    ) -> SSAValue:
        """Some channels of a tap of a window."""
        b = self.b
        row, column = (
            b.add(window_start(b, axis, at), b.mul(place, axis.dilation))
            for axis, at, place in zip((self.rows, self.columns), (y, x), tap, strict=True)
        )
        place = b.value(b.add(self.input.place(image, row, column), channel))
        return b.insert(mve.LoadOp(self.input.buffer, place, mve.I8X16, lanes), "x").result

    def greater(self, best: SSAValue, value: SSAValue) -> SSAValue:
        """The greater bytes of two vectors."""
        return self.b.insert(mve.MaxOp(best, value), "best").result

    def store(
        self, best: SSAValue, image: Index, y: Index, x: Index, channel: Index, lanes: int | None
    ) -> None:
        """Store some channels of an output."""
        place = self.b.value(self.b.add(self.out.place(image, y, x), channel))
        self.b.insert(mve.StoreOp(best, self.out.buffer, place, lanes))
