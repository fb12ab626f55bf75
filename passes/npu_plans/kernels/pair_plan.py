"""Plans a depthwise convolution whose filters share pairs of neighbouring elements. No IR.

Several filters read the same channel. Single elements of it are loaded, and two neighbours become
the halves of a word. A word serves all filters of a block, and all outputs whose windows hold it.
Words of weights are those of lines (`line_plan.py`). A kernel row of three taps on four outputs:

    weights     words of elements     products
    (w0, w1)    (x0, x1), (x2, x3)    outputs 0 to 3
    (w1, w2)    (x2, x3), (x4, x5)    outputs 0 to 3

So two words of elements are live at a time, beside the sums and a word of weights of each filter.
Elements on padding are the zero point, which is part of all first values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import Ends, ends_of, interior
from npu_plans.kernels.line_plan import LEAST_TAPS, pack_lines, steps
from npu_plans.kernels.packing import QUAD

REGISTERS = 14
"""The registers for integers that a function may use."""
POINTERS = 2
"""Registers for the addresses of elements and of weights."""
MOST_OUTPUTS = 4
"""The most neighbouring outputs that are computed together."""
MOST_TAPS = 32
"""The most taps of a kernel, all of which are straight-line code."""
PAIR = 2
"""Words of weights that one instruction loads, and filters of a block."""
STRAIGHT = 2
"""The most blocks of outputs between the ends of a row that are straight-line code."""
LONG_ROW = 8
"""The fewest outputs of a row that is computed channel by channel."""
FEW_TAPS = 3
"""The most taps of a kernel row for that."""
MOST_ODD = 3
"""The most filters of a block, if they are an odd number."""


@dataclass(frozen=True)
class Product:
    """A product of the word of elements from `word` on, for an output.

    `halves` names the halves of both words, as in `line_plan.py`.
    """

    output: int
    word: int
    halves: str


@dataclass(frozen=True)
class Turn:
    """A word of weights by its number, and the products that use it."""

    weight: int
    products: tuple[Product, ...]

    @property
    def words(self) -> list[int]:
        """The first elements of the words that the products use."""
        return sorted({product.word for product in self.products})


@dataclass(frozen=True)
class Load:
    """Neighbouring words of weights, each by the number of its turn, and its filter.

    They are loaded before the products of turn `before`.
    """

    before: int
    words: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RowOfPairs:
    """A kernel row of `taps` for some neighbouring outputs of `filters` filters."""

    taps: int
    stride: int
    outputs: int
    filters: int

    @property
    def turns(self) -> list[Turn]:
        """The words of weights in the order in which they are used."""
        found: dict[int, list[Product]] = {}
        for step in steps(self.taps, self.stride, self.outputs):
            for output, weight, halves in step.products:
                found.setdefault(weight, []).append(Product(output, step.word, halves))
        return [Turn(weight, tuple(products)) for weight, products in found.items()]

    @property
    def loads(self) -> list[Load]:
        """The loads of weights in the order in which they are used.

        Two filters share a load. The last one of an odd number has loads of its own, each for two
        words of weights.
        """
        found: list[Load] = []
        for turn in range(len(self.turns)):
            for filter in range(0, self.filters - 1, PAIR):
                found.append(Load(turn, ((turn, filter), (turn, filter + 1))))
            if self.filters % PAIR and turn % PAIR == 0:
                both = range(turn, min(turn + PAIR, len(self.turns)))
                found.append(Load(turn, tuple((each, self.filters - 1) for each in both)))
        return found

    @property
    def size(self) -> int:
        """The words of weights of a kernel row."""
        return len(self.turns) * self.filters

    def turns_of(self, outputs: int) -> list[Turn]:
        """The same turns with the products of the first outputs; some may have none."""
        parts = [[each for each in turn.products if each.output < outputs] for turn in self.turns]
        return [Turn(turn.weight, tuple(part)) for turn, part in zip(self.turns, parts)]

    def elements(self, outputs: int) -> int:
        """The elements of a row of the input that the first outputs need."""
        return (outputs - 1) * self.stride + self.taps

    @property
    def registers(self) -> int:
        """The most registers that are in use at a time."""
        turns, most = self.turns, 0
        waiting = int(self.filters % PAIR > 0 and self.filters > 1)
        for number, turn in enumerate(turns):
            before = {word for other in turns[:number] for word in other.words}
            behind = {word for other in turns[number:] for word in other.words}
            new = len(set(turn.words) - before)
            loading = len(before & behind) + new + (new > 0) + waiting
            using = len((before | set(turn.words)) & behind) + PAIR + waiting
            most = max(most, loading, using)
        return most + self.outputs * self.filters + POINTERS

    @property
    def instructions(self) -> int:
        """The instructions of a kernel row."""
        products = sum(len(turn.products) for turn in self.turns) * self.filters
        elements = self.elements(self.outputs)
        return elements + elements // 2 + len(self.loads) + products


def row_of(taps: int, stride: int, filters: int) -> RowOfPairs | None:
    """The row with the fewest instructions for each product; None if registers are too few."""
    rows = [RowOfPairs(taps, stride, each, filters) for each in (1, 2, 4)]
    fitting = [row for row in rows if row.registers <= REGISTERS]
    return min(fitting, key=lambda row: row.instructions / row.outputs, default=None)


def filters_at_once(multiplier: int, *, planes: bool) -> int:
    """The filters of a channel that are computed together; 0 if they cannot share words.

    In planes, four neighbouring outputs of a filter are stored as a word, so these are two filters.
    """
    if multiplier == MOST_ODD and not planes:
        return multiplier
    most = (PAIR,) if planes else (QUAD, PAIR)
    return next((each for each in most if multiplier % each == 0), 0)


def width_of(columns: Axis, row: RowOfPairs) -> int:
    """The outputs of a row that are computed without a loop.

    Kernels of many taps have long code, so these are only as many as are computed together.
    """
    return MOST_OUTPUTS if columns.kernel <= FEW_TAPS else row.outputs


def ends_of_row(columns: Axis, width: int) -> Ends | None:
    """The blocks of `width` outputs at both ends of a row; None if they would be too many."""
    return ends_of(interior(columns, None), width, QUAD)


def takes_rows(columns: Axis) -> bool:
    """Whether a row of a channel is computed before the next channel, which takes fewer pointers.

    An output that overwrites its input must follow it by a row then, which is more than else on
    short rows, or where it moves slower than its input.
    """
    return columns.stride == 1 and columns.kernel <= FEW_TAPS and columns.outputs >= LONG_ROW


def plan_of(rows: Axis, columns: Axis, multiplier: int, *, planes: bool) -> RowOfPairs | None:
    """How to compute a depthwise convolution with some filters a channel; None if it cannot.

    `planes`: whether the elements of a row of a channel lie side by side.
    """
    filters = filters_at_once(multiplier, planes=planes)
    if not filters or columns.dilation > 1 or columns.kernel < LEAST_TAPS:
        return None
    few = columns.outputs < MOST_OUTPUTS or rows.kernel * columns.kernel > MOST_TAPS
    empty = any(low >= high for low, high in map(columns.taps, (0, columns.outputs - 1)))
    row = row_of(columns.kernel, columns.stride, filters)
    if few or empty or row is None or ends_of_row(columns, width_of(columns, row)) is None:
        return None
    return row


def beats_lines(columns: Axis, multiplier: int) -> bool:
    """Whether it takes fewer instructions than lines where channels lie side by side."""
    wide = columns.stride == 1 and columns.outputs > (STRAIGHT + 2) * MOST_OUTPUTS
    return multiplier > PAIR or not wide


def pack_pairs(weights: NDArray[np.int8], row: RowOfPairs) -> NDArray[np.int32]:
    """Weights [filters, rows, taps] as words, block by block: [rows, words] of each."""
    words = pack_lines(weights, odd=row.stride % 2 == 1)
    blocks = words.reshape(-1, row.filters, *words.shape[1:])
    turns = row.turns
    order = [(turns[turn].weight, filter) for load in row.loads for turn, filter in load.words]
    return np.stack([blocks[:, filter, :, weight] for weight, filter in order], -1).reshape(-1)
