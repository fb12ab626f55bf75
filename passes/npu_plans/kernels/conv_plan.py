"""The loop structure of a convolution: register blocks, unrolling, interior and border. No IR.

Outputs whose taps all lie on real input are the *interior*; they are computed in register blocks
with an unrolled kernel. The rest, the *border*, is computed point by point with clipped tap ranges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, product
from typing import Literal

from npu_dialect.windows import Axis
from npu_plans.kernels.float_plan import row_block, window_filters

PoolMode = Literal["none", "gather", "scatter"]
"""`gather`: each pooled output runs over its window. `scatter`: each convolution value is folded
into every pooled output whose window holds it."""


@dataclass(frozen=True)
class Span:
    """Half-open range `[low, high)` of interior positions among `total` output positions."""

    low: int
    high: int
    total: int

    @property
    def whole(self) -> bool:
        """Whether there is no border."""
        return self.low == 0 and self.high == self.total

    @property
    def empty(self) -> bool:
        """Whether everything is border."""
        return self.high <= self.low


@dataclass(frozen=True)
class Ends:
    """The blocks at both ends of a row, by their columns: taps of some outputs lie on padding.

    `left` begins at the first column, and `right` ends at the last one. Between them is interior.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]

    def middle(self, columns: Span) -> tuple[int, int]:
        """The half-open range of the columns between the ends."""
        return sum(self.left), columns.total - sum(self.right)

    @staticmethod
    def blocks(column: int, widths: tuple[int, ...]) -> list[tuple[int, int]]:
        """The first column of each block from `column` on, and its number of columns."""
        return list(zip(accumulate(widths, initial=column), widths, strict=False))


@dataclass(frozen=True)
class Block:
    """A register block: filters x rows x columns of outputs that are computed together."""

    filters: int
    rows: int
    columns: int

    @property
    def sums(self) -> int:
        """How many accumulators are live at once."""
        return self.filters * self.rows * self.columns


@dataclass(frozen=True)
class Unroll:
    """Which loops over kernel taps are written out."""

    rows: bool
    columns: bool


@dataclass(frozen=True)
class ConvPlan:
    """The loop structure of one convolution.

    `rows`, `columns`: the kernel's windows; `pool`: the pooling windows over the convolution's
    output, if any; `span_rows`, `span_columns`: the interior of the grid that the loops walk, which
    is the grid of pooled outputs when gathering, else of convolution outputs.
    """

    rows: Axis
    columns: Axis
    pool: tuple[Axis, Axis] | None
    mode: PoolMode
    span_rows: Span
    span_columns: Span
    block: Block
    ends: Ends | None
    """Blocks at the ends of each row. None if outputs there are computed one by one."""
    unroll: Unroll
    channels: int
    """Channels in one iteration of the loop over them, in the interior."""
    window_at_once: bool
    """Gathering only: whether the whole pooling window is one register block.

    If not, its convolution values are computed one at a time.
    """
    filters_inside: bool
    """Whether the loop over filters is inside the loops over the grid.

    With one channel there is no loop between the grid and the taps. With the filter loop outside,
    all weights of a block would be invariant in the grid loops, and a C compiler that keeps them in
    registers would run out of registers.
    """
    holds_sums: bool = False
    """Whether each sum of a block of floats has a register of its own, from load to store."""


