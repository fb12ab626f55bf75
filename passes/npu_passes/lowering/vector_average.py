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

Each lane has the bits of the scalar code: its sums are added in the same order, and quotients are
rounded as divisions are (`npu_plans/kernels/exact_quotient.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.maps import shape_of
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.lowering.kernels.quotients import divided
from npu_passes.lowering.vector_pool import Pixels
from npu_passes.support.common import for_each
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.byte_sums import LEAST, MOST

FOUR = 4
"""Channels in a vector, and sums that take turns."""


@dataclass(frozen=True)
class Average:
    """(q - point) * scale of all pixels, added up, and divided by their number and by a scale.

    `ends`: what is added to the rounded quotient, and its bounds.
    """

    point: int
    scale: float
    divisor: float
    ends: Ends

    def fits(self, map: SSAValue, out: SSAValue) -> bool:
        """Whether vectors compute it: rows of pixels without gaps, and no number out of range."""
        steps, width = pixel_steps(memref_type(map)), shape_of(map)[3]
        even = steps is not None and steps[1] == steps[0] * width
        near = all(LEAST < abs(each) < MOST for each in (self.scale, self.divisor))
        return even and pixel_steps(memref_type(out)) is not None and near


class VectorAverage:
    """Builds the loops."""

    def __init__(self, b: LoopBuilder, map: SSAValue, out: SSAValue, average: Average) -> None:
        self.b, self.average = b, average
        self.input, self.out = Pixels(b, map), Pixels(b, out)
        self.images, self.channels, height, width = shape_of(map)
        self.size = height * width

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
        b, even = self.b, self.size // FOUR * FOUR

        def element(pixel: Index) -> SSAValue:
            at = b.add(self.input.place(image, 0, pixel), channel)
            load = mve.LoadOp(self.input.buffer, b.value(at), mve.I32X4, lanes)
            return self.real(b.insert(load, "x").result)

        def turn(pixel: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            return [self.add(sums[i], element(b.add(pixel, i))) for i in range(FOUR)]

        zero = b.insert(mve.SplatOp(b.real(0.0), mve.F32X4), "zero").result
        s = b.loop(0, even, turn, [zero] * FOUR, step=FOUR, hint="k", carry="lane")
        total = self.add(self.add(s[0], s[2]), self.add(s[1], s[3]))
        for pixel in range(even, self.size):
            total = self.add(total, element(pixel))
        self.store(total, b.add(self.out.place(image, 0, 0), channel), lanes)

    def add(self, one: SSAValue, other: SSAValue) -> SSAValue:
        """The sums of two vectors."""
        return self.b.insert(mve.AddOp(one, other), "lane").result

    def real(self, words: SSAValue) -> SSAValue:
        """The real numbers of four elements."""
        b, average = self.b, self.average
        if average.point:
            words = b.insert(mve.AddScalarOp(words, b.integer(-average.point)), "x").result
        number = b.insert(mve.ToFloatOp(words)).result
        return b.insert(mve.MulScalarOp(number, b.real(average.scale)), "x").result

    def store(self, total: SSAValue, at: Index, lanes: int | None) -> None:
        """Divide, round and store four sums."""
        b, ends = self.b, self.average.ends
        value = divided(b, divided(b, total, float(self.size)), self.average.divisor)
        words = b.insert(mve.RoundOp(value), "q").result
        for kind, bound in zip((mve.MaxOp, mve.MinOp), ends.bounds, strict=True):
            limit = b.insert(mve.SplatOp(b.integer(bound - ends.point), mve.I32X4), "limit").result
            words = b.insert(kind(words, limit), "q").result
        if ends.point:
            words = b.insert(mve.AddScalarOp(words, b.integer(ends.point)), "q").result
        b.insert(mve.StoreOp(words, self.out.buffer, b.value(at), lanes))
