"""What kernels of floats load at once, and blocks for such loads. No IR.

One instruction loads neighbouring floats into neighbouring registers: a row of inputs, or weights
of the filters of a block, for one tap or several. It needs its address in a register, which often
takes another instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_LOADED = 16
"""The most floats that are loaded at once."""
MOST_FILTERS = 6
MOST_COLUMNS = 12
"""The most filters and columns of a block."""
MOST_WEIGHTS = 12
"""The most weights of a fully connected layer that are loaded at once, for some inputs."""
SPARE = 1
"""Registers that an inner loop leaves free: one holds the zero of a rectifier."""
BIASED = 2
"""Further registers that blocks of one filter leave free, as the bias stays in one. Other blocks
have a loop over channels, in front of which biases may go to the stack."""
LOAD = 2.0
"""The instructions of a load: itself, and one for its address."""
WORD = 0.25
"""What a word of a load adds to these. It takes a cycle of a core that has one data bus, so fewer
words are better where the instructions are nearly as many."""
FEW_CHANNELS = 16
"""The most channels of a layer whose sums have registers of their own: its code has no loop."""
LEAST_HELD = 12
"""The fewest sums of such a block. With fewer ones, other blocks take less."""
STEP = 4.0
"""Instructions around such a block. An estimate."""
ENTRY = 12.0
"""Instructions around the loop over the channels of a block. An estimate."""


@dataclass(frozen=True)
class Loads:
    """The registers of a block of `filters` and some sums while its inputs are loaded at once.

    `rows` of `extent` inputs each are in registers, and weights of the filters.
    """

    filters: int
    sums: int
    rows: int
    extent: int
    registers: int

    @property
    def fit(self) -> bool:
        """Whether each row of inputs can be loaded at once."""
        return 2 <= self.extent <= MOST_LOADED and self.left >= self.filters

    @property
    def left(self) -> int:
        """The registers for weights."""
        spare = SPARE + (BIASED if self.filters == 1 else 0)
        return self.registers - spare - self.sums - self.rows * self.extent

    @property
    def first_sum(self) -> int:
        """The first register of sums that have registers of their own, in front of the inputs."""
        return self.registers - self.rows * self.extent - self.sums

    def first_of(self, row: int) -> int:
        """The first register of a row of inputs; the last registers hold them."""
        return self.registers - (1 + row % self.rows) * self.extent

    def taps(self, most: int) -> int:
        """For how many taps the weights are loaded at once, of at most `most`."""
        if not self.fit:
            return 1
        return max(1, min(most, min(self.left, MOST_LOADED) // self.filters))

    def work(self, depth: int, inputs: int, taps: int) -> float:
        """What a block costs for `depth` channels of `inputs` rows and some taps each."""
        at_once = self.taps(taps if taps > 1 else depth)
        products = self.sums * taps
        words = inputs * self.extent + taps * self.filters
        loads = LOAD * (inputs + taps / at_once)
        return ENTRY + depth * (products + loads + WORD * words)


def row_block(
    filters: int, width: int, depth: int, kernel: tuple[int, int], stride: int, registers: int
) -> tuple[int, int] | None:
    """The filters and columns of the block that costs least for a row of `width` outputs.

    `filters`: of a group, which those of a block divide. What is left of a row is a block of fewer
    columns. A block of one filter holds all of its weights. None if no block fits.
    """
    taps = kernel[0] * kernel[1]

    def loads(count: int, columns: int) -> Loads:
        extent = stride * (columns - 1) + kernel[1]
        return Loads(count, count * columns, 1, extent, registers)

    def row(block: tuple[int, int]) -> float:
        count, columns = block
        whole, rest = divmod(width, columns)
        parts = [(whole, columns)] + [(1, rest)] * (rest > 0)
        work = (many * loads(count, each).work(depth, kernel[0], taps) for many, each in parts)
        return sum(work) / count

    blocks = [
        (count, columns)
        for count in range(1, MOST_FILTERS + 1)
        for columns in range(1, min(width, MOST_COLUMNS) + 1)
        if filters % count == 0 and stride <= kernel[1]
        if loads(count, columns).fit
        if count > 1 or loads(count, columns).taps(taps) == taps
    ]
    return min(blocks, key=row, default=None)


def even_block(filters: int, width: int, depth: int, registers: int) -> tuple[int, int] | None:
    """The filters and columns of the block of a 1x1 layer whose outputs have few products.

    Its sums have registers of their own. One instruction loads the first values of all of them, and
    one stores a row of values. Blocks fill a row of `width` outputs, so there is code for one kind
    of them. None if no such block fits, or if outputs have many products.
    """

    def loads(count: int, columns: int) -> Loads:
        return Loads(count, count * columns, 1, columns, registers)

    def work(block: tuple[int, int]) -> float:
        count, columns = block
        found = loads(count, columns)
        accesses = depth + -(-depth // found.taps(depth)) + 1 + count
        words = depth * (columns + count) + found.sums
        return (STEP + LOAD * accesses + WORD * words) / found.sums

    blocks = [
        (count, columns)
        for count in range(2, MOST_FILTERS + 1)
        for columns in range(2, MOST_COLUMNS + 1)
        if filters % count == 0 and width % columns == 0
        if depth <= FEW_CHANNELS and LEAST_HELD <= count * columns <= MOST_LOADED
        if loads(count, columns).fit
    ]
    return min(blocks, key=work, default=None)


def window_filters(
    filters: int,
    window: tuple[int, int],
    depth: int,
    kernel: tuple[int, int],
    steps: tuple[int, int],
    registers: int,
    unroll: int,
) -> int | None:
    """The filters of the block that costs least for pooled outputs of a `window`.

    `steps`: the rows and columns of inputs between neighbouring outputs of the convolution. None if
    no block of several filters fits, with at most `unroll` products.
    """
    rows, extent = steps[0] * (window[0] - 1) + 1, steps[1] * (window[1] - 1) + kernel[1]
    inputs, taps, size = rows - 1 + kernel[0], kernel[0] * kernel[1], window[0] * window[1]

    def work(count: int) -> float:
        loads = Loads(count, count * size, rows, extent, registers)
        return loads.work(depth, inputs, taps) / count

    fitting = [
        count
        for count in range(2, MOST_FILTERS + 1)
        if filters % count == 0 and count * size * taps <= unroll
        if Loads(count, count * size, rows, extent, registers).fit
    ]
    return min(fitting, key=work, default=None)


def features_at_once(outputs: int) -> int:
    """For how many inputs a fully connected layer loads the weights of some outputs at once."""
    return max(1, MOST_WEIGHTS // outputs)


def inputs_at_once(outputs: int, most: int, registers: int, depth: int) -> int:
    """How many inputs a fully connected layer loads at once: at most `most`, better a divisor.

    Sums and weights of `outputs` are in registers, too.
    """
    left = registers - SPARE - outputs - features_at_once(outputs) * outputs
    limit = max(1, min(most, left, MOST_LOADED))
    even = max(each for each in range(1, limit + 1) if depth % each == 0)
    return even if 2 * even > limit else limit
