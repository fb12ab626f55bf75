"""The loop structure of a convolution: register blocks, unrolling, interior and border. No IR.

Outputs whose taps all lie on real input are the *interior*; they are computed in register blocks
with an unrolled kernel. The rest, the *border*, is computed point by point with clipped tap ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from npu_dialect.windows import Axis

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
    unroll: Unroll
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
SPARE = 2
"""Registers that a register block of several filters leaves free."""


def widest_block(filters: int, span_columns: Span, kernel: int, registers: int) -> Block | None:
    """The register block of several filters that takes the fewest loads and products for a row.

    Its sums, the inputs of a row of `kernel` taps, and a weight must fit into the `registers`. What
    is left of a row is a block of fewer columns. None if no block of several filters fits.
    """
    width = span_columns.high - span_columns.low

    def work(columns: int, filters: int) -> int:
        return columns + filters + columns * filters if columns else 0

    def row(block: Block) -> float:
        whole, rest = divmod(width, block.columns)
        one = whole * work(block.columns, block.filters) + work(rest, block.filters)
        return one / block.filters

    blocks = [
        Block(each, 1, columns)
        for each in range(2, MOST_FILTERS + 1)
        for columns in range(1, min(width, MOST_COLUMNS) + 1)
        if filters % each == 0 and each * columns + columns + kernel - 1 + 1 <= registers - SPARE
    ]
    return min(blocks, key=lambda block: (row(block), block.sums), default=None)


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
) -> ConvPlan:
    """The loop structure of a convolution with `filters` filters of `depth` channels in a group.

    `modes`: the possible ways to compute the pooling, best first; `registers`: floating-point
    registers, 0 without an FPU; `unroll`: the most multiply-accumulates of straight-line code;
    `floats`: whether sums are in floating-point registers.
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
    if floats and not gathers:
        wide = widest_block(filters, span_columns, columns.kernel, registers)
        block = wide or block
    kernel = (rows.kernel, columns.kernel)
    lines = choose_unroll(kernel, block.sums, unroll)
    return ConvPlan(
        rows,
        columns,
        pool,
        mode,
        span_rows,
        span_columns,
        block,
        lines,
        window_at_once=at_once,
        filters_inside=depth == 1 and lines.rows and mode != "scatter" and filters > block.filters,
    )
