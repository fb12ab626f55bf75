"""Strategy `exact`: the smallest arena, within a budget, with pins and overlays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.offset_problems import problems
from helpers.tight_problems import tight
from npu_plans.arena import exact, greedy, none
from npu_plans.arena.canonical import Descent, Layout
from npu_plans.arena.exact import Search, orders_of, unit_of
from npu_plans.arena.placement import Budget
from npu_plans.arena.problem import (
    Buffer,
    Overlay,
    Problem,
    arena_of,
    check,
    live_bound,
)


def optimum(problem: Problem) -> int:
    """The smallest arena, by trying all offsets below one ceiling after the other."""
    ceiling = live_bound(problem).bytes
    while not fits(problem, ceiling, ()):
        ceiling += 1
    return ceiling


def fits(problem: Problem, ceiling: int, offsets: tuple[int, ...]) -> bool:
    """Whether the buffers behind these offsets fit below the ceiling, by trying all offsets."""
    index = len(offsets)
    if index == len(problem.buffers):
        return True
    buffer = problem.buffers[index]
    places = range(0, ceiling - buffer.size + 1, buffer.alignment)
    placed = [other for other in problem.neighbours[index] if other.index < index]
    spans = [span for other in placed for span in other.blocked(offsets[other.index])]
    return any(
        fits(problem, ceiling, (*offsets, at))
        for at in places
        if buffer.pin in (None, at) and not any(low < at < high for low, high in spans)
    )


@settings(max_examples=60, deadline=None)
@given(problem=problems(largest=5, most=6))
def test_small_plans_are_optimal(problem: Problem) -> None:
    """From the worst plan, without `greedy`: the search finds the optimum and proves it."""
    start, least = none.solve(problem), live_bound(problem).bytes
    search = Search(problem, start, least, 3_000_000)
    search.run()
    best = optimum(problem)
    assert check(problem, search.best) == ()
    assert search.best.arena == best
    assert search.least == best


@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_every_plan_is_right(problem: Problem) -> None:
    plan = exact.solve(problem, 1_000_000)
    assert check(problem, plan) == ()
    assert live_bound(problem).bytes <= plan.arena <= greedy.solve(problem).arena
    assert exact.solve(problem, 1_000_000) == plan
    assert exact.solve(problem, 0) == greedy.solve(problem)
