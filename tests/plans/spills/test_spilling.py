"""The maps that leave the chip are the cheapest set of all that fit."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.arena.problem import Buffer, Overlay
from npu_plans.spills.decide import decide, more, polished
from npu_plans.spills.problem import Misfit, OpMemory, Shared, SpillProblem, TileNeed


@st.composite
def problems(draw: st.DrawFn) -> SpillProblem:
    """A few buffers, some of which cannot leave, and ops with tile buffers."""
    count, points = draw(st.integers(1, 7)), draw(st.integers(1, 6))
    sizes, at = st.integers(1, 20), st.integers(0, points - 1)
    buffers: list[Buffer] = []
    for index in range(count):
        first, last = sorted((draw(at), draw(at)))
        buffers.append(Buffer(f"b{index}", draw(sizes), 1, first, last))
    costs = [draw(st.none() | st.integers(1, 30)) for _ in buffers]
    steps: list[OpMemory] = []
    for point in range(points):
        live = [i for i, each in enumerate(buffers) if each.first <= point <= each.last]
        maps = draw(st.permutations([i for i in live if costs[i] is not None]))[:2]
        subset_sizes = draw(st.tuples(*[st.integers(0, 6)] * (1 << len(maps))))
        steps.append(
            OpMemory(
                point,
                tuple((i, buffers[i].size) for i in live),
                (TileNeed(tuple(maps), subset_sizes),),
            )
        )
    return SpillProblem(tuple(buffers), tuple(costs), tuple(steps))


def subsets(problem: SpillProblem) -> list[frozenset[int]]:
    """All sets of buffers that can leave."""
    movable = sorted(problem.movable)
    counts = range(len(movable) + 1)
    return [frozenset(s) for s in chain.from_iterable(combinations(movable, n) for n in counts)]


@settings(max_examples=50, deadline=None)
@given(problem=problems(), capacity=st.integers(5, 60), data=st.data())
def test_no_set_of_maps_is_cheaper(
    problem: SpillProblem, capacity: int, data: st.DataObject
) -> None:
    """The choice is the cheapest if sums of bytes decide. If a plan is needed, it fits."""
    forced = (
        frozenset(data.draw(st.sets(st.sampled_from(sorted(problem.movable)), max_size=1)))
        if problem.movable
        else frozenset[int]()
    )
    sums = [
        problem.cost(each)
        for each in subsets(problem)
        if forced <= each and problem.worst(each)[0] <= capacity
    ]
    if not sums:
        with pytest.raises(Misfit) as caught:
            decide(problem, capacity, forced)
        assert caught.value.needed > capacity
        return
    try:
        chosen = decide(problem, capacity, forced)
    except Misfit:
        assert not problem.fits(problem.movable, capacity)
        return
    assert forced <= chosen <= problem.movable | forced
    assert problem.fits(chosen, capacity)
    assert problem.cost(chosen) >= min(sums)
    optima = [
        each for each in subsets(problem) if forced <= each and problem.cost(each) == min(sums)
    ]
    if all(problem.fits(each, capacity) for each in optima if problem.worst(each)[0] <= capacity):
        assert problem.cost(chosen) == min(sums)
    for index in chosen - forced:
        assert not problem.fits(chosen - {index}, capacity)
    assert decide(problem, capacity, forced) == chosen


@settings(max_examples=50, deadline=None)
@given(problem=problems(), capacity=st.integers(5, 60), data=st.data())
def test_a_buffer_does_not_come_back(
    problem: SpillProblem, capacity: int, data: st.DataObject
) -> None:
    """What takes over from a buffer off the chip is off the chip; no such set is cheaper."""
    numbers = st.integers(0, len(problem.buffers) - 1)
    moves = tuple(data.draw(st.lists(st.tuples(numbers, numbers), max_size=3)))
    problem = replace(problem, moves=moves)
    allowed = [
        each
        for each in subsets(problem)
        if all(late in each for early, late in moves if early in each)
        and problem.worst(each)[0] <= capacity
    ]
    try:
        chosen = decide(problem, capacity)
    except Misfit:
        assert not any(problem.fits(each, capacity) for each in allowed)
        return
    assert chosen <= problem.movable
    assert all(late in chosen for early, late in moves if early in chosen)
    assert problem.fits(chosen, capacity)
    best = min(problem.cost(each) for each in allowed)
    assert problem.cost(chosen) >= best
    optima = [each for each in allowed if problem.cost(each) == best]
    if all(problem.fits(each, capacity) for each in optima):
        assert problem.cost(chosen) == best


def test_what_takes_over_leaves_with_it() -> None:
    """The cheap map would leave, but the dear one that takes over from it would have to follow."""
    problem = chain_of([60, 60, 1])
    cheap = replace(problem, costs=(10, 30, None), moves=((0, 1),))
    assert decide(cheap, 100) == {1}
    assert decide(replace(cheap, moves=()), 100) == {0}
    assert decide(cheap, 100, frozenset({0})) == {0, 1}
    assert polished(cheap, 100, frozenset({0, 1}), frozenset()) == {1}
    large = replace(chain_of([70, 60, 1]), costs=(30, 10, None), moves=((0, 1),))
    assert more(large, 100, frozenset(), frozenset()) == {1}


def chain_of(sizes: list[int]) -> SpillProblem:
    """A chain of layers: map i is written at point i and read at point i + 1; costs 2 a byte."""
    buffers = [Buffer(f"m{i}", size, 1, i, i + 1) for i, size in enumerate(sizes)]
    steps = [
        OpMemory(
            point,
            tuple((i, sizes[i]) for i in (point - 1, point) if 0 <= i < len(sizes)),
            (TileNeed((), (0,)),),
        )
        for point in range(len(sizes) + 1)
    ]
    return SpillProblem(tuple(buffers), tuple(2 * size for size in sizes), tuple(steps))


def test_one_map_between_two_peaks_is_enough() -> None:
    assert decide(chain_of([10, 60, 50, 60, 10]), 100) == {2}


def test_tile_buffers_count() -> None:
    """Without room for its tiles, the cheap map in the middle does not help."""
    problem = chain_of([10, 60, 50, 60, 10])
    middle = TileNeed((1, 2), (0, 45, 45, 101))
    steps = [*problem.steps[:2], OpMemory(2, problem.steps[2].live, (middle,)), *problem.steps[3:]]
    tight = SpillProblem(problem.buffers, problem.costs, tuple(steps))
    assert decide(tight, 100) == {1, 3}


def test_sums_that_fit_are_not_enough() -> None:
    """At most 10 bytes live at a time, but alignments leave no plan in 10."""
    buffers = (
        Buffer("a", 6, 6, 0, 1),
        Buffer("b", 3, 3, 0, 0),
        Buffer("c", 4, 4, 1, 2),
        Buffer("d", 5, 5, 2, 3),
    )
    live = [[i for i, each in enumerate(buffers) if each.first <= p <= each.last] for p in range(4)]
    steps = tuple(OpMemory(p, tuple((i, buffers[i].size) for i in live[p])) for p in range(4))
    problem = SpillProblem(buffers, (9, 2, 4, 5), steps)
    assert problem.worst(frozenset())[0] == 10
    assert not problem.fits(frozenset(), 10)
    chosen = decide(problem, 10)
    assert chosen
    assert problem.fits(chosen, 10)
    for forced in range(4):
        assert decide(problem, 10, {forced}) >= {forced}
        everything = frozenset(range(4))
        assert forced in polished(problem, 10, everything, {forced})


def test_a_buffer_that_grows_counts_as_far_as_it_is_filled() -> None:
    """A scratch buffer lies in the place of the second slice, which is not filled yet."""
    buffers = (Buffer("y", 100, 1, 0, 2), Buffer("scratch", 50, 1, 0, 0))
    steps = (OpMemory(0, ((0, 50), (1, 50))), OpMemory(2, ((0, 100),)))
    problem = SpillProblem(buffers, (200, 100), steps, (Overlay(0, 1, 50),))
    assert decide(problem, 100) == frozenset()


def test_the_step_that_cannot_fit_is_named() -> None:
    buffers = (Buffer("a", 30, 1, 0, 1), Buffer("b", 30, 1, 1, 2))
    steps = (
        OpMemory(0, ((0, 30),), (TileNeed((0,), (0, 4)),)),
        OpMemory(1, ((0, 30), (1, 30)), (TileNeed((0, 1), (0, 20, 12, 33)),)),
    )
    with pytest.raises(Misfit) as caught:
        decide(SpillProblem(buffers, (60, 60), steps), 32)
    assert (caught.value.point, caught.value.needed) == (1, 33)


def test_no_solver_is_loaded_where_everything_fits() -> None:
    code = (
        "import sys\n"
        "from npu_plans.arena.problem import Buffer\n"
        "from npu_plans.spills.decide import decide\n"
        "from npu_plans.spills.problem import SpillProblem, OpMemory\n"
        "fits = SpillProblem((Buffer('a', 10),), (20,), (OpMemory(0, ((0, 10),)),))\n"
        "assert not decide(fits, 10)\n"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'scipy']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_buffers_that_share_rows_count_once() -> None:
    """If one of them leaves the chip, the other one counts in full."""
    buffers = (Buffer("x", 60, 1, 0, 1), Buffer("y", 50, 1, 1, 2), Buffer("z", 40, 1, 1, 1))
    live = ((0, 60), (1, 50), (2, 40))
    steps = (OpMemory(1, live, (), (Shared(0, 1, 50),)), OpMemory(2, ((1, 50),)))
    overlays = (Overlay(1, 0, 0, exact=True),)
    problem = SpillProblem(buffers, (10, 11, 12), steps, overlays)
    assert decide(problem, 100) == frozenset()
    assert decide(problem, 99) == {0}
    assert decide(problem, 70) == {2}
    assert decide(problem, 45) == {0, 1}
