"""Units that multiply quads (4 elements) of some pixels with the weights of some filters.

`DualUnit` uses Armv7E-M's dual multiply-accumulates. It splits a word of four bytes into two words
of two 16-bit halves, (x0, x2) and (x1, x3); weights are stored in the same order. `ByteUnit`
multiplies element by element, on any core. `HalfUnit` reads maps of 16 bits: their words are two
halves as they lie in memory, so nothing is unpacked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu.quantization import ui8
from npu_passes.support.integers import element_of, widened, without
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.packing import IN_PAIRS, QUAD, Format, quad_size

CROWDED = 8
"""From this many sums on, C compilers must be kept from loading ahead, which spills registers."""


@dataclass(frozen=True)
class Taps:
    """Packed weights: a buffer, and the element at which those of the current quads start."""

    vector: SSAValue
    first: Index


class Unit(ABC):
    """Builds products of input elements, whose zero point is `zero_point`, with packed weights.

    `form`: how the weights are stored; `order`: in which order those of a quad; `pairs`: the
    elements of a quad that are the halves of its two words.
    """

    form: Format
    order: Sequence[int] = range(QUAD)
    pairs: tuple[tuple[int, int], tuple[int, int]] = ((0, 2), (1, 3))
    straight: int
    """The most quads in straight-line code."""
    chunk: int
    """The most quads in one iteration of an inner loop."""

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
        """Add some quads to the sums, which are ordered by pixel, then by filter.

        `patch` is a buffer of bytes. `pixels` are the bytes in it at which each pixel starts, and
        `starts` the offsets of the quads from there. `less_zero` subtracts the zero point from each
        byte.
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
        """Add one quad to the sums; it starts at byte `places[p]` of the patch for pixel p.

        `first` is the element of `taps` at which its weights start.
        """


class ByteUnit(Unit):
    """One byte at a time, with short code: C compilers would load all weights of it first."""

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
                b.insert(dsp.KeepOrderOp.create())
        return found


class DualUnit(Unit):
    """Two 16-bit multiply-accumulates in one instruction."""

    straight = 16
    chunk = 16
    two_words = False
    """Whether a quad is two words, one for each half."""

    def __init__(self, b: LoopBuilder, map: SSAValue, zero_point: int, form: Format) -> None:
        super().__init__(b, map, zero_point)
        self.form = form
        if form == "narrow":  # flash is short, so keep the code short too
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
        """See `Unit`. With many sums, each half loads its words again to save registers.

        In the short loops of narrow weights, GCC would move them between registers and to the
        stack. So they stay in place there.
        """
        b, found = self.b, list(sums)
        filters = len(sums) // len(places)
        crowded = len(sums) >= CROWDED
        stays = crowded and self.form == "narrow"
        words: list[SSAValue] = []
        for half in (0, 1):
            if half == 0 or crowded or self.two_words:
                words = [self.word(patch, place, half) for place in places]
            values = [self.halves(word, half, less_zero) for word in words]
            if crowded:
                b.insert(dsp.KeepOrderOp.create())
            for f in range(filters):
                weight = self.weight(taps, first, half, f, filters)
                for p, value in enumerate(values):
                    at = p * filters + f
                    operands = (value, weight, found[at])
                    made = partial(dsp.SmladOp, *operands, in_place=stays)
                    found[at] = b.quickly(dsp.SmladOp, operands, i32, made, stays, "acc")
                if crowded:
                    b.insert(dsp.KeepOrderOp.create())
        return found

    def half_of(self, element: int) -> int:
        """The number of the word that holds an element of a quad: 0 or 1."""
        return int(element in self.pairs[1])

    def word(self, patch: SSAValue, place: int, half: int = 0) -> SSAValue:
        """Load the word that holds the elements of a half of the quad: all four bytes."""
        operands = (patch, self.b.value(place))
        first = partial(dsp.LoadWordOp, *operands)
        return self.b.quickly(dsp.LoadWordOp, operands, i32, first, hint="x")

    def halves(self, word: SSAValue, half: int, less_zero: bool) -> SSAValue:
        """Every second byte of a word, from byte `half` on, as two 16-bit halves of a word."""
        b, rotate = self.b, 8 * half
        if less_zero and self.zero_point:
            low = -self.zero_point & 0xFFFF
            both = low << 16 | low
            start = b.integer(both - (1 << 32) if both >> 31 else both)
            kind = dsp.Uxtab16Op if self.unsigned else dsp.Sxtab16Op
            first = partial(kind, start, word, rotate)
            return b.quickly(kind, (start, word), i32, first, rotate, "x")
        extend = dsp.Uxtb16Op if self.unsigned else dsp.Sxtb16Op
        return b.quickly(extend, (word,), i32, partial(extend, word, rotate), rotate, "x")

    def weight(self, taps: SSAValue, first: int, half: int, filter: int, filters: int) -> SSAValue:
        """The two weights of a filter that belong to one word of halves."""
        b = self.b
        if self.form == "wide":
            return b.load(taps, [first + half * filters + filter], "w")
        word = b.load(taps, [first + filter], "w")
        extend, rotate = partial(dsp.Sxtb16Op, word, 8 * half), 8 * half
        return b.quickly(dsp.Sxtb16Op, (word,), i32, extend, rotate, "w")


class HalfUnit(DualUnit):
    """Two 16-bit multiply-accumulates in one instruction, of a map of 16 bits.

    Its zero point is 0: halves of 16 bits have no room for a difference.
    """

    order = IN_PAIRS
    pairs = ((0, 1), (2, 3))
    two_words = True

    def word(self, patch: SSAValue, place: int, half: int = 0) -> SSAValue:
        """Load two neighbouring elements as a word."""
        return super().word(patch, place + 2 * half, half)

    def halves(self, word: SSAValue, half: int, less_zero: bool) -> SSAValue:
        """The word as it is."""
        return word
