"""Plans a depthwise convolution channel by channel, over lines of 16-bit elements. No IR.

A *line* is a row of one channel with its padding. Some lines are gathered in a working memory, side
by side, where two neighbours are one word of halves. A kernel row of three taps on four outputs:

    words of a line     (x0, x1)         (x2, x3)            (x4, x5)
    output 0            x0 w0 + x1 w1    x2 w2
    output 1            x1 w0            x2 w1 + x3 w2
    output 2                             x2 w0 + x3 w1       x4 w2
    output 3                             x3 w0               x4 w1 + x5 w2

So the weights are stored as (w0, w1) and (w1, w2), and each line of the table takes two dual
multiply-accumulates an output.

All lines of a channel may be too many. Then outputs are computed in strips of some rows, and the
last lines of a strip become the first ones of the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npu_dialect.windows import Axis
from npu_plans.kernels.packing import pairs

ELEMENT_BYTES = 2
GATHERED = 2.5
"""Instructions that gather an element of a line."""
TAP = 1.2
"""Instructions of a tap on lines, which hold padding as well."""
UNPACKED_TAP = 2.2
"""Instructions of a tap in a kernel of four channels at a time, which leaves out padding."""
LEAST_TAPS = 2
"""The fewest taps of a kernel row that make a word."""
WIDTHS = (4, 2)
"""How many neighbouring outputs may be computed together: an even number, so that all of them find
their words at even places."""


@dataclass(frozen=True)
class Step:
    """Products with the word of a line at element `word`: (output, number of the weights, halves).

    `halves` names the halves of the line's word and of the weights, b for bottom and t for top;
    empty: bottom by bottom plus top by top.
    """

    word: int
    products: tuple[tuple[int, int, str], ...]


def weight_pairs(taps: int, *, odd: bool) -> list[tuple[int, int | None]]:
    """The taps in the two halves of each word of weights; None stands for a weight of zero.

    `odd`: whether outputs start at odd elements, too. Then a last single tap is the top half of a
    word for these.
    """
    even = [(tap, tap + 1) for tap in range(0, taps - 1, 2)]
    if odd:
        return [*even, *((tap, tap + 1) for tap in range(1, taps - 1, 2))]
    return [*even, (taps - 1, None)] if taps % 2 else [*even]


def steps(taps: int, stride: int, outputs: int) -> list[Step]:
    """The products of a kernel row with the words of a line, for some neighbouring outputs.

    The first output starts at an even element of the line.
    """
    numbers = {pair: index for index, pair in enumerate(weight_pairs(taps, odd=stride % 2 == 1))}
    found: dict[int, list[tuple[int, int, str]]] = {}
    for output in range(outputs):
        for place, low, high in cut(output * stride, taps):
            word = place // 2 * 2
            number, halves = weights_of(numbers, low, high)
            if high is None:
                halves = "bt"[place % 2] + halves
            found.setdefault(word, []).append((output, number, halves))
    return [Step(word, tuple(products)) for word, products in sorted(found.items())]


def cut(start: int, taps: int) -> Iterator[tuple[int, int, int | None]]:
    """The taps of an output that starts at an element of a line: (element, tap, next tap or None).

    A single tap is one whose neighbour lies in another word.
    """
    tap = 0
    while tap < taps:
        single = (start + tap) % 2 == 1 or tap == taps - 1
        yield start + tap, tap, None if single else tap + 1
        tap += 1 if single else 2


def weights_of(
    numbers: dict[tuple[int, int | None], int], low: int, high: int | None
) -> tuple[int, str]:
    """The word of weights with two taps, and no halves; or the one with a tap, and its half."""
    if high is not None:
        return numbers[low, high], ""
    for pair, number in numbers.items():
        if low in pair:
            return number, "bt"[pair.index(low)]
    raise AssertionError("each tap has a word")


def pack_lines(weights: NDArray[np.int8], *, odd: bool) -> NDArray[np.int32]:
    """Weights [filters, rows, taps] as words [filters, rows, words]; `odd` as `weight_pairs`."""
    zero = np.zeros_like(weights[..., 0])
    words = [
        pairs(weights[..., low], zero if high is None else weights[..., high])
        for low, high in weight_pairs(weights.shape[-1], odd=odd)
    ]
    return np.stack(words, axis=-1)


@dataclass(frozen=True)
class LinePlan:
    """How many rows of outputs a strip has, and where its lines lie.

    Line `l` of strip `n` is row `n * strip * stride - before + l` of the input. `rows` and
    `columns` are the axes of the kernel.
    """

    rows: Axis
    columns: Axis
    strip: int

    @staticmethod
    def fits(rows: Axis, columns: Axis) -> bool:
        """Whether there are outputs, and words in a kernel row."""
        some = rows.outputs > 0 and columns.outputs > 0 and rows.size > 0 and columns.size > 0
        return some and columns.kernel >= LEAST_TAPS and columns.dilation == 1

    @staticmethod
    def within(rows: Axis, columns: Axis, elements: int) -> LinePlan | None:
        """The plan with the highest strips that fit into a working memory; None if none does."""
        pitch = LinePlan(rows, columns, 1).pitch
        lines = (elements - SLACK) // pitch
        strip = min(rows.outputs, (lines - rows.reach) // rows.stride + 1)
        return LinePlan(rows, columns, strip) if strip > 0 else None

    @staticmethod
    def pays(rows: Axis, columns: Axis) -> bool:
        """Whether gathering and multiplying lines takes less than a kernel without them.

        Each output adds `GATHERED` instructions for some elements to the lines. A line has a loop
        of its own, so it must not be short.
        """
        outputs = rows.outputs * columns.outputs
        lines = rows.stride * columns.stride * GATHERED + TAP * rows.kernel * columns.kernel
        others = UNPACKED_TAP * products(rows) * products(columns)
        return columns.outputs >= WIDTHS[-1] and lines * outputs < others

    @staticmethod
    def chosen(rows: Axis, columns: Axis, room: int) -> LinePlan | None:
        """The plan with the fewest strips in `room` bytes; of those the one with the least memory.

        None if there is no room for one row.
        """
        highest = LinePlan.within(rows, columns, room // ELEMENT_BYTES)
        if highest is None:
            return None
        return LinePlan(rows, columns, -(-rows.outputs // highest.strips))

    @property
    def pitch(self) -> int:
        """Elements from a line to the next: an even number, so that words lie at even places."""
        needed = (self.columns.outputs - 1) * self.columns.stride + self.columns.kernel
        return needed + needed % 2

    @property
    def lines(self) -> int:
        """The lines of a strip."""
        return (self.strip - 1) * self.rows.stride + self.rows.reach

    @property
    def kept(self) -> int:
        """The lines of a strip that are the first ones of the next."""
        return max(0, self.rows.reach - self.rows.stride) if self.strips > 1 else 0

    @property
    def strips(self) -> int:
        """The number of strips; the last one may have rows behind the map, which are left out."""
        return -(-self.rows.outputs // self.strip)

    @property
    def elements(self) -> int:
        """Elements of the working memory; a word of the last line may end behind it."""
        return self.lines * self.pitch + SLACK

    @property
    def filled(self) -> int:
        """The columns of the input that a line holds, behind its padding."""
        return max(0, min(self.columns.size, self.pitch - self.columns.before))


def products(axis: Axis) -> int:
    """The taps of all outputs along an axis that lie on the map."""
    return sum(high - low for low, high in map(axis.taps, range(axis.outputs)))


SLACK = 2
"""Elements behind the last line."""


def groups(outputs: int) -> Sequence[tuple[int, int, int]]:
    """Outputs of a row in groups: (first, behind the last, outputs computed together)."""
    found: list[tuple[int, int, int]] = []
    start = 0
    for width in WIDTHS:
        end = start + (outputs - start) // width * width
        if end > start:
            found.append((start, end, width))
        start = end
    return found if start == outputs else [*found, (start, outputs, outputs - start)]
