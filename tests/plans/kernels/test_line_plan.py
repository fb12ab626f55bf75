"""Lines of a depthwise convolution: products of words, and strips that fit into a memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.line_plan import LinePlan, groups, pack_lines, steps, weight_pairs


def half(word: int, letter: str) -> int:
    """A signed half of a word."""
    bits = word >> 16 & 0xFFFF if letter == "t" else word & 0xFFFF
    return bits - (1 << 16 if bits >> 15 else 0)


def products_of(
    line: list[int], words: list[int], taps: int, stride: int, outputs: int
) -> list[int]:
    """The sums of a kernel row, computed as the steps say."""
    sums = [0] * outputs
    for step in steps(taps, stride, outputs):
        pair = {"b": line[step.word], "t": line[step.word + 1]}
        for output, number, halves in step.products:
            for one, other in [halves] if halves else ("bb", "tt"):
                sums[output] += pair[one] * half(words[number], other)
    return sums


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("taps", range(2, 9))
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_steps_are_a_row_of_the_convolution(
    taps: int, stride: int, outputs: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    line = random.integers(-255, 256, (outputs - 1) * stride + taps + 2).tolist()
    weights = random.integers(-128, 128, (1, 1, taps)).astype(np.int8)
    words = pack_lines(weights, odd=stride % 2 == 1)[0, 0].tolist()
    wanted = [
        sum(line[output * stride + tap] * int(weights[0, 0, tap]) for tap in range(taps))
        for output in range(outputs)
    ]
    assert products_of(line, words, taps, stride, outputs) == wanted


def test_three_taps_take_two_products_an_output() -> None:
    assert weight_pairs(3, odd=True) == [(0, 1), (1, 2)]
    assert sum(len(step.products) for step in steps(3, 1, 4)) == 2 * 4
    assert [step.word for step in steps(3, 1, 4)] == [0, 2, 4]


@given(st.integers(1, 40))
def test_groups_cover_a_row_once_and_start_at_even_outputs(outputs: int) -> None:
    found = groups(outputs)
    covered = [x for low, high, width in found for x in range(low, high, width)]
    assert sum(high - low for low, high, _ in found) == outputs
    assert covered == sorted(covered)
    assert all(start % 2 == 0 for start in covered)
    assert all((high - low) % width == 0 for low, high, width in found)


AXES = st.builds(
    Axis,
    st.integers(1, 20),
    st.integers(2, 5),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 3),
)


@given(AXES, AXES, st.integers(0, 2000))
def test_strips_fit_and_are_the_highest_that_do(rows: Axis, columns: Axis, room: int) -> None:
    if not LinePlan.fits(rows, columns):
        return
    plan = LinePlan.within(rows, columns, room)
    if plan is None:
        assert LinePlan(rows, columns, 1).elements > room
        return
    assert plan.elements <= room
    higher = LinePlan(rows, columns, plan.strip + 1)
    assert plan.strip == rows.outputs or higher.elements > room
    assert plan.kept <= plan.lines
    chosen = LinePlan.chosen(rows, columns, 2 * room)
    assert chosen is not None
    assert chosen.strips == plan.strips
    assert chosen.elements <= plan.elements


@given(AXES, AXES)
def test_words_stay_in_the_working_memory(rows: Axis, columns: Axis) -> None:
    if not LinePlan.fits(rows, columns):
        return
    plan = LinePlan(rows, columns, 1)
    last = plan.lines * plan.pitch - plan.pitch
    for low, high, width in groups(columns.outputs):
        start = (high - width) * columns.stride
        assert low * columns.stride % 2 == 0
        end = last + start + steps(columns.kernel, columns.stride, width)[-1].word + 2
        assert end <= plan.elements
    assert columns.before + plan.filled <= plan.pitch or plan.filled == 0


def test_gathering_pays_where_taps_are_many() -> None:
    wide = Axis(24, 3, 1, 1, 1)
    strided = Axis(24, 3, 2, 1, 1)
    assert LinePlan.pays(wide, wide)
    assert not LinePlan.pays(strided, strided)
    assert LinePlan.pays(Axis(24, 5, 2, 2, 2), Axis(24, 5, 2, 2, 2))
    assert not LinePlan.pays(wide, Axis(1, 3, 1, 1, 1))
    three, six = Axis(3, 3, 1, 1, 1), Axis(6, 3, 1, 1, 1)
    assert not LinePlan.pays(three, three)
    assert LinePlan.pays(six, six)