def interior(axis: Axis, pool: Axis | None) -> Span:
    """Interior outputs of a convolution; with `pool`, pooled outputs over interior outputs only."""
    low, high = axis.interior()
    if pool is None:
        return Span(low, high, axis.outputs)
    first = -(-(low + pool.before) // pool.stride)
    last = (high - 1 - (pool.kernel - 1) * pool.dilation + pool.before) // pool.stride
    if high <= low:
        return Span(0, 0, pool.outputs)
    first = min(max(first, 0), pool.outputs)
    return Span(first, max(first, min(last + 1, pool.outputs)), pool.outputs)


def kernel_rows(rows: Axis) -> tuple[int, int]:
    """Half-open range of the kernel rows that count in rows of outputs that no padding cuts.

    If there is one row of outputs, those on padding do not count, so padding does not cut it.
    """
    return rows.taps(0) if rows.outputs == 1 else (0, rows.kernel)


def whole_rows(rows: Axis) -> Span:
    """Rows of outputs for which all of `kernel_rows` lie on real input."""
    low, high = kernel_rows(rows)
    return Span(0, 1, 1) if rows.outputs == 1 and low < high else interior(rows, None)


def cut_rows(rows: Axis) -> int:
    """The kernel rows that are left in rows of outputs that padding cuts, if as many in each.

    0 if not, or if padding cuts no row.
    """
    low, high = rows.interior()
    cut = {rows.taps(row) for row in range(rows.outputs) if not low <= row < high}
    lengths = {end - first for first, end in cut}
    return lengths.pop() if len(lengths) == 1 else 0


def divisor(count: int, limit: int) -> int:
    """The largest divisor of `count` that is at most `limit` (1 if there is none)."""
    return max(d for d in range(1, max(1, limit) + 1) if count % d == 0) if count else 1


def choose_block(
    filters: int, span_columns: Span, window: tuple[int, int] | None, registers: int
) -> Block:
    """The register block: its accumulators take at most a quarter of the `registers`.

    `filters`: filters of one group; `window`: rows and columns of the pooling window that one block
    covers, if any. Without an FPU (0 registers) a block is a single output, as sharing loads gains
    nothing then.
    """
    budget = max(1, registers // 4)
    rows, columns = window or (1, 1)
    if window is None and not span_columns.empty:
        columns = min(4, budget, span_columns.high - span_columns.low)
        even = divisor(span_columns.high - span_columns.low, columns)
        columns = even if even > 1 else columns
    return Block(divisor(filters, min(4, budget // (rows * columns))), rows, columns)


MOST_COLUMNS = 6
MOST_FILTERS = 6
"""The most columns and filters of a register block of several filters."""
WIDE_COLUMNS = 12
"""The most columns of a wide register block."""
WIDE_ROW = 17
"""The fewest columns of a row of wide blocks.

Wide blocks leave a C compiler no registers for weights, so a row must have several of them.
"""
SPARE = 2
"""Registers that a register block of several filters leaves free."""


def widest_block(
    filters: int, span_columns: Span, kernel: int, registers: int, *, wide: bool = False
) -> Block | None:
    """The register block of several filters that takes the fewest loads and products for a row.

    Its sums, the inputs of a row of `kernel` taps, and a weight must fit into the `registers`. What
    is left of a row is a block of fewer columns. None if no block of several filters fits. `wide`:
    whether a block of a row of WIDE_ROW columns may have WIDE_COLUMNS.
    """
    width = span_columns.high - span_columns.low
    most = WIDE_COLUMNS if wide and width >= WIDE_ROW else MOST_COLUMNS

    def row(block: Block) -> float:
        whole, rest = divmod(width, block.columns)
        one = whole * block_work(block.columns, block.filters)
        return (one + (block_work(rest, block.filters) if rest else 0)) / block.filters

    blocks = [
        Block(each, 1, columns)
        for each in range(1, MOST_FILTERS + 1)
        for columns in range(1, min(width, most) + 1)
        if filters % each == 0 and each * columns + columns + kernel - 1 + 1 <= registers - SPARE
    ]
    return min(blocks, key=lambda block: (row(block), block.sums), default=None)


def window_block(
    filters: int, window: tuple[int, int], kernel: tuple[int, int], registers: int, unroll: int
) -> Block | None:
    """The register block of a pooling window that has the most filters.

    Its sums, the inputs of a row of taps for each row of the window, and a weight must fit into the
    `registers`, and its straight-line code has at most `unroll` products. None if no block fits.
    """
    rows, columns = window
    inputs, products = rows - 1 + columns + kernel[1] - 1, rows * columns * kernel[0] * kernel[1]
    fitting = [
        each
        for each in range(1, MOST_FILTERS + 1)
        if filters % each == 0
        and each * rows * columns + inputs + 1 <= registers - SPARE
        and each * products <= unroll
    ]
    return Block(max(fitting), rows, columns) if fitting else None


FEW_PRODUCTS = 160
"""Channels with fewer products than this share an iteration."""
MOST_ENDS = 2
"""The most blocks at one end of a row."""


def choose_ends(columns: Span, width: int, filters: int) -> Ends | None:
    """The blocks at both ends of a row, so that it takes the fewest loads and products.

    Blocks have at most `width` columns, those between the ends too. None if there is no border, or
    one of more than MOST_ENDS blocks.
    """
    if columns.whole:
        return None
    parts = [(blocks_of(columns.total, width), ())]
    if not columns.empty:
        most = min(MOST_ENDS * width, columns.total)
        low, high = columns.low, columns.total - columns.high
        left = range(low, most + 1) if low else range(1)
        right = range(high, most + 1) if high else range(1)
        parts += [
            (blocks_of(first, width), blocks_of(last, width))
            for first, last in product(left, right)
            if first + last <= columns.total
        ]

    def work(ends: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[int, int]:
        whole, rest = divmod(columns.total - sum(ends[0]) - sum(ends[1]), width)
        loads = sum(block_work(each, filters) for each in (*ends[0], rest, *ends[1]) if each)
        copies = len(ends[0]) + len(ends[1]) + (whole > 0) + (rest > 0)
        return loads + whole * block_work(width, filters), copies

    found = [each for each in parts if max(map(len, each)) <= MOST_ENDS]
    best = min(found, key=work, default=None)
    return None if best is None else Ends(*best)


def ends_of(columns: Span, width: int, filters: int) -> Ends | None:
    """The same as `choose_ends`, with no blocks at the ends of a row without a border."""
    return Ends((), ()) if columns.whole else choose_ends(columns, width, filters)


def blocks_of(count: int, width: int) -> tuple[int, ...]:
    """Some columns in blocks of at most `width`."""
    whole, rest = divmod(count, width)
    return (width,) * whole + ((rest,) if rest else ())


def block_work(columns: int, filters: int) -> int:
    """Loads and products of a block for one tap."""
    return columns + filters + columns * filters


def is_dense(rows: Axis, columns: Axis, pool: tuple[Axis, Axis] | None) -> bool:
    """Whether neighbouring taps, and outputs of a pooling window, have no gaps between them."""
    return all(axis.dilation == 1 for axis in (rows, columns, *(pool or ())))


def choose_unroll(kernel: tuple[int, int], sums: int, limit: int) -> Unroll:
    """Unroll the tap loops as long as the straight-line code has at most `limit` products.

    `kernel`: rows and columns of taps; `sums`: accumulators of a block.
    """
    columns = kernel[1] * sums <= limit
    return Unroll(rows=columns and kernel[0] * kernel[1] * sums <= limit, columns=columns)


def choose_mode(
    modes: tuple[PoolMode, ...], window: tuple[int, int] | None, registers: int
) -> PoolMode:
    """The first of `modes`, or the last if the pooling window is too large for a register block.

    Scattering shares loads between neighbours. Without an FPU (0 registers) that gains nothing, so
    the first mode is taken.
    """
    large = window is not None and window[0] * window[1] > registers // 4
    return modes[-1] if large and registers // 4 > 1 else modes[0]


def plan(
    rows: Axis,
    columns: Axis,
    pool: tuple[Axis, Axis] | None,
    modes: tuple[PoolMode, ...],
    *,
    filters: int,
    depth: int,
    registers: int,
    unroll: int,
    floats: bool = False,
    wide: bool = False,
    runs: bool = False,
    held: tuple[int, int] | None = None,
) -> ConvPlan:
    """The loop structure of a convolution with `filters` filters of `depth` channels in a group.

    `modes`: the possible ways to compute the pooling, best first; `registers`: floating-point
    registers, 0 without an FPU; `unroll`: the most multiply-accumulates of straight-line code;
    `floats`: whether sums are in floating-point registers; `wide`: whether register blocks may be
    wide, which is more code; `runs`: whether several floats can be loaded at once; `held`: the
    filters and columns of a block whose sums have registers of their own.
    """
    mode = choose_mode(modes, (pool[0].kernel, pool[1].kernel) if pool else None, registers)
    gathers = mode == "gather" and pool is not None
    grid = pool if gathers and pool is not None else (None, None)
    span_rows, span_columns = interior(rows, grid[0]), interior(columns, grid[1])
    window = (pool[0].kernel, pool[1].kernel) if gathers and pool is not None else None
    at_once = window is not None and window[0] * window[1] <= max(1, registers // 4)
    block = choose_block(
        filters,
        Span(0, 1, 1) if gathers else span_columns,
        window if at_once else None,
        registers,
    )
    kernel = (rows.kernel, columns.kernel)
    if floats and at_once and window is not None:
        block = window_block(filters, window, kernel, registers, unroll) or block
        steps = rows.stride, columns.stride
        if runs and is_dense(rows, columns, pool):
            found = window_filters(filters, window, depth, kernel, steps, registers, unroll)
            block = block if found is None else replace(block, filters=found)
    elif floats and not gathers:
        width = Span(0, span_columns.total, span_columns.total)
        block = widest_block(filters, width, columns.kernel, registers, wide=wide) or block
        if runs and is_dense(rows, columns, None):
            found = row_block(filters, span_columns.total, depth, kernel, columns.stride, registers)
            block = block if found is None else Block(found[0], 1, found[1])
    if held is not None:
        block = Block(held[0], 1, held[1])
    lines = choose_unroll(kernel, block.sums, unroll)
    channels = 1
    if held is not None:
        channels = depth
    elif floats and lines.rows and block.sums > 1:
        products = block.sums * kernel[0] * kernel[1]
        channels = divisor(depth, min(unroll, FEW_PRODUCTS) // products)
    ends = None
    if floats and lines.columns and block.sums > 1 and (at_once or not gathers):
        ends = choose_ends(span_columns, 1 if gathers else block.columns, block.filters)
    return ConvPlan(
        rows,
        columns,
        pool,
        mode,
        span_rows,
        span_columns,
        block,
        ends,
        lines,
        channels,
        window_at_once=at_once,
        filters_inside=depth == 1 and lines.rows and mode != "scatter" and filters > block.filters,
        holds_sums=held is not None,
    )
