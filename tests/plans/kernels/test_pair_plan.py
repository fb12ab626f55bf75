"""Pairs of neighbouring elements: turns of weights, their loads, and registers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.pair_plan import (
    REGISTERS,
    RowOfPairs,
    beats_lines,
    pack_pairs,
    plan_of,
    row_of,
    takes_rows,
    width_of,
)

ROW = Axis(12, 3, 1, 1, 1)


def half(word: int, letter: str) -> int:
    """A signed half of a word."""
    bits = word >> 16 & 0xFFFF if letter == "t" else word & 0xFFFF
    return bits - (1 << 16 if bits >> 15 else 0)


def sums_of(row: RowOfPairs, line: list[int], packed: list[int], outputs: int) -> list[list[int]]:
    """The sums of a kernel row, [outputs, filters], computed as turns and loads say."""
    sums = [[0] * row.filters for _ in range(outputs)]
    order = [word for load in row.loads for word in load.words]
    weights = dict(zip(order, packed, strict=True))
    for number, turn in enumerate(row.turns_of(outputs)):
        for product in turn.products:
            pair = {"b": line[product.word], "t": line[product.word + 1]}
            for filter in range(row.filters):
                for one, other in [product.halves] if product.halves else ("bb", "tt"):
                    weight = half(weights[number, filter], other)
                    sums[product.output][filter] += pair[one] * weight
    return sums


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("taps", range(2, 8))
@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_turns_are_a_row_of_the_convolution(
    taps: int, stride: int, most: int, outputs: int, filters: int, seed: int
) -> None:
    row, outputs = RowOfPairs(taps, stride, most, filters), min(most, outputs)
    random = np.random.default_rng(seed)
    line = random.integers(-255, 256, row.elements(most) + 1).tolist()
    weights = random.integers(-128, 128, (filters, 1, taps)).astype(np.int8)
    wanted = [
        [
            sum(line[output * stride + tap] * int(weights[filter, 0, tap]) for tap in range(taps))
            for filter in range(filters)
        ]
        for output in range(outputs)
    ]
    assert sums_of(row, line, pack_pairs(weights, row).tolist(), outputs) == wanted


def test_blocks_of_filters_follow_each_other_row_by_row() -> None:
    weights = np.arange(4 * 2 * 3, dtype=np.int8).reshape(4, 2, 3)
    row = RowOfPairs(3, 1, 4, 2)
    packed = pack_pairs(weights, row).reshape(2, 2, row.size)
    for block in range(2):
        for ky in range(2):
            part = weights[2 * block : 2 * block + 2, ky : ky + 1]
            np.testing.assert_array_equal(packed[block, ky], pack_pairs(part, row))


@pytest.mark.parametrize(
    ("taps", "stride", "filters", "outputs", "instructions"),
    [(3, 1, 2, 4, 27), (3, 1, 3, 2, 21), (3, 1, 4, 2, 26), (3, 2, 2, 2, 17), (5, 1, 2, 4, 40)],
)
def test_as_many_outputs_as_registers_hold(
    taps: int, stride: int, filters: int, outputs: int, instructions: int
) -> None:
    row = row_of(taps, stride, filters)
    assert row is not None
    assert row.registers <= REGISTERS
    assert (row.outputs, row.instructions) == (outputs, instructions)


def test_registers_hold_sums_words_of_elements_and_of_weights_and_pointers() -> None:
    assert RowOfPairs(3, 1, 4, 2).registers == 8 + 2 + 2 + 2
    assert RowOfPairs(3, 1, 2, 3).registers == 6 + 1 + (2 + 1) + 2


@pytest.mark.parametrize(
    ("multiplier", "planes", "filters"),
    [(2, False, 2), (3, False, 3), (4, False, 4), (6, False, 2), (2, True, 2), (4, True, 2)],
)
def test_filters_of_a_block(multiplier: int, planes: bool, filters: int) -> None:
    row = plan_of(ROW, ROW, multiplier, planes=planes)
    assert row is not None
    assert row.filters == filters


@pytest.mark.parametrize(
    ("rows", "columns", "multiplier", "planes"),
    [
        (ROW, ROW, 1, False),
        (ROW, ROW, 5, False),
        (ROW, ROW, 3, True),
        (ROW, Axis(12, 3, 1, 1, 1, 2), 2, False),
        (ROW, Axis(12, 1, 1), 2, False),
        (ROW, Axis(3, 3, 1, 1, 1), 2, False),
        (Axis(12, 11, 1, 5, 5), ROW, 2, False),
        (ROW, Axis(12, 3, 1, 3, 0), 2, False),
    ],
)
def test_layers_that_it_cannot_compute(
    rows: Axis, columns: Axis, multiplier: int, planes: bool
) -> None:
    assert plan_of(rows, columns, multiplier, planes=planes) is None


def test_long_rows_are_computed_channel_by_channel() -> None:
    assert takes_rows(ROW)
    assert takes_rows(Axis(8, 3, 1, 1, 1))
    assert not takes_rows(Axis(7, 3, 1, 1, 1))
    assert not takes_rows(Axis(24, 3, 2, 1, 1))
    assert not takes_rows(Axis(12, 5, 1, 2, 2))


def test_kernels_of_many_taps_have_short_code() -> None:
    assert width_of(ROW, RowOfPairs(3, 1, 2, 3)) == 4
    assert width_of(Axis(12, 5, 2, 2, 2), RowOfPairs(5, 2, 2, 3)) == 2


def test_lines_take_fewer_instructions_on_wide_rows_of_two_filters() -> None:
    assert beats_lines(Axis(16, 3, 1, 1, 1), 2)
    assert not beats_lines(Axis(17, 3, 1, 1, 1), 2)
    assert beats_lines(Axis(17, 3, 1, 1, 1), 3)
    assert beats_lines(Axis(48, 3, 2, 1, 1), 2)
