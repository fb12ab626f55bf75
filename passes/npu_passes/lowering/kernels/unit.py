"""What multiplies: a quad of bytes of some pixels with the weights of some filters.

Two of them. With Armv7E-M's dual multiply-accumulates a word of four bytes becomes two words of two
16-bit halves, (x0, x2) and (x1, x3), which meet weights in the same order. Everywhere else a byte
meets a byte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu.quantization import ui8
from npu_passes.support.integers import element_of, widened, without
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.packing import QUAD, Format, quad_size

CROWDED = 8
"""Sums from which on a C compiler has to be kept from loading ahead: it runs out of registers."""


@dataclass(frozen=True)
class Taps:
    """Packed weights: a vector, and where in it the weights of the current quads begin."""

    vector: SSAValue
    first: Index


class Unit(ABC):
    """Multiplies bytes of an input whose zero point is `zero_point`."""

    form: Format
    straight: int
    """Quads in one straight line of code, at most."""
    chunk: int
    """Quads in one turn of an inner loop, at most."""

    def __init__(self, b: LoopBuilder, map: SSAValue, zero_point: int) -> None:
        self.b, self.zero_point = b, zero_point
        self.unsigned = element_of(map) == ui8

    def quads(
        self,
        patch: SSAValue,
        pixels: Sequence[int],
        starts: Sequence[int],
        taps: Taps,
        sums: Sequence[SSAValue],
        *,
        less_zero: bool = False,
    ) -> list[SSAValue]:
        """The sums (pixel by pixel, each filter by filter) with some quads more.

        `patch` is a vector of bytes, `pixels` where each pixel begins in it, `starts` where each
        quad begins behind that; `less_zero` takes the zero point off each byte.
        """
        filters = len(sums) // len(pixels)
        size = quad_size(self.form, filters)
        vector = self.b.window(taps.vector, [taps.first], [size * len(starts)], [0], "taps")
        for index, start in enumerate(starts):
            places = [pixel + start for pixel in pixels]
            sums = self.quad(patch, places, vector, index * size, sums, less_zero)
        return list(sums)

    @abstractmethod
    def quad(
        self,
        patch: SSAValue,
        places: Sequence[int],
        taps: SSAValue,
        first: int,
        sums: Sequence[SSAValue],
        less_zero: bool,
    ) -> list[SSAValue]:
        """The sums with one quad more, which begins at `places` of the patch."""


class ByteUnit(Unit):
    """One byte at a time, few of them: a C compiler loads all weights that it can see first."""

    form: Format = "bytes"
    straight = 1
    chunk = 1

    def quad(
        self,
        patch: SSAValue,
        places: Sequence[int],
        taps: SSAValue,
        first: int,
        sums: Sequence[SSAValue],
        less_zero: bool,
    ) -> list[SSAValue]:
        """See `Unit`."""
        b, found = self.b, list(sums)
        filters = len(sums) // len(places)
        for k in range(QUAD):
            values = [widened(b, b.load(patch, [place + k], "x"), "x") for place in places]
            if less_zero:
                values = [without(b, value, self.zero_point) for value in values]
            for f in range(filters):
                weight = widened(b, b.load(taps, [first + k * filters + f], "w"), "w")
                for p, value in enumerate(values):
                    found[p * filters + f] = b.mac(found[p * filters + f], value, weight)
            if len(sums) >= CROWDED:
                b.insert(dsp.KeepOrderOp())
        return found


class DualUnit(Unit):
    """Two 16-bit multiply-accumulates at a time."""

    straight = 16
    chunk = 16

    def __init__(self, b: LoopBuilder, map: SSAValue, zero_point: int, form: Format) -> None:
        super().__init__(b, map, zero_point)
        self.form = form
        if form == "narrow":  # flash is short: of code, too
            self.straight, self.chunk = 2, 1

    def quad(
        self,
        patch: SSAValue,
        places: Sequence[int],
        taps: SSAValue,
        first: int,
        sums: Sequence[SSAValue],
        less_zero: bool,
    ) -> list[SSAValue]:
        """See `Unit`. Where registers are short each half loads its words anew."""
        b, found = self.b, list(sums)
        filters = len(sums) // len(places)
        crowded = len(sums) >= CROWDED
        words: list[SSAValue] = []
        for half in (0, 1):
            if half == 0 or crowded:
                words = [self.word(patch, place) for place in places]
            values = [self.halves(word, half, less_zero) for word in words]
            if crowded:
                b.insert(dsp.KeepOrderOp())
            for f in range(filters):
                weight = self.weight(taps, first, half, f, filters)
                for p, value in enumerate(values):
                    at = p * filters + f
                    found[at] = b.insert(dsp.SmladOp(value, weight, found[at]), "acc").results[0]
                if crowded:
                    b.insert(dsp.KeepOrderOp())
        return found

    def word(self, patch: SSAValue, place: int) -> SSAValue:
        """Four bytes."""
        return self.b.insert(dsp.LoadWordOp(patch, self.b.value(place)), "x").results[0]

    def halves(self, word: SSAValue, half: int, less_zero: bool) -> SSAValue:
        """Every second byte of a word as a 16-bit half."""
        b, rotate = self.b, 8 * half
        if less_zero and self.zero_point:
            low = -self.zero_point & 0xFFFF
            both = low << 16 | low
            start = b.integer(both - (1 << 32) if both >> 31 else both)
            kind = dsp.Uxtab16Op if self.unsigned else dsp.Sxtab16Op
            return b.insert(kind(start, word, rotate), "x").results[0]
        extend = dsp.Uxtb16Op if self.unsigned else dsp.Sxtb16Op
        return b.insert(extend(word, rotate), "x").results[0]

    def weight(self, taps: SSAValue, first: int, half: int, filter: int, filters: int) -> SSAValue:
        """The two weights of a filter for one half."""
        b = self.b
        if self.form == "wide":
            return b.load(taps, [first + half * filters + filter], "w")
        word = b.load(taps, [first + filter], "w")
        return b.insert(dsp.Sxtb16Op(word, 8 * half), "w").results[0]
