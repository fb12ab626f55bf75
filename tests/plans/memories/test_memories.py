"""The chosen memories are the cheapest of all in which the buffers fit."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.arena.fillings import Occupancy
from npu_plans.arena.problem import Buffer, Overlay
from npu_plans.memories.cheapest import cheapest
from npu_plans.memories.decide import Overflow, decide, one_by_one
from npu_plans.memories.problem import MemoryProblem, Room


@st.composite
def problems(draw: st.DrawFn) -> MemoryProblem:
    """A few buffers, some tied, some with a memory that they must not lie in; some may overlap."""
    rooms = tuple(
        Room(f"m{index}", draw(st.integers(1, 40))) for index in range(draw(st.integers(2, 3)))
    )
    count, points = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    at = st.integers(0, points - 1)
    buffers: list[Buffer] = []
    for index in range(count):
        first, last = sorted((draw(at), draw(at)))
        buffers.append(Buffer(f"b{index}", draw(st.integers(0, 20)), 1, first, last))
    cost = st.none() | st.integers(0, 30).map(Fraction)
    costs = [tuple(draw(cost) for _ in rooms) for _ in buffers]
    costs = [
        each if any(c is not None for c in each) else (Fraction(1),) * len(rooms) for each in costs
    ]
    rows = tuple(
        Overlay(two, one, 0)
        for one, two in product(range(count), repeat=2)
        if one != two and buffers[one].last == buffers[two].first and draw(st.booleans())
    )
    units: list[tuple[int, ...]] = [(index,) for index in range(count)]
    if count > 1 and draw(st.booleans()) and costs[0] == costs[1]:
        units[:2] = [(0, 1)]
    lived = Occupancy(tuple(buffers), ((),) * count, rows)
    return MemoryProblem(rooms, lived, tuple(costs), tuple(units), rows)


def every_plan(problem: MemoryProblem) -> list[tuple[int, ...]]:
    """All plans in which offsets are found."""
    rooms = range(len(problem.rooms))
    allowed = [[room for room in rooms if costs[room] is not None] for costs in problem.unit_costs]
    return [places for places in product(*allowed) if problem.fits(places)]


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_no_plan_that_fits_is_cheaper(problem: MemoryProblem) -> None:
    """The plan fits. It is the cheapest one if sums of bytes decide, as without overlays."""
    plans = every_plan(problem)
    try:
        chosen = decide(problem)
    except Overflow as overflow:
        assert not plans or problem.rows
        sizes = zip(overflow.arenas, problem.rooms, strict=True)
        assert any(size > room.bytes for size, room in sizes)
        return
    assert chosen in plans
    if not problem.rows:
        cheapest_plan = min(map(problem.cycles, plans))
        # Each memory in use counts like a cycle.
        assert cheapest_plan <= problem.cycles(chosen) <= cheapest_plan + len(problem.rooms)


@settings(max_examples=30, deadline=None)
@given(problem=problems())
def test_one_by_one_fits_too(problem: MemoryProblem) -> None:
    try:
        chosen = one_by_one(problem)
    except Overflow:
        return
    assert chosen in every_plan(problem)


def chain(sizes: list[int], rooms: tuple[Room, ...], *hot: int) -> MemoryProblem:
    """Buffers of which each lives together with the next; `hot` ones gain ten times as much."""
    buffers = tuple(Buffer(f"b{i}", size, 1, i, i + 1) for i, size in enumerate(sizes))
    costs = tuple(
        tuple(Fraction(size * (10 if i in hot else 1) * (room + 1)) for room in range(len(rooms)))
        for i, size in enumerate(sizes)
    )
    units = tuple((index,) for index in range(len(sizes)))
    return MemoryProblem(rooms, Occupancy(buffers, ((),) * len(sizes)), costs, units)


def test_what_fits_into_the_fastest_memory_needs_no_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("npu_plans.memories.decide.cheapest", None)
    problem = chain([10, 20, 30], (Room("fast", 50), Room("slow", 99)))
    assert decide(problem) == (0, 0, 0)


def test_hot_buffers_lie_in_the_fast_memory() -> None:
    rooms = (Room("fast", 20), Room("slow", 99))
    assert decide(chain([20, 20, 20], rooms, 1)) == (1, 0, 1)
    assert decide(chain([20, 20, 20], rooms, 0, 2)) == (0, 1, 0)


@pytest.mark.parametrize(("fast", "places"), [(40, (0, 0, 0)), (39, (0, 1, 0)), (19, (1, 1, 1))])
def test_a_byte_too_few(fast: int, places: tuple[int, ...]) -> None:
    """Two buffers of 20 bytes live together."""
    assert decide(chain([20, 20, 20], (Room("fast", fast), Room("slow", 99)))) == places


def test_of_equal_plans_the_one_with_the_fewest_memories() -> None:
    """Two memories of the same speed: one of them is enough."""
    rooms = (Room("small", 20), Room("one", 50), Room("other", 50))
    lived = Occupancy(tuple(Buffer(f"b{i}", 25, 1, 0, 0) for i in range(2)), ((), ()))
    same = ((Fraction(9), Fraction(5), Fraction(5)),) * 2
    assert decide(MemoryProblem(rooms, lived, same, ((0,), (1,)))) in {(1, 1), (2, 2)}


def test_an_output_over_its_dying_input_takes_no_second_place() -> None:
    """In place, both fit into the fast memory; two of three together do not."""
    buffers = tuple(Buffer(f"b{i}", 20, 1, i, i + 1) for i in range(3))
    rows = (Overlay(1, 0, 0), Overlay(2, 1, 0))
    lived = Occupancy(buffers, ((),) * 3, rows)
    costs = ((Fraction(1), Fraction(9)),) * 3
    rooms = (Room("fast", 20), Room("slow", 99))
    units = ((0,), (1,), (2,))
    assert decide(MemoryProblem(rooms, lived, costs, units, rows)) == (0, 0, 0)
    plain = MemoryProblem(rooms, Occupancy(buffers, ((),) * 3), costs, units)
    assert decide(plain) == (0, 1, 0)


def test_sums_that_fit_may_have_no_offsets() -> None:
    """Around two pins, 20 of 20 bytes are free, but in two pieces: the buffer goes elsewhere."""
    buffers = (
        Buffer("low", 10, 1, 0, 9, pin=10),
        Buffer("high", 10, 1, 0, 9, pin=30),
        Buffer("whole", 20, 1, 0, 9),
    )
    fixed, free = (Fraction(1), None), (Fraction(1), Fraction(2))
    rooms, lived = (Room("fast", 40), Room("slow", 20)), Occupancy(buffers, ((),) * 3)
    problem = MemoryProblem(rooms, lived, (fixed, fixed, free), ((0,), (1,), (2,)))
    assert cheapest(problem, [40, 20]) == (0, 0, 0)
    assert decide(problem) == (0, 0, 1)


def test_what_fits_nowhere_says_how_much_is_missing() -> None:
    problem = chain([20, 30], (Room("fast", 20), Room("slow", 25)))
    with pytest.raises(Overflow, match="arenas of 20, 30 bytes needed") as raised:
        decide(problem)
    assert raised.value.places == (0, 1)
    assert raised.value.arenas == (20, 30)


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 3_072_000_000, 2**40])
def test_a_buffer_of_any_size_that_fits_nowhere(size: int) -> None:
    """It is in the memory that it exceeds least: beside 2**40, a byte is no number for HiGHS."""
    problem = chain([size], (Room("fast", size // 4), Room("slow", size // 2)))
    with pytest.raises(Overflow) as raised:
        decide(problem)
    assert raised.value.places == (1,)
    assert raised.value.arenas == (0, size)


def test_an_unsolved_program_says_how_much_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search has a limit, so it may end without a plan."""

    def nothing(problem: MemoryProblem, limits: list[int], *, over: bool = False) -> None:
        del problem, limits, over

    monkeypatch.setattr("npu_plans.memories.decide.cheapest", nothing)
    problem = chain([20, 30], (Room("fast", 20), Room("slow", 25)))
    with pytest.raises(Overflow, match="arenas of 50, 0 bytes needed"):
        decide(problem)
