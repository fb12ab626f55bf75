"""Problems in which a buffer lies inside another one, or farther away."""

from __future__ import annotations

from npu_plans.arena.joined import farther, joined
from npu_plans.arena.problem import Buffer, Overlay, Problem, live_bound

WHOLE, PART, OUT = 0, 1, 2
PROBLEM = Problem(
    (
        Buffer("whole", 100, first=0, last=1),
        Buffer("part", 60, first=1, last=2),
        Buffer("out", 50, first=2, last=3),
    ),
    (Overlay(PART, WHOLE, 0), Overlay(OUT, PART, 0)),
)


def test_the_whole_lives_as_long_as_its_part() -> None:
    found = joined(PROBLEM, WHOLE, PART)
    assert found.buffers[WHOLE] == Buffer("whole", 100, first=0, last=2)
    assert found.buffers[PART].size == 0
    assert found.overlays == (Overlay(OUT, WHOLE, 0),)
    assert live_bound(found).bytes == 100


def test_buffers_that_lie_farther_apart() -> None:
    assert live_bound(PROBLEM).bytes == 100
    assert live_bound(farther(PROBLEM, PART, WHOLE, 30)).bytes == 130
    assert live_bound(farther(PROBLEM, OUT, PART, 70)).bytes == 110
    assert farther(PROBLEM, WHOLE, PART, 30) == PROBLEM
    exact = Problem(PROBLEM.buffers, (Overlay(PART, WHOLE, 0, exact=True),))
    assert farther(exact, PART, WHOLE, 30) == exact
