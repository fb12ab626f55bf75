"""How a kernel row meets a row of bytes of few channels: mathematics, no IR.

Two neighbouring pixels want elements of one row of the input, here with a kernel of five taps:

    x0 x1 x2 x3 x4 x5         pixel 0 takes x0 .. x4, pixel 1 takes x1 .. x5

A load of a word gives two words of halves, two elements apart: (x0, x2) and (x1, x3). Weights are
paired in the same way, (w0, w2) and (w1, w3), so that one word of weights serves both pixels; the
tap that is left, w4, meets a single half. No element outside the row is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

QUAD = 4
"""Bytes of a word."""


@dataclass(frozen=True)
class Word:
    """Two halves: elements `start + half` and `start + half + 2`, by a load at `start`."""

    start: int
    half: int

    @property
    def elements(self) -> tuple[int, int]:
        """The elements of the bottom and of the top half."""
        return self.start + self.half, self.start + self.half + 2


@dataclass(frozen=True)
class Product:
    """What one multiply-accumulate of a pixel takes: a word of the input and one of the weights.

    `halves` says which halves meet ("bb", "tb", ...); empty: both do.
    """

    pixel: int
    word: Word
    halves: str


@dataclass(frozen=True)
class WeightWord:
    """A word of weights, and the products that it is used for."""

    weight: int
    products: tuple[Product, ...]


@dataclass(frozen=True)
class Pixel:
    """What a pixel needs of a row: tap t meets element `start + t`, for taps in `[low, high)`."""

    start: int
    low: int
    high: int

    def element(self, tap: int) -> int | None:
        """The element that a tap meets; None for a tap that meets padding."""
        return self.start + tap if self.low <= tap < self.high else None


def weight_words(taps: int) -> list[tuple[int, int | None]]:
    """The taps in the bottom and top halves of the words of a kernel row.

    Pairs are two apart; what no pair takes shares words of its own.
    """
    pairs: list[tuple[int, int | None]] = []
    taken: set[int] = set()
    for tap in range(taps - 2):
        if tap not in taken and tap + 2 not in taken:
            pairs.append((tap, tap + 2))
            taken |= {tap, tap + 2}
    rest = [tap for tap in range(taps) if tap not in taken]
    return pairs + [(tap, None) for tap in rest]


def plan_row(taps: int, pixels: Sequence[Pixel], first: int, last: int) -> list[WeightWord] | None:
    """The steps of a kernel row; words may be loaded at `first` to `last`, both included.

    None if some element cannot be reached by a word.
    """
    known: list[Word] = []
    steps: list[WeightWord] = []
    for index, (low, high) in enumerate(weight_words(taps)):
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
    """A product of one or two wanted elements, by a word that is known if possible."""
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
    """The words that hold an element: known ones, those of a known load, then all others."""
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
