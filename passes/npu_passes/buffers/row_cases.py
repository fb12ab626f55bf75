"""Rows of a layer in a region that need rows which no buffer has: each is a layer of its own.

rows 0 to 7 of a 3x3 convolution of an input of 8 rows, padded by 1
->  row 0: 1 row above is missing    rows 1 to 6    row 7: 1 row below is missing

A ring has rows of padding above and below its map, so all rows of a layer may be one case. But
products with padding are in vain. If they are many, as on a map of few rows, some rows at the top
and some at the bottom are layers of their own as well, which leave out taps on padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

from npu_dialect.npu.row_regions import RegionMap
from npu_dialect.row_times import RowRead
from npu_dialect.windows import Axis
from npu_passes.support.loop_builder import Index, LoopBuilder

LEAST_SHARE = 0.1
"""The least share of kernel rows on padding for which rows at the border are layers of their own.
So is that of a 3x3 kernel on a map of 6 rows."""
MORE_SHARE = 0.05
"""The least share that more such layers must save."""


class Case(NamedTuple):
    """Rows of a layer, and how many rows that each needs are missing above and below."""

    rows: range
    above: int = 0
    below: int = 0


def cases_of(
    result: RegionMap,
    reads: Sequence[tuple[RowRead, bool]],
    axis: Axis | None = None,
    *,
    top_rows: bool,
) -> list[Case]:
    """The cases of the rows of a layer; that in which nothing is missing comes last.

    `reads` are the ways to read its maps, and whether each has a ring. Then nothing is missing, but
    with `top_rows` the rows above. One of them needs padding at most. `axis`: the windows over the
    rows of a ring whose taps on padding may be left out; None to count all taps.
    """
    rows = result.computed
    for read, has_ring in reads:
        if has_ring and top_rows and read.top(rows):
            return top_cases(read, rows)
        if not has_ring and read.padding(rows) != (0, 0):
            return border_cases(read, rows)
    return [Case(range(rows))] if axis is None else cut_cases(axis, rows)


def border_cases(read: RowRead, rows: int) -> list[Case]:
    """The cases of the rows of a layer that reads a whole map."""
    found: list[Case] = []
    for row in range(rows):
        above = min(max(-read.first(row), 0), read.reach)
        missing = above, min(max(read.end(row) - read.height, 0), read.reach - above)
        if found and found[-1][1:] == missing:
            found[-1] = Case(range(found[-1].rows.start, row + 1), *missing)
        else:
            found.append(Case(range(row, row + 1), *missing))
    return sorted(found, key=lambda case: (case[1:] == (0, 0), case.rows.start))


def top_cases(read: RowRead, rows: int) -> list[Case]:
    """The cases of the rows of a layer that reads a ring without padding above the map."""
    top = read.top(rows)
    found = [Case(range(row, row + 1), min(-read.first(row), read.reach)) for row in range(top)]
    return [*found, Case(range(top, rows))] if top < rows else found


def cut_cases(axis: Axis, rows: int) -> list[Case]:
    """The cases of the rows of a layer that reads a ring, without most of the taps on padding.

    Each case is a layer with code of its own. So there is one case if that saves little, and one
    more at the top and at the bottom, or two more if that saves much more.
    """
    taps = [axis.taps(row) for row in range(rows)]
    missing = [low for low, _ in taps], [axis.kernel - high for _, high in taps]
    few, more = (
        list(zip(*(left_out(each, parts) for each in missing), strict=True)) for parts in (1, 2)
    )
    saved, most = (sum(map(sum, found)) / (rows * axis.kernel) for found in (few, more))
    if saved < LEAST_SHARE:
        return [Case(range(rows))]
    found = few if most - saved < MORE_SHARE else more
    firsts = [row for row in range(rows) if row == 0 or found[row] != found[row - 1]]
    cases = [
        Case(range(first, end), *(count * axis.dilation for count in found[first]))
        for first, end in zip(firsts, [*firsts[1:], rows], strict=True)
    ]
    return sorted(cases, key=lambda case: (case[1:] == (0, 0), case.rows.start))


def left_out(missing: Sequence[int], parts: int) -> list[int]:
    """How many of its `missing` taps each row leaves out: 0, or one of some numbers.

    There are at most `parts` numbers, those that leave out the most taps of all rows.
    """
    counts = sorted({count for count in missing if count})
    options = [chosen for size in range(parts + 1) for chosen in combinations(counts, size)]
    rows = [
        [max((each for each in chosen if each <= count), default=0) for count in missing]
        for chosen in options
    ]
    return max(rows, key=sum)


def choose_case(
    b: LoopBuilder, cases: Sequence[Case], row: Index, insert: Callable[[Case], None]
) -> tuple[()]:
    """Build what each case needs, by a choice by the row for all but the last."""
    case, *others = cases
    if not others:
        insert(case)
        return ()

    def here() -> tuple[()]:
        insert(case)
        return ()

    found = b.between(b.value(row), case.rows.start, case.rows.stop)
    b.choose(found, here, lambda: choose_case(b, others, row, insert))
    return ()
