"""Transfers are cut into parts where that makes the core wait less, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npu_plans.prefetch.parts import PARTS, Course, Step, cut, parts_of, sizes_of
from npu_plans.prefetch.plan import MOST_RUNNING
from npu_plans.time.clock import Clock
from npu_plans.time.program import Rename, Start, Wait, Work
from npu_plans.time.rates import Rates
from npu_plans.transfers.runs import run_count, sliced_axis

RATES = Rates({}, Fraction(1), Fraction(16), setup=100, jump=4, channels=4)
ROWS = Start(0, 64 * 240, 240)
"""240 runs of 64 bytes: 1056 cycles before the first byte, and 960 for all."""
WAIT = Wait(0)


def waited(steps: Sequence[Step], slices: dict[int, int], parts: dict[int, int]) -> int:
    return Course(RATES, Clock([0] * RATES.channels)).run(steps, slices, parts)


def test_a_transfer_that_the_core_waits_for() -> None:
    steps = (ROWS, WAIT)
    assert waited(steps, {}, {}) == 100 + 239 * 4 + 960
    assert waited(steps, {0: 240}, {0: 4}) == 100 + 59 * 4 + 960
    # With eight parts on four channels, the last four are prepared while others have the bus.
    assert waited(steps, {0: 240}, {0: 8}) == 100 + 29 * 4 + 960
    assert parts_of(steps, {0: 240}, RATES, again=False) == {0: 6}


def test_a_transfer_that_hides() -> None:
    assert parts_of((ROWS, Work(3000), WAIT), {0: 240}, RATES, again=False) == {}


def test_what_cannot_be_cut() -> None:
    assert parts_of((ROWS, WAIT), {}, RATES, again=False) == {}
    assert parts_of((Start(0, 4096, 1), WAIT), {0: 64}, RATES, again=False) == {}
    assert parts_of((ROWS, WAIT), {0: 3}, RATES, again=False) == {0: 3}


def test_parts_have_to_be_worth_a_start() -> None:
    """Two parts save 4 cycles a run for half of the runs."""
    few, enough = Start(0, 640, 10), Start(0, 1024, 16)
    assert parts_of((few, WAIT), {0: 10}, RATES, again=False) == {}
    assert parts_of((enough, WAIT), {0: 16}, RATES, again=False) == {0: 2}


def test_busy_channels() -> None:
    """Four transfers of many runs have four channels: parts would queue behind the others."""
    starts = [Start(token, 240, 240) for token in range(4)]
    waits = [Wait(token) for token in range(4)]
    slices = dict.fromkeys(range(4), 240)
    assert parts_of((*starts, *waits), slices, RATES, again=False) == {}
    one = (*(Start(token, 16) for token in (1, 2, 3)), starts[0], *waits)
    assert parts_of(one, slices, RATES, again=False)


def test_a_loop_goes_on_with_its_first_step() -> None:
    """The load for the next step runs beside this one, and is waited for at its end."""
    body = (ROWS, Work(1500), WAIT)
    (parts,) = parts_of(body, {0: 240}, RATES, again=True).values()
    again = waited(body * 9, {0: 240}, {0: parts})
    assert again < waited(body * 9, {}, {}) == 9 * (100 + 239 * 4 + 960 - 1500)


def test_a_loop_carries_transfers() -> None:
    """What is waited for two steps behind its start hides beside two steps."""
    steps = (ROWS, Work(1100), Wait(-1), Rename(((0, -1),)))
    first = waited(steps, {}, {})
    assert first == 0
    assert waited(steps * 5, {}, {}) == 0
    late = (ROWS, Work(500), Wait(-1), Rename(((0, -1),)))
    assert parts_of(steps, {0: 240}, RATES, again=True) == {}
    assert waited(late * 5, {}, {}) > 0


def test_at_most_so_many_run_at_a_time() -> None:
    others = [Start(token, 16) for token in range(1, MOST_RUNNING - 1)]
    waits = [Wait(token) for token in range(1, MOST_RUNNING - 1)]
    steps = (*others, Work(10000), ROWS, WAIT, *waits)
    assert parts_of(steps, {0: 240}, RATES, again=False) == {0: 2}
    steps = (Start(MOST_RUNNING, 16), *steps)
    assert parts_of(steps, {0: 240}, RATES, again=False) == {}


TRANSFERS = st.lists(
    st.tuples(st.integers(1, 60), st.integers(1, 9), st.integers(1, 99), st.integers(0, 900)),
    min_size=1,
    max_size=24,
)


@settings(max_examples=60, deadline=None)
@given(sizes=TRANSFERS, behind=st.integers(0, 6), again=st.booleans())
def test_random_blocks(sizes: list[tuple[int, int, int, int]], behind: int, *, again: bool) -> None:
    """Each transfer is waited for some transfers later; parts never make the block slower."""
    steps: list[Step] = []
    for token, (slices, runs, length, work) in enumerate(sizes):
        steps += [Start(token, slices * runs * length, slices * runs), Work(work)]
        steps += [Wait(token - behind)] if token >= behind else []
    steps += [Wait(each) for each in range(max(0, len(sizes) - behind), len(sizes))]
    slices = {token: each[0] for token, each in enumerate(sizes)}
    found = parts_of(tuple(steps), slices, RATES, again=again)
    assert all(parts in PARTS and parts <= slices[token] for token, parts in found.items())
    running = most = 0
    for step in steps:
        match step:
            case Start():
                running += found.get(step.token, 1)
                moved = list(cut(step, slices[step.token], found.get(step.token, 1)))
                assert sum(each.bytes for each in moved) == step.bytes
                assert sum(each.runs for each in moved) == step.runs
            case Wait():
                running -= found.get(step.token, 1)
            case _:
                pass
        most = max(most, running)
    assert most <= MOST_RUNNING or not found


@pytest.mark.parametrize(("slices", "parts"), [(7, 3), (8, 2), (3, 3), (9, 8)])
def test_parts_are_about_as_large(slices: int, parts: int) -> None:
    sizes = sizes_of(slices, parts)
    assert sum(sizes) == slices
    assert len(sizes) == parts
    assert max(sizes) - min(sizes) <= 1


AXES = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3), st.integers(0, 3)), max_size=5)


@settings(max_examples=200, deadline=None)
@given(AXES, st.integers(2, 6))
@example([(1, 0, 0), (6, 0, 0), (2, 0, 3), (5, 0, 0)], 3)
def test_cuts_keep_the_runs(axes: list[tuple[int, int, int]], parts: int) -> None:
    """Rows with gaps on either side; the parts have as many runs, and no other axis is longer."""
    shape = [extent for extent, _, _ in axes]
    strides: list[list[int]] = []
    for side in (1, 2):
        found, reach = list[int](), 1
        for each in reversed(axes):
            found.insert(0, reach)
            reach = reach * each[0] + each[side]
        strides.append(found)
    target, source = strides
    axis, total = sliced_axis(shape, target, source, 1), run_count(shape, target, source, 1)
    if axis is None:
        # Without an axis to cut along, gaps lie between axes of one element at most.
        assert total == 1
        return
    extent = shape[axis]
    pieces = [
        [*shape[:axis], size, *shape[axis + 1 :]] for size in sizes_of(extent, min(extent, parts))
    ]
    assert sum(run_count(each, target, source, 1) for each in pieces) == total
    assert sum(map(prod, pieces)) == prod(shape)
