"""Loads of several floats: what fits into the registers, and which blocks cost least."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_dialect import dsp
from npu_plans.kernels.float_plan import (
    MOST_LOADED,
    Loads,
    even_block,
    features_at_once,
    inputs_at_once,
    row_block,
    window_filters,
)

SMALL = st.integers(1, 7)


@settings(max_examples=200)
@given(filters=SMALL, sums=st.integers(1, 24), rows=st.integers(1, 3), extent=st.integers(1, 20))
def test_registers_of_rows_and_weights_are_apart(
    filters: int, sums: int, rows: int, extent: int
) -> None:
    """Weights are in the first registers, rows in the last, and all fit beside the sums."""
    loads = Loads(filters, sums, rows, extent, 32)
    if not loads.fit:
        assert loads.taps(100) == 1
        return
    weights = loads.taps(100) * filters
    assert filters <= weights <= MOST_LOADED
    firsts = [loads.first_of(row) for row in range(3 * rows)]
    assert set(firsts) == {32 - extent * (1 + row) for row in range(rows)}
    assert firsts[:rows] == firsts[rows : 2 * rows]
    assert weights + sums <= min(firsts) - 1
    assert loads.taps(2) <= 2


def test_the_dialect_loads_as_many() -> None:
    """The plans have no IR, so they do not read the number of `dsp.load_floats`."""
    assert MOST_LOADED == dsp.MOST_FLOATS


@pytest.mark.parametrize(
    ("filters", "width", "depth", "kernel", "stride", "block"),
    [
        (32, 24, 16, (1, 1), 1, (4, 5)),  # four blocks of five columns and one of four
        (128, 6, 128, (1, 1), 1, (4, 3)),
        (16, 32, 16, (3, 3), 1, (2, 7)),
        (8, 48, 3, (3, 3), 2, (2, 6)),  # a row of 13 inputs
        (1, 48, 1, (3, 3), 1, (1, 8)),  # all weights are in registers
        (1, 24, 1, (5, 5), 1, None),  # they are not
        (16, 16, 16, (1, 1), 2, None),  # half of a row would be loaded in vain
    ],
)
def test_blocks(
    filters: int,
    width: int,
    depth: int,
    kernel: tuple[int, int],
    stride: int,
    block: tuple[int, int] | None,
) -> None:
    assert row_block(filters, width, depth, kernel, stride, 32) == block


@pytest.mark.parametrize(
    ("filters", "width", "depth", "block"),
    [
        (16, 48, 8, (2, 8)),
        (32, 24, 16, (2, 8)),
        (16, 12, 8, (4, 4)),
        (24, 10, 8, (3, 5)),
        (16, 48, 17, None),  # too many channels
        (16, 13, 8, None),  # blocks would leave some columns
        (16, 2, 8, None),  # too few sums
        (1, 48, 8, None),
    ],
)
def test_blocks_that_hold_sums(
    filters: int, width: int, depth: int, block: tuple[int, int] | None
) -> None:
    assert even_block(filters, width, depth, 32) == block


@settings(max_examples=200)
@given(filters=st.integers(1, 64), width=st.integers(1, 64), depth=st.integers(1, 20))
def test_registers_of_held_sums(filters: int, width: int, depth: int) -> None:
    """Weights, sums and inputs are in registers of their own, and blocks leave no rest."""
    block = even_block(filters, width, depth, 32)
    if block is None:
        return
    count, columns = block
    loads = Loads(count, count * columns, 1, columns, 32)
    assert filters % count == width % columns == 0
    assert loads.sums <= MOST_LOADED
    assert loads.taps(depth) * count < loads.first_sum  # and one is left for zero
    assert loads.first_sum + loads.sums == loads.first_of(0)
    assert loads.first_of(0) + columns == 32


def test_filters_of_a_pooling_window() -> None:
    """Two filters leave registers for the weights of several taps; four do not fit."""
    assert window_filters(16, (2, 2), 6, (5, 5), (1, 1), 32, 512) == 2
    assert window_filters(16, (2, 2), 6, (5, 5), (1, 1), 32, 100) is None
    assert window_filters(7, (2, 2), 6, (5, 5), (1, 1), 32, 512) is None


@given(outputs=st.integers(1, 6), most=st.integers(1, 64), depth=st.integers(1, 500))
def test_inputs_of_fully_connected_layers(outputs: int, most: int, depth: int) -> None:
    inputs = inputs_at_once(outputs, most, 32, depth)
    assert 1 <= inputs <= min(most, MOST_LOADED)
    assert inputs + outputs + features_at_once(outputs) * outputs < 32
    assert 1 <= features_at_once(outputs) * outputs <= MOST_LOADED


def test_a_divisor_leaves_no_rest() -> None:
    assert inputs_at_once(6, 10, 32, 400) == 10
    assert inputs_at_once(6, 12, 32, 400) == 10
    assert inputs_at_once(6, 10, 32, 14) == 7
    assert inputs_at_once(6, 10, 32, 13) == 10
