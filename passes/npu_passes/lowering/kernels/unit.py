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
from itertools import product

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu.quantization import ui8
from npu_passes.support.integers import element_of, widened, without
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.packing import (
    IN_PAIRS,
    PAIR,
    QUAD,
    Format,
    in_quads,
    pixels_of_bytes,
    pixels_together,
    quad_size,
)

FLIPPED = 128
"""By how much a byte changes when its topmost bit is flipped."""
EVEN_SIGNS = 0x00800080
"""The topmost bits of bytes 0 and 2 of a word."""
ODD_SIGNS = -(2**31) | 0x00008000
"""The topmost bits of bytes 1 and 3 of a word."""

CROWDED = 8
"""From this many sums on, C compilers must be kept from loading ahead, which spills registers."""


FEW = 2
"""The most quads in a row for which compilers find registers if they load ahead, with few sums."""

LONG_TURN = 4
"""The most quads of narrow weights in one iteration of a loop, unless flash is short."""


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
    is_long: bool = False
    """Whether the code has many quads in a row: C compilers must be kept from loading ahead."""

    def __init__(self, b: LoopBuilder, map: SSAValue, zero_point: int) -> None:
        self.b, self.zero_point = b, zero_point
        self.unsigned = element_of(map) == ui8

    def pixels_of(self, columns: int) -> int:
        """How many pixels of a row share the loads of weights in dense layers."""
        return PAIR

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
            if self.is_long and len(sums) < CROWDED and len(starts) > FEW:
                self.b.insert(dsp.KeepOrderOp())
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

    def __init__(self, b: LoopBuilder, map: SSAValue, zero_point: int, registers: int) -> None:
        """`registers`: those for integers, 0 if their number is not known."""
        super().__init__(b, map, zero_point)
        self.most = pixels_of_bytes(registers)

    def pixels_of(self, columns: int) -> int:
        """See `Unit`."""
        return pixels_together(columns, self.most)

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
                b.insert(dsp.KeepOrderOp(found))
        return found


class DualUnit(Unit):
    """Two 16-bit multiply-accumulates in one instruction."""

    straight = 16
    chunk = 16
    two_words = False
    """Whether a quad is two words, one for each half."""
    reloads = True
    """Whether the word of a quad is loaded again for its second half if there are many sums."""

    def __init__(
        self, b: LoopBuilder, map: SSAValue, zero_point: int, form: Format, *, short: bool
    ) -> None:
        """`short`: flash is short, so keep the code short too."""
        super().__init__(b, map, zero_point)
        self.form, self.is_long = form, not short or form != "narrow"
        if form == "narrow":
            self.straight, self.chunk = 2, 1 if short else LONG_TURN

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
        known: dict[int, list[SSAValue]] | None = None if crowded else {}
        for half in (0, 1):
            if half == 0 or (crowded and self.reloads) or self.two_words:
                words = [self.word(patch, place, half) for place in places]
            values = [self.halves(word, half, less_zero) for word in words]
            if crowded:
                b.insert(dsp.KeepOrderOp.create())
            for low in range(0, filters, dsp.PAIR):
                group = range(low, min(low + dsp.PAIR, filters))
                weights = self.weights(taps, first, half, group, filters, known)
                for (f, weight), (p, value) in product(
                    zip(group, weights, strict=True), enumerate(values)
                ):
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
            start = self.both(-self.zero_point)
            kind = dsp.Uxtab16Op if self.unsigned else dsp.Sxtab16Op
            first = partial(kind, start, word, rotate)
            return b.quickly(kind, (start, word), i32, first, rotate, "x")
        extend = dsp.Uxtb16Op if self.unsigned else dsp.Sxtb16Op
        return b.quickly(extend, (word,), i32, partial(extend, word, rotate), rotate, "x")

    def both(self, number: int) -> SSAValue:
        """A word whose halves are a number."""
        low = number & 0xFFFF
        word = low << 16 | low
        return self.b.integer(word - (1 << 32) if word >> 31 else word)

    def weights(
        self,
        taps: SSAValue,
        first: int,
        half: int,
        group: Sequence[int],
        filters: int,
        known: dict[int, list[SSAValue]] | None = None,
    ) -> list[SSAValue]:
        """For each filter of a group its two weights that belong to one word of halves.

        `known`: words of both halves that are loaded already, by the place of the first.
        """
        b = self.b
        rotate = 8 * half
        if self.form != "narrow":
            return self.loaded(taps, first + half * filters + group[0], len(group))
        found: list[SSAValue] = []
        at = first + group[0]
        words = None if known is None else known.get(at)
        if words is None:
            words = self.loaded(taps, at, len(group))
        if known is not None:
            known[at] = words
        for word in words:
            extend = partial(dsp.Sxtb16Op, word, rotate)
            found.append(b.quickly(dsp.Sxtb16Op, (word,), i32, extend, rotate, "w"))
        return found

    def loaded(self, taps: SSAValue, at: int, count: int) -> list[SSAValue]:
        """Some neighbouring words of a table, two at a time; one that is left by itself."""
        b, found = self.b, list[SSAValue]()
        for place in range(at, at + count - 1, dsp.PAIR):
            found += b.insert(dsp.LoadPairOp(taps, b.value(place)), "w").results
        return found if len(found) == count else [*found, b.load(taps, [at + count - 1], "w")]


class MixedUnit(DualUnit):
    """As `DualUnit`, with weights of the form `mixed`: the first half of a word is the word itself.

    Its even bytes must have no sign, its odd ones must have one. So the topmost bits of those that
    have it the other way are flipped: 128 is added to each even byte of int8, and subtracted from
    each odd byte of uint8. `surplus` is what this adds to the sums.
    """

    reloads = False

    def __init__(self, b: LoopBuilder, map: SSAValue, zero_point: int) -> None:
        super().__init__(b, map, zero_point, "mixed", short=False)

    def surplus(self, weights: NDArray[np.int8]) -> NDArray[np.int64]:
        """What flipped bytes add to the sums of filters with weights [filters, runs, length]."""
        quads = in_quads(weights).astype(np.int64)
        chosen, sign = (quads[..., 1::2], -1) if self.unsigned else (quads[..., 0::2], 1)
        return sign * FLIPPED * chosen.reshape(len(weights), -1).sum(axis=1)

    def word(self, patch: SSAValue, place: int, half: int = 0) -> SSAValue:
        """Load four bytes; see the docstring of the class."""
        b, loaded = self.b, super().word(patch, place, half)
        flips = ODD_SIGNS if self.unsigned else EVEN_SIGNS
        return b.binary(arith.XOrIOp, loaded, b.integer(flips), "x")

    def halves(self, word: SSAValue, half: int, less_zero: bool) -> SSAValue:
        """The word as it is, or its odd bytes as two 16-bit halves."""
        assert not less_zero
        if half == 0:
            return word
        odd = partial(dsp.Sxtb16Op, word, 8)
        return self.b.quickly(dsp.Sxtb16Op, (word,), i32, odd, 8, "x")


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
