"""The loop structure of a convolution: interior, register block, unrolling."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.axes import AXES
from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import (
    MOST_ENDS,
    SPARE,
    Block,
    Ends,
    Span,
    Unroll,
    choose_block,
    choose_ends,
    choose_mode,
    choose_unroll,
    divisor,
    interior,
    kernel_rows,
    plan,
    whole_rows,
    widest_block,
    window_block,
)


def all_taps_inside(axis: Axis, position: int) -> bool:
    taps = [axis.start(position) + k * axis.dilation for k in range(axis.kernel)]
    return all(0 <= tap < axis.size for tap in taps)


@settings(max_examples=200)
@given(AXES)
def test_interior_is_where_all_taps_are_real(axis: Axis) -> None:
    span = interior(axis, None)
    inside = [p for p in range(axis.outputs) if all_taps_inside(axis, p)]
    assert list(range(span.low, span.high)) == inside or (not inside and span.empty)


@settings(max_examples=200)
@given(st.data(), AXES)
def test_interior_of_a_pooling_window(data: st.DataObject, axis: Axis) -> None:
    kernel, stride, before, after, dilation = data.draw(
        st.tuples(
            st.integers(1, 3),
            st.integers(1, 3),
            st.integers(0, 2),
            st.integers(0, 2),
            st.integers(1, 2),
        )
    )
    pool = Axis(axis.outputs, kernel, stride, before, after, dilation)
    if pool.outputs < 1:
        return
    span = interior(axis, pool)

    def inside(p: int) -> bool:
        rows = [pool.start(p) + k * dilation for k in range(kernel)]
        return all(0 <= row < axis.outputs and all_taps_inside(axis, row) for row in rows)

    expected = [p for p in range(pool.outputs) if inside(p)]
    assert list(range(span.low, span.high)) == expected or (not expected and span.empty)


@pytest.mark.parametrize(
    ("count", "limit", "expected"), [(6, 4, 3), (7, 4, 1), (8, 4, 4), (5, 0, 1), (0, 3, 1)]
)
def test_divisor(count: int, limit: int, expected: int) -> None:
    assert divisor(count, limit) == expected


@pytest.mark.parametrize("registers", [0, 8, 16, 32])
def test_a_block_fits_into_a_quarter_of_the_registers(registers: int) -> None:
    for filters in range(1, 9):
        for width in range(1, 9):
            block = choose_block(filters, Span(0, width, width), None, registers)
            assert 1 <= block.sums <= max(1, registers // 4)
            assert filters % block.filters == 0


@given(st.integers(1, 64), st.integers(1, 20), st.integers(1, 7), st.sampled_from((0, 8, 16, 32)))
def test_the_widest_block_fits_into_the_registers(
    filters: int, width: int, kernel: int, registers: int
) -> None:
    block = widest_block(filters, Span(0, width, width), kernel, registers)
    if block is not None:
        assert block.sums + block.columns + kernel <= registers - SPARE
        assert filters % block.filters == 0
        assert block.columns <= width


def test_the_widest_block_leaves_no_short_rest() -> None:
    """A row of five is one block, one of eight two; one filter of its own has more columns."""
    assert widest_block(64, Span(0, 5, 5), 1, 32) == Block(4, 1, 5)
    assert widest_block(64, Span(0, 8, 8), 3, 32) == Block(4, 1, 4)
    assert widest_block(1, Span(0, 12, 12), 3, 32) == Block(1, 1, 6)
    assert widest_block(8, Span(0, 8, 8), 3, 4) is None


def test_wide_blocks_are_for_long_rows() -> None:
    """Rows of up to 16 columns take blocks of up to six."""
    assert widest_block(1, Span(0, 24, 24), 3, 32, wide=True) == Block(1, 1, 12)
    assert widest_block(1, Span(0, 17, 17), 3, 32, wide=True) == Block(1, 1, 9)
    assert widest_block(1, Span(0, 16, 16), 3, 32, wide=True) == Block(1, 1, 6)
    assert widest_block(1, Span(0, 24, 24), 3, 32) == Block(1, 1, 6)


@settings(max_examples=200)
@given(AXES, st.integers(1, 6), st.integers(1, 6))
def test_blocks_at_the_ends_hold_the_border(axis: Axis, width: int, filters: int) -> None:
    """They are at most as wide as others, and what lies between them is interior."""
    span = interior(axis, None)
    ends = choose_ends(span, width, filters)
    if ends is None:
        border = span.total if span.empty else max(span.low, span.total - span.high)
        assert span.whole or border > width * MOST_ENDS
        return
    low, high = ends.middle(span)
    assert low == high or span.low <= low <= high <= span.high
    assert all(1 <= each <= width for each in (*ends.left, *ends.right))
    assert max(len(ends.left), len(ends.right)) <= MOST_ENDS
    assert [first for first, _ in ends.blocks(high, ends.right)][:1] in ([], [high])


def test_blocks_at_the_ends_leave_whole_blocks_between_them() -> None:
    """Sixteen columns with one of padding on both sides are four blocks of four."""
    assert choose_ends(Span(1, 15, 16), 4, 4) == Ends((4,), (4,))
    assert choose_ends(Span(0, 8, 8), 4, 4) is None
    assert choose_ends(Span(1, 2, 3), 3, 4) == Ends((3,), ())


@settings(max_examples=100)
@given(AXES)
def test_padding_does_not_cut_a_single_row(axis: Axis) -> None:
    """All kernel rows that count lie on real input in the rows without padding."""
    low, high = kernel_rows(axis)
    span = whole_rows(axis)
    if axis.outputs != 1:
        assert (low, high) == (0, axis.kernel)
        assert span == interior(axis, None)
        return
    assert (low, high) == axis.taps(0)
    assert span.whole or low == high


def test_a_pooling_window_has_as_many_filters_as_fit() -> None:
    assert window_block(32, (2, 2), (5, 5), 32, 512) == Block(4, 2, 2)
    assert window_block(32, (2, 2), (5, 5), 32, 256) == Block(2, 2, 2)
    assert window_block(7, (2, 2), (3, 3), 32, 512) == Block(1, 2, 2)
    assert window_block(8, (4, 8), (3, 3), 32, 512) is None


def test_a_pooling_window_is_one_block() -> None:
    assert choose_block(6, Span(0, 14, 14), (2, 2), 32) == Block(2, 2, 2)


def test_large_windows_are_scattered_only_with_registers() -> None:
    assert choose_mode(("gather", "scatter"), (8, 8), 32) == "scatter"
    assert choose_mode(("gather", "scatter"), (2, 2), 32) == "gather"
    assert choose_mode(("gather", "scatter"), (8, 8), 0) == "gather"
    assert choose_mode(("gather",), (8, 8), 32) == "gather"


def test_unrolling_is_bounded() -> None:
    assert choose_unroll((5, 5), 4, 100) == Unroll(rows=True, columns=True)
    assert choose_unroll((5, 5), 4, 99) == Unroll(rows=False, columns=True)
    assert choose_unroll((5, 5), 4, 19) == Unroll(rows=False, columns=False)


def test_a_plan_without_pads_has_no_border() -> None:
    rows = columns = Axis(32, 5)
    pool = (Axis(28, 2, 2), Axis(28, 2, 2))
    result = plan(rows, columns, pool, ("gather",), filters=6, depth=1, registers=32, unroll=256)
    assert result.span_rows.whole
    assert result.span_columns.whole
    assert result.window_at_once
