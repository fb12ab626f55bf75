"""Lower global averages of bytes with channels last to loops over vectors of four channels.

    scf.for %c = %c0 to %c64 step %c4 {
      %sums:4 = scf.for %k = ... iter_args(...) {     // four pixels in turn, as in mode float
        %x = mve.load %ifm[%at] : memref<8000xi8, #npu.sram> -> vector<4xi32>
        %r = ...                                      // less the zero point, times the scale
        %s = mve.add %sum, %r : vector<4xf32>
      }
      ...                                             // their sum, divided, rounded
      mve.store %q, %ofm[%c] : vector<4xi32>, memref<64xi8, #npu.sram>
    }

Each lane has the bits of the scalar code: its sums are added in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.maps import shape_of
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.lowering.kernels.quotients import Divisor
from npu_passes.lowering.real_lanes import Average, RealLanes
from npu_passes.lowering.vector_pooling import Pixels
from npu_passes.support.common import for_each
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type

FOUR = 4
"""Channels in a vector, and sums that take turns."""


class VectorAverage:
    """Builds the loops."""

    def __init__(self, b: LoopBuilder, map: SSAValue, out: SSAValue, average: Average) -> None:
        self.b, self.reals = b, RealLanes(b, average)
        self.input, self.out = Pixels(b, map), Pixels(b, out)
        self.images, self.channels, height, width = shape_of(map)
        self.size = height * width

    @staticmethod
    def fits(map: SSAValue, out: SSAValue, average: Average) -> bool:
        """Whether vectors compute it: rows of pixels without gaps, and no number out of range."""
        steps, width = pixel_steps(memref_type(map)), shape_of(map)[3]
        even = steps is not None and steps[1] == steps[0] * width
        return even and pixel_steps(memref_type(out)) is not None and average.in_range

    def build(self) -> None:
        """Visit all images, four channels at a time."""
        whole, rest = divmod(self.channels, FOUR)

        def image(at: tuple[Index, ...]) -> None:
            (number,) = at

            def four(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
                self.some(number, channel, None)
                return ()

            self.b.loop(0, FOUR * whole, four, step=FOUR, hint="c")
            if rest:
                self.some(number, FOUR * whole, rest)

        for_each(self.b, (self.images,), image, ("n",))

    def some(self, image: Index, channel: Index, lanes: int | None) -> None:
        """Compute the averages of up to four channels."""
        b, reals, even = self.b, self.reals, self.size // FOUR * FOUR

        def element(pixel: Index) -> SSAValue:
            at = b.add(self.input.place(image, 0, pixel), channel)
            load = mve.LoadOp(self.input.buffer, b.value(at), mve.I32X4, lanes)
            return reals.real(b.insert(load, "x").result)

        def turn(pixel: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            return [reals.add(sums[i], element(b.add(pixel, i))) for i in range(FOUR)]

        s = b.loop(0, even, turn, [reals.zero()] * FOUR, step=FOUR, hint="k", carry="lane")
        total = reals.add(reals.add(s[0], s[2]), reals.add(s[1], s[3]))
        for pixel in range(even, self.size):
            total = reals.add(total, element(pixel))
        at = b.add(self.out.place(image, 0, 0), channel)
        reals.store(total, Divisor.of(b, float(self.size)), self.out.buffer, at, lanes)
