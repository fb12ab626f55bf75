"""The offset strategies on plain data: every plan is valid, and as small as claimed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.offset_problems import problems
from npu_plans.arena import STRATEGIES, greedy, none, ping_pong
from npu_plans.arena.problem import (
    Buffer,
    Overlay,
    PlanError,
    Problem,
    Solution,
    align,
    check,
    live_bound,
)
from npu_plans.arena.two_sided import two_sided


def chain(*sizes: int, alignment: int = 1) -> Problem:
    """The maps of a chain of layers: one layer writes each map, and the next one reads it."""
    return Problem(
        tuple(Buffer(f"m{i}", size, alignment, i, i + 1) for i, size in enumerate(sizes))
    )


def lifetimes(*spans: tuple[int, int, int]) -> Problem:
    """Buffers from (size, first, last)."""
    return Problem(tuple(Buffer(f"b{i}", s, 1, f, e) for i, (s, f, e) in enumerate(spans)))


def test_rows_that_take_the_place_of_rows() -> None:
    """At a distance of 64 bytes the output may overwrite its input row by row; at 65 it may not."""
    pair = (Buffer("input", 96, 1, 0, 1), Buffer("output", 96, 1, 1, 2))
    problem = Problem(pair, (Overlay(below=1, above=0, distance=64, exact=True),))
    assert greedy.solve(problem).arena == 160
    assert check(problem, Solution((64, 0), 160)) == ()
    assert check(problem, Solution((65, 0), 161)) != ()
    assert check(problem, Solution((0, 64), 160)) != ()
    assert check(problem, Solution((96, 0), 192)) == ()


def test_a_quick_plan_stops_where_it_is_small_enough() -> None:
    problem = lifetimes((4, 0, 1), (2, 1, 2), (4, 2, 3), (6, 3, 4))
    assert greedy.quick(problem).arena == greedy.solve(problem).arena == 10
    assert greedy.quick(problem, 16).arena <= 16


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(problem=problems())
def test_every_plan_is_right(problem: Problem) -> None:
    plain, best = none.solve(problem), greedy.solve(problem)
    assert check(problem, plain) == ()
    assert check(problem, best) == ()
    assert live_bound(problem).bytes <= best.arena <= plain.arena
    assert greedy.solve(problem) == best
    quick = greedy.quick(problem)
    assert check(problem, quick) == ()
    assert best.arena <= quick.arena <= plain.arena


@settings(max_examples=50, deadline=None)
@given(problem=problems(largest=4, most=4))
def test_small_plans_are_optimal(problem: Problem) -> None:
    if problem.overlays:
        problem = Problem(problem.buffers)
    assert greedy.solve(problem).arena == optimum(problem)


def optimum(problem: Problem) -> int:
    """The smallest arena, by trying all offsets."""
    best = none.solve(problem).arena

    def tried(offsets: tuple[int, ...], top: int) -> Iterator[int]:
        index = len(offsets)
        if index == len(problem.buffers):
            yield top
            return
        buffer = problem.buffers[index]
        places = range(0, best - buffer.size + 1, buffer.alignment)
        for at in places if buffer.pin is None else (buffer.pin,):
            if all(apart(buffer, at, problem.buffers[i], o) for i, o in enumerate(offsets)):
                yield from tried((*offsets, at), max(top, at + buffer.size))

    return min(tried((), 0))


def apart(one: Buffer, at: int, two: Buffer, there: int) -> bool:
    """Whether two placed buffers may both have their offsets."""
    together = one.first <= two.last and two.first <= one.last and one.size and two.size
    return not together or at + one.size <= there or there + two.size <= at


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(1, 100), min_size=2, max_size=12))
def test_chains(sizes: list[int]) -> None:
    problem, aligned = chain(*sizes), chain(*sizes, alignment=4)
    first, second = sorted(sizes, reverse=True)[:2]
    for each, arena in ((problem, first + second), (aligned, align(first, 4) + second)):
        plan = ping_pong.solve(each)
        assert check(each, plan) == ()
        assert plan.arena == arena
        assert plan.offsets[sizes.index(first)] == 0
    pairs = [one + two for one, two in pairwise(sizes)]
    assert greedy.solve(problem).arena == max(pairs)


@pytest.mark.parametrize("count", [40, 450])
def test_long_chains(count: int) -> None:
    """Placement in simple orders would need up to a quarter more than the largest adjacent pair."""
    random = Random(count)
    sizes = [random.randint(0, 100_000) for _ in range(count)]
    largest = max(one + two for one, two in pairwise(sizes))
    assert greedy.solve(chain(*sizes)).arena == largest
    aligned = chain(*sizes, alignment=16)
    plan = greedy.solve(aligned)
    assert check(aligned, plan) == ()
    assert plan.arena < largest + 16


def test_short_chains() -> None:
    assert ping_pong.solve(chain()) == Solution((), 0)
    assert ping_pong.solve(chain(7)) == Solution((0,), 7)


def test_the_largest_pair_is_enough() -> None:
    """Ping-pong adds up the two largest maps, wherever they are."""
    problem = chain(1000, 100, 900, 50)
    arenas = {name: solve(problem).arena for name, solve in STRATEGIES.items()}
    assert arenas == {"greedy": 1100, "exact": 1100, "ping-pong": 1900, "none": 2050}


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        # Placing by size without the gap below the first buffer needs 240.
        (lifetimes((30, 0, 0), (60, 1, 3), (120, 0, 2), (60, 3, 3)), 180),
        # No order of the greedy planner finds less than 15; branch and bound does.
        (lifetimes((4, 1, 2), (5, 2, 4), (6, 4, 4), (5, 0, 3), (5, 0, 1)), 14),
    ],
)
def test_what_simple_planners_miss(problem: Problem, expected: int) -> None:
    plan = greedy.solve(problem)
    assert check(problem, plan) == ()
    assert plan.arena == live_bound(problem).bytes == expected


def test_exceptions_let_buffers_overlap() -> None:
    """An output may grow upwards over its dying input, 16 bytes behind it."""
    problem = Problem(
        (Buffer("input", 100, 1, 0, 1), Buffer("output", 80, 1, 1, 2)), (Overlay(1, 0, 16),)
    )
    plan = greedy.solve(problem)
    assert plan == Solution((16, 0), 116)
    assert check(problem, plan) == ()
    assert check(problem, Solution((15, 0), 115)) == (
        "'input' [15, 115) and 'output' [0, 80) share memory while both live",
    )
    assert live_bound(problem).bytes == 116


def test_violations_are_named() -> None:
    problem = Problem((Buffer("a", 8, 4, pin=8), Buffer("b", 8, 4)))
    assert check(problem, Solution((6, 10), 16)) == (
        "'a' at 6: expected a multiple of 4",
        "'a' at 6: expected its pin, 8",
        "'b' at 10: expected a multiple of 4",
        "'b' ends at 18, behind the arena of 16",
        "'a' [6, 14) and 'b' [10, 18) share memory while both live",
    )
    assert check(problem, Solution((8,), 16)) == ("expected 2 offsets, got 1",)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_pins_that_cannot_be(strategy: str) -> None:
    solve = STRATEGIES[strategy]
    with pytest.raises(PlanError, match="expected 'a' at a multiple of 4, got offset 2"):
        solve(Problem((Buffer("a", 8, 4, pin=2),)))
    with pytest.raises(PlanError, match="share memory while both live"):
        solve(Problem((Buffer("a", 8, pin=0), Buffer("b", 8, pin=4))))


def test_ping_pong_names_what_is_no_chain() -> None:
    problem = lifetimes((8, 0, 2), (8, 1, 2), (8, 2, 3))
    with pytest.raises(PlanError, match="'b0' still lives when 'b2' is written, 2 buffers later"):
        ping_pong.solve(problem)


@pytest.mark.slow
def test_large_problems_are_fast() -> None:
    """It takes far less than these seconds; a quadratic planner would take far more."""
    random = Random(7)
    for count, seconds in ((450, 5), (1000, 15)):
        spans = [(random.randrange(1, 1000), first) for first in range(count)]
        problem = lifetimes(*((size, at, at + random.randrange(60)) for size, at in spans))
        start = process_time()
        plan = greedy.solve(problem)
        assert process_time() - start < seconds
        assert check(problem, plan) == ()
        assert plan.arena < 1.1 * live_bound(problem).bytes


def test_what_hangs_from_the_top_is_aligned() -> None:
    """Two buffers end at the top of the arena: the larger one decides its size."""
    buffers = (Buffer("a", 5, 1, 0, 1), Buffer("b", 6, 4, 1, 2), Buffer("c", 4, 1, 2, 3))
    problem = Problem((*buffers, Buffer("d", 3, 4, 3, 4)))
    offsets = two_sided(problem)
    assert offsets is not None
    assert [offsets[index] for index in range(4)] == [0, 8, 0, 8]
    assert check(problem, Solution((0, 8, 0, 8), 14)) == ()
