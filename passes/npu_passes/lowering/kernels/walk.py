"""Loops over the outputs of a sliding window: in each row interior pairs first, then the others.

The bodies for pairs and for single outputs are each built once, so that the code stays small:

    for oy = 0 to H
      inside = is oy a row of the interior?
      for ox = low to (high if inside else low) step 2: the pair (oy, ox), (oy, ox + 1)
      for i = 0 to what is left: the single output (oy, i, or behind the pairs)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import Ends, Span

Visit = Callable[[Index, Index], None]


def visit(
    b: LoopBuilder, rows: Span, columns: Span, width: int, block: Visit, point: Visit
) -> None:
    """Visit all outputs: `block` computes `width` interior columns of a row, `point` one output."""
    high = columns.low + max(0, columns.high - columns.low) // width * width
    if rows.empty or high == columns.low:
        rows, high = Span(0, 0, rows.total), columns.low

    def one_row(row: Index, _: Sequence[SSAValue]) -> tuple[()]:
        last = last_of(row)

        def pair(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            block(row, column)
            return ()

        def single(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            point(row, behind(b, index, columns.low, b.sub(last, columns.low)))
            return ()

        b.loop(columns.low, last, pair, step=width, hint="ox")
        b.loop(0, b.sub(columns.total, b.sub(last, columns.low)), single, hint="i")
        return ()

    def last_of(row: Index) -> Index:
        if high == columns.low or rows.whole:
            return high
        if isinstance(row, int):
            return high if rows.low <= row < rows.high else columns.low
        inside = b.between(row, rows.low, rows.high)
        op = arith.SelectOp(inside, b.value(high), b.value(columns.low))
        return b.insert(op, "last").result

    b.loop(0, rows.total, one_row, hint="oy")


def behind(b: LoopBuilder, index: Index, low: int, gap: Index) -> Index:
    """The column of a single output; from number `low` on, a gap of interior columns is added."""
    if gap == 0:
        return index
    if low == 0:
        return b.add(index, gap, "ox")
    if isinstance(index, int) and isinstance(gap, int):
        return index + gap if index >= low else index
    beyond = b.insert(arith.CmpiOp(b.value(index), b.value(low), "sge")).result
    op = arith.SelectOp(beyond, b.value(b.add(index, gap)), b.value(index))
    return b.insert(op, "ox").result


MOST_COLUMNS = 8
"""The most border columns with which `visit_lines` is used, as each has code of its own."""

Line = Callable[[Index, bool, Index, int], None]
"""Computes outputs of a row: (row, whether it is interior, column, number of columns)."""

Row = Callable[[Index, bool], tuple[()]]
"""Computes a row of outputs: (row, whether it is interior)."""


def visit_lines(
    b: LoopBuilder,
    rows: Span,
    columns: Span,
    width: int,
    line: Line,
    *,
    once: bool = False,
) -> None:
    """Visit all outputs row by row: `width` interior columns at a time, border columns one by one.

    So are the interior columns that are left. A border column is a known number, so its code can
    leave out padding. If padding cuts some rows, the code of a row is built twice: for these rows
    and for the interior ones. With `once`, it is built once, and treats no row as interior.
    """
    low, high = (columns.low, columns.high) if not columns.empty else (0, 0)
    even = low + (high - low) // width * width

    def one_row(row: Index, inside: bool) -> tuple[()]:
        for column in (*range(low), *range(even, columns.total)):
            line(row, inside, column, 1)

        def some(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            line(row, inside, column, width)
            return ()

        b.loop(low, even, some, step=width, hint="ox")
        return ()

    each_row(b, rows, one_row, once=once)


def visit_blocks(
    b: LoopBuilder, rows: Span, columns: Span, width: int, ends: Ends, line: Line
) -> None:
    """Visit all outputs row by row, from left to right, up to `width` columns at a time.

    The columns of the blocks at the ends are known, so their code can leave out padding; so are
    those of the interior that are left behind its whole blocks. The code of a row is built twice if
    padding cuts some rows, as in `visit_lines`.
    """

    def one_row(row: Index, inside: bool) -> tuple[()]:
        def some(column: Index, count: int) -> None:
            line(row, inside, column, count)

        visit_columns(b, columns, width, ends, some)
        return ()

    each_row(b, rows, one_row)


def visit_columns(
    b: LoopBuilder,
    columns: Span,
    width: int,
    ends: Ends,
    some: Callable[[Index, int], None],
    straight: int = 1,
) -> None:
    """Visit the outputs of a row as `visit_blocks` does: `some` computes a number of columns.

    Between the ends, up to `straight` whole blocks are straight-line code.
    """
    low, high = ends.middle(columns)
    even = low + (high - low) // width * width

    def one(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
        some(column, width)
        return ()

    for column, count in Ends.blocks(0, ends.left):
        some(column, count)
    if even - low <= straight * width:
        for column in range(low, even, width):
            some(column, width)
    else:
        b.loop(low, even, one, step=width, hint="ox")
    if even < high:
        some(even, high - even)
    for column, count in Ends.blocks(high, ends.right):
        some(column, count)


def each_row(b: LoopBuilder, rows: Span, one_row: Row, *, once: bool = False) -> None:
    """Visit all rows; `once`: the code of a row is built once, and treats no row as interior."""

    def body(row: Index, _: Sequence[SSAValue]) -> tuple[()]:
        if rows.whole or rows.empty or once:
            return one_row(row, rows.whole)
        if isinstance(row, int):
            return one_row(row, rows.low <= row < rows.high)
        inside = b.between(row, rows.low, rows.high)
        b.choose(inside, lambda: one_row(row, True), lambda: one_row(row, False))
        return ()

    b.loop(0, rows.total, body, hint="oy")


def each_strip(
    b: LoopBuilder, columns: Span, width: int, strip: Callable[[Index, int], None]
) -> tuple[()]:
    """Visit the outputs of a row from left to right, up to `width` of them at a time.

    Strips with columns that padding cuts have known columns, and so code of their own. So has what
    is left of a row behind its whole strips.
    """
    low, high = (columns.low, columns.high) if not columns.empty else (columns.total,) * 2
    first = min(-(-low // width) * width, columns.total)
    even = first + max(0, high - first) // width * width

    def some(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
        strip(column, width)
        return ()

    for column in range(0, first, width):
        strip(column, min(width, columns.total - column))
    b.loop(first, even, some, step=width, hint="ox")
    for column in range(even, columns.total, width):
        strip(column, min(width, columns.total - column))
    return ()


def border_columns(columns: Span, width: int) -> int:
    """The number of columns for which `visit_lines` builds code of their own."""
    return columns.total - max(0, columns.high - columns.low) // width * width
