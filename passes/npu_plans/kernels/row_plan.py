"""Plans dual 16-bit multiply-accumulates of a kernel row with a row of input bytes. No IR.

It is for inputs of few channels. Two neighbouring pixels (outputs) need elements of one row of the
input, here with a kernel of five taps:

    x0 x1 x2 x3 x4 x5         pixel 0 takes x0 .. x4, pixel 1 takes x1 .. x5

A load of four bytes is unpacked into two words of 16-bit halves, whose elements are two apart:
(x0, x2) and (x1, x3). Weights are paired in the same way, (w0, w2) and (w1, w3), so one word of
weights serves both pixels. The tap without a partner, w4, is multiplied with a single half. No
element outside the row is loaded.

With a dilation of two, neighbouring taps are two elements apart, so the pairs are (w0, w1) and
(w2, w3); with any other one above that, no tap has a partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

QUAD = 4
"""Bytes of a word."""
HALVES_APART = 2
"""Elements from that in the bottom half of an unpacked word to that in its top half."""


@dataclass(frozen=True)
class Word:
    """Two halves of a load at `start`: the elements `start + half` and `start + half + 2`.

    `half` is 0 or 1.
    """

    start: int
    half: int

    @property
    def elements(self) -> tuple[int, int]:
        """The elements of the bottom and of the top half."""
        return self.start + self.half, self.start + self.half + 2


@dataclass(frozen=True)
class Product:
    """One multiply-accumulate of a pixel: it multiplies a word of the input by a word of weights.

    `halves` names the half of the input and of the weights that are multiplied: "bb", "bt", "tb" or
    "tt", with b for bottom and t for top. Empty: bottom by bottom and top by top, added.
    """

    pixel: int
    word: Word
    halves: str


@dataclass(frozen=True)
class WeightWord:
    """A word of weights (by number), and the products that use it."""

    weight: int
    products: tuple[Product, ...]


@dataclass(frozen=True)
class Pixel:
    """What a pixel needs of a row: tap t is multiplied by element `start + t * dilation`.

    That is for taps in `[low, high)`; the other taps lie on padding.
    """

    start: int
    low: int
    high: int
    dilation: int = 1

    def element(self, tap: int) -> int | None:
        """The element that a tap is multiplied by; None if the tap lies on padding."""
        return self.start + tap * self.dilation if self.low <= tap < self.high else None


def weight_words(taps: int, dilation: int = 1) -> list[tuple[int, int | None]]:
    """The taps in the bottom and top half of each word of weights of a kernel row.

    The elements of two taps of a word are two apart. A tap without a partner gets a word of its
    own, with None as the top half.
    """
    pairs: list[tuple[int, int | None]] = []
    taken: set[int] = set()
    apart, odd = divmod(HALVES_APART, dilation)
    for tap in range(0 if odd else taps - apart):
        if tap not in taken and tap + apart not in taken:
            pairs.append((tap, tap + apart))
            taken |= {tap, tap + apart}
    rest = [tap for tap in range(taps) if tap not in taken]
    return pairs + [(tap, None) for tap in rest]


def plan_row(taps: int, pixels: Sequence[Pixel], first: int, last: int) -> list[WeightWord] | None:
    """The steps of a kernel row; loads may start at elements `first` to `last`, both included.

    All pixels have the dilation of the kernel. None if an element that is needed lies in no such
    load.
    """
    known: list[Word] = []
    steps: list[WeightWord] = []
    for index, (low, high) in enumerate(weight_words(taps, pixels[0].dilation)):
        products: list[Product] = []
        for number, pixel in enumerate(pixels):
            wanted = pixel.element(low), None if high is None else pixel.element(high)
            if wanted == (None, None):
                continue
            found = product_of(wanted, number, known, first, last)
            if found is None:
                return None
            products.append(found)
            if found.word not in known:
                known.append(found.word)
        if products:
            steps.append(WeightWord(index, tuple(products)))
    return steps


def product_of(
    wanted: tuple[int | None, int | None],
    pixel: int,
    known: Sequence[Word],
    first: int,
    last: int,
) -> Product | None:
    """A product with the one or two `wanted` elements, from a `known` word if possible.

    None if no word that may be loaded has them.
    """
    low, high = wanted
    for word in candidates(low if low is not None else high, known, first, last):
        bottom, top = word.elements
        if low is not None and high is not None:
            if (bottom, top) == (low, high):
                return Product(pixel, word, "")
        elif low is not None:
            return Product(pixel, word, "bb" if bottom == low else "tb")
        else:
            return Product(pixel, word, "bt" if bottom == high else "tt")
    return None


def candidates(element: int | None, known: Sequence[Word], first: int, last: int) -> list[Word]:
    """The words that hold an element: known words first, then words of known loads, then others."""
    if element is None:
        return []
    every = [
        Word(start, half)
        for start, half in (
            (element, 0),
            (element - 1, 1),
            (element - 2, 0),
            (element - 3, 1),
        )
        if first <= start <= last
    ]
    loads = {word.start for word in known}
    return sorted(every, key=lambda word: (word not in known, word.start not in loads))
