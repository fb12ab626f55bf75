"""Strategy `exact`: the smallest arena, within a budget, with pins and overlays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from helpers.offset_problems import problems
from helpers.tight_problems import tight
from npu_plans.arena import exact, greedy, none
from npu_plans.arena.canonical import Descent, Layout
from npu_plans.arena.exact import RULES, Search, orders_of, unit_of
from npu_plans.arena.placement import Budget
from npu_plans.arena.problem import Buffer, Overlay, Problem, check, live_bound


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
    """From the worst plan, without `greedy`; the proven bound never passes the optimum.

    It may stay below it where alignments leave gaps, and with overlays.
    """
    search = Search(problem, none.solve(problem), live_bound(problem).bytes, 20_000_000)
    search.run()
    best = optimum(problem)
    assert check(problem, search.best) == ()
    assert search.least <= best <= search.best.arena
    if not problem.overlays:
        assert best == search.best.arena
        if all(buffer.alignment == 1 for buffer in problem.buffers):
            assert search.least == best


@settings(max_examples=10, deadline=None)
@given(problem=problems())
def test_every_plan_is_right(problem: Problem) -> None:
    plan = exact.solve(problem, 1_000_000)
    assert check(problem, plan) == ()
    assert live_bound(problem).bytes <= plan.arena <= greedy.solve(problem).arena
    assert exact.solve(problem, 1_000_000) == plan
    assert exact.solve(problem, 0) == greedy.solve(problem)


@pytest.mark.parametrize(("seed", "pins"), [(1, 0), (2, 0), (2, 2), (4, 8)])
def test_plans_without_a_gap(seed: int, pins: int) -> None:
    problem = tight(seed, cuts=60, pins=pins)
    search = Search(problem, none.solve(problem), live_bound(problem).bytes, exact.BUDGET)
    search.run()
    assert check(problem, search.best) == ()
    assert search.best.arena == live_bound(problem).bytes == 1024


@pytest.mark.slow
def test_greedy_takes_more() -> None:
    problem = tight(2, cuts=30)
    plan = exact.solve(problem)
    assert check(problem, plan) == ()
    assert plan.arena == 1024 < greedy.solve(problem).arena


def test_the_bound_rises_where_the_live_set_does_not_fit() -> None:
    """Four buffers in turn, each with an alignment that wastes bytes: no plan takes 12."""
    buffers = tuple(Buffer(f"b{i}", 6, 4, i, i + 1) for i in range(4))
    problem = Problem(buffers)
    search = Search(problem, none.solve(problem), live_bound(problem).bytes, 1_000_000)
    search.run()
    assert (live_bound(problem).bytes, search.least, search.best.arena) == (12, 14, 14)


def test_overlays_take_part() -> None:
    """Rows take the place of rows in both pairs; the two pairs would need 192 bytes apart."""
    buffers = (
        Buffer("a", 96, 1, 0, 1),
        Buffer("b", 96, 1, 1, 3),
        Buffer("c", 32, 1, 0, 3),
        Buffer("d", 64, 1, 3, 4, pin=0),
    )
    problem = Problem(buffers, (Overlay(1, 0, 32, exact=True), Overlay(3, 1, 16)))
    search = Search(problem, none.solve(problem), 0, 1_000_000)
    search.run()
    assert check(problem, search.best) == ()
    assert search.best.arena == optimum(problem) == search.least


def test_a_ceiling_below_the_optimum_is_refuted() -> None:
    problem = Problem(tuple(Buffer(f"b{i}", size, 1, 0, 1) for i, size in enumerate((3, 5, 7))))
    layout = Layout(problem)
    for order in orders_of(layout):
        for rule in RULES:
            descent = Descent(layout, 14, rule, order, Budget(10**6))
            assert descent.run() is None
            assert descent.is_proof
            descent = Descent(layout, 15, rule, order, Budget(layout.work))
            assert descent.run() is None
            assert not descent.is_proof


def test_the_unit_of_plans() -> None:
    sizes = tuple(Buffer(f"b{i}", size, 8) for i, size in enumerate((16, 24)))
    assert unit_of(Problem(sizes)) == 8
    assert unit_of(Problem((*sizes, Buffer("c", 8, 4, pin=4)))) == 4
    assert unit_of(Problem(sizes, (Overlay(0, 1, 6),))) == 2
    assert unit_of(Problem((replace(sizes[0], alignment=32), sizes[1]))) == 8
    assert unit_of(Problem((Buffer("none", 0),))) == 1
