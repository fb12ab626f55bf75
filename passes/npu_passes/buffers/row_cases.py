"""Rows of a layer in a region that need rows which no buffer has: each is a layer of its own.

rows 0 to 7 of a 3x3 convolution of an input of 8 rows, padded by 1
->  row 0: 1 row above is missing    rows 1 to 6    row 7: 1 row below is missing
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from npu_dialect.npu.row_regions import RegionMap
from npu_dialect.row_times import RowRead
from npu_passes.support.loop_builder import Index, LoopBuilder


class Case(NamedTuple):
    """Rows of a layer, and how many rows that each needs are missing above and below."""

    rows: range
    above: int = 0
    below: int = 0


def cases_of(
    result: RegionMap, reads: Sequence[tuple[RowRead, bool]], *, top_rows: bool
) -> list[Case]:
    """The cases of the rows of a layer; that in which nothing is missing comes last.

    `reads` are the ways to read its maps, and whether each has a ring. Then nothing is missing, but
    with `top_rows` the rows above. One of them needs padding at most.
    """
    rows = result.computed
    for read, has_ring in reads:
        if has_ring and top_rows and read.top(rows):
            return top_cases(read, rows)
        if not has_ring and read.padding(rows) != (0, 0):
            return border_cases(read, rows)
    return [Case(range(rows))]


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
