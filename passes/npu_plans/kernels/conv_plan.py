"""How a convolution becomes loops: what is computed together, and where the border begins.

Mathematics only. Outputs whose taps all lie on real input are the *interior*; they are computed in
register blocks with an unrolled kernel. The rest, the *border*, is computed point by point with
clipped tap ranges.
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
    """Outputs of the convolution that are computed together: filters x rows x columns."""

    filters: int
    rows: int
    columns: int

    @property
    def sums(self) -> int:
        """Accumulators that are live at once."""
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
    output, if any; `span_rows`, `span_columns`: interior positions on the grid that is walked
    (pooled outputs when gathering, else convolution outputs).
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
    """Gathering: whether the pooling window is one register block (else one value at a time)."""
    filters_inside: bool
    """Whether the loop over filters is inside the walk over the grid.

    With one channel there is no loop between the grid and the taps: outside, all weights of a block
    would be invariant in the walk, and a compiler that keeps them in registers runs out of those.
    """


def interior(axis: Axis, pool: Axis | None) -> Span:
    """Interior positions of a kernel window, or of a pooling window over kernel windows."""
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
    """The largest divisor of count that is at most limit (1 if there is none)."""
    return max(d for d in range(1, max(1, limit) + 1) if count % d == 0) if count else 1


def choose_block(
    filters: int, span_columns: Span, window: tuple[int, int] | None, registers: int
) -> Block:
    """The register block: as many sums as a quarter of the registers hold.

    `filters`: filters of one group; `window`: pooling window that one block covers.
    Without an FPU (no registers) sums are computed one by one: nothing is gained by sharing loads.
    """
    budget = max(1, registers // 4)
    rows, columns = window or (1, 1)
    if window is None and not span_columns.empty:
        columns = min(4, budget, span_columns.high - span_columns.low)
        even = divisor(span_columns.high - span_columns.low, columns)
        columns = even if even > 1 else columns
    return Block(divisor(filters, min(4, budget // (rows * columns))), rows, columns)


def choose_unroll(kernel: tuple[int, int], sums: int, limit: int) -> Unroll:
    """Write out as many tap loops as keep a straight line at `limit` multiply-accumulates."""
    columns = kernel[1] * sums <= limit
    return Unroll(rows=columns and kernel[0] * kernel[1] * sums <= limit, columns=columns)


def choose_mode(
    modes: tuple[PoolMode, ...], window: tuple[int, int] | None, registers: int
) -> PoolMode:
    """The best mode, or the second best where a window is larger than a register block.

    Scattering shares loads between neighbours; without an FPU nothing is gained by that.
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
) -> ConvPlan:
    """The loop structure of a convolution with `filters` filters of `depth` channels in a group.

    `modes`: ways to compute its pooling window, best first.
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
