"""Plans a depthwise convolution of bytes with sixteen channels in the lanes of a vector. No IR.

A vector holds sixteen channels of a pixel. Its products with a tap are two vectors of halves, those
of the even channels and those of the odd ones. The products of a group of taps are summed up in
halves, as long as they fit, and groups are summed up in four vectors of words. An output has the
taps that lie on the map only, so maps that are mostly borders take few products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_dialect.windows import Axis
from npu_plans.kernels.gathers import FIRST, INSTRUCTION

SIXTEEN = 16
"""Channels in a vector."""
WORDS = 4
"""Vectors of words, or words in one."""
LARGEST = 255
"""The most that the magnitudes of a group's weights add up to: 128 * 255 is below 2^15."""
MOST_TAPS = 9
"""The most taps in straight-line code."""
MOST_BODIES = 9
"""The most outputs that have code of their own: corners, borders, and what is inside."""
KEPT = 2
"""The groups whose sums stay in halves beside each other, until words are made of them."""
TAP = 5
"""Instructions of a tap: two loads, one for an address, and two products."""
AGAIN = 1
"""Instructions of a tap behind the groups that are kept: its elements are loaded again."""
WIDENED = 4
"""Instructions that make words of the sums of a group, and as many add them to others."""
REQUANTISED = 25
"""Instructions behind the sums: scales, 12 that requantise, 4 and 2 that narrow, 2, a store."""
LOOP = 12
"""Instructions of an output for the loop, pointers, other addresses, and a spilled sum."""

PRICE = 4
"""Instructions of one inference that a byte of flash has to save. Fast forms of layers, which get
their flash where there is enough (`flash_plan.py`), save 5 to 20 in the networks of the bench."""

Groups = Callable[[Sequence[int]], Sequence[Sequence[int]]]
"""The groups of some taps."""


def groups_of(weights: NDArray[np.integer[Any]], taps: Sequence[int]) -> list[list[int]]:
    """The groups of some taps, for weights [taps, channels]: those of the better one of two orders.

    The first group is the largest one, as its taps take the fewest instructions.
    """
    orders = taps, sorted(taps, key=lambda tap: -int(np.abs(weights[tap].astype(np.int64)).sum()))
    found = min((first_fits(weights, order) for order in orders), key=len)
    return sorted(found, key=lambda group: -len(group))


def first_fits(weights: NDArray[np.integer[Any]], taps: Sequence[int]) -> list[list[int]]:
    """The groups of some taps; each tap goes into the first one that fits."""
    found: list[tuple[list[int], NDArray[np.int64]]] = []
    for tap in taps:
        row = np.abs(weights[tap].astype(np.int64))
        for number, (own, total) in enumerate(found):
            if (total + row).max() <= LARGEST:
                found[number] = ([*own, tap], total + row)
                break
        else:
            found.append(([tap], row))
    return [own for own, _ in found]


def lanes_of_words() -> list[int]:
    """The channel of each lane of the four vectors of words."""
    return [odd + 2 * side + WORDS * lane for odd, side, lane in product((0, 1), (0, 1), range(4))]


def in_words(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Values [..., channels], of each sixteen channels in the order of the words."""
    sixteens = values.reshape(*values.shape[:-1], -1, SIXTEEN)
    return np.ascontiguousarray(sixteens[..., lanes_of_words()])


@dataclass(frozen=True)
class Span:
    """Neighbouring positions along an axis with equal taps: the first one, and how many."""

    first: int
    count: int


def spans(axis: Axis) -> list[Span]:
    """The positions of an axis: each one that padding cuts, and those inside together."""
    low, high = axis.interior()
    inside = [Span(low, high - low)] if low < high else []
    return [
        *(Span(each, 1) for each in range(low)),
        *inside,
        *(Span(each, 1) for each in range(high, axis.outputs)),
    ]


@dataclass(frozen=True)
class SixteenPlan:
    """The outputs of a layer; `rows` and `columns` are its axes."""

    rows: Axis
    columns: Axis

    def fits(self, channels: int) -> bool:
        """Whether the code is short, and no vector lacks a channel."""
        bodies = len(spans(self.rows)) * len(spans(self.columns))
        taps = self.rows.kernel * self.columns.kernel
        outputs = min(self.rows.outputs, self.columns.outputs)
        few = bodies <= MOST_BODIES and taps <= MOST_TAPS and outputs > 0
        return few and channels % SIXTEEN == 0

    def taps(self, row: int, column: int) -> list[int]:
        """The taps of an output that lie on the map."""
        width = self.columns.kernel
        pairs = product(range(*self.rows.taps(row)), range(*self.columns.taps(column)))
        return [y * width + x for y, x in pairs]

    def bodies(self) -> Iterator[tuple[Span, Span]]:
        """The rows and columns of outputs with equal taps."""
        return product(spans(self.rows), spans(self.columns))

    def flash(self, channels: int, groups: Groups, *, cut: bool) -> int:
        """Bytes of code, weights and first values; with `cut`, each body has first values."""
        bodies = [groups(self.taps(rows.first, columns.first)) for rows, columns in self.bodies()]
        code = sum(output_instructions([len(group) for group in own]) for own in bodies)
        taps = self.rows.kernel * self.columns.kernel
        tables = taps + FIRST * (len(bodies) if cut else 1)
        return INSTRUCTION * code + channels * tables

    def total(self, groups: Groups) -> float:
        """The instructions of a channel, about."""
        found = 0
        for rows, columns in self.bodies():
            own = groups(self.taps(rows.first, columns.first))
            found += rows.count * columns.count * output_instructions([len(g) for g in own])
        return found / SIXTEEN


def output_instructions(sizes: Sequence[int]) -> int:
    """The instructions of an output whose groups have so many taps."""
    taps, groups = sum(sizes), len(sizes)
    later = sum(size - 1 for size in sizes[KEPT:])
    sums = 2 * (taps - groups) + 2 * WIDENED * groups + WORDS
    return TAP * taps + AGAIN * later + sums + REQUANTISED + LOOP


def is_worth(saved: float, more: int) -> bool:
    """Whether saving instructions of one inference is worth more bytes of flash, or fewer."""
    return saved > 0 and saved >= PRICE * more
