"""Places buffers one by one into the gaps between placed buffers, for `greedy` and its helpers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from npu_plans.arena.problem import Problem

Fit = Literal["first", "best"]


@dataclass
class Budget:
    """The work that a search may still do, counted in neighbour visits.

    Unlike a time limit, it gives the same result on every machine.
    """

    left: int

    def spend(self, work: int) -> bool:
        """Subtract some work; False if the budget did not suffice for it."""
        self.left -= work
        return self.left >= 0


def gap(
    problem: Problem, index: int, offsets: Mapping[int, int], fit: Fit = "first", least: int = 0
) -> int:
    """An offset for a buffer, at `least` or above, that collides with no placed buffer.

    `first` is the lowest such offset. `best` is the start of the gap in which the fewest bytes stay
    free, or the offset above all neighbours if the buffer fits into no gap. The space below the
    lowest neighbour is a gap as well.
    """
    alignment = problem.buffers[index].alignment
    blocked: list[tuple[int, int]] = []
    for other in problem.neighbours[index]:
        if (start := offsets.get(other.index)) is not None:
            blocked += other.blocked(start)
    blocked.sort()
    at = -(-least // alignment) * alignment
    chosen: int | None = None
    slack = 0
    for low, high in blocked:
        if at <= low:
            if fit == "first":
                return at
            if chosen is None or low - at < slack:
                chosen, slack = at, low - at
        if at < high:
            at = -(-high // alignment) * alignment
    return at if chosen is None else chosen


def place(
    problem: Problem, order: Sequence[int], pins: Mapping[int, int], fit: Fit
) -> dict[int, int]:
    """Offsets of all buffers, placed one by one in this order around the pinned ones."""
    found = place_below(problem, order, pins, fit, None)
    assert found is not None
    return found


def place_below(
    problem: Problem,
    order: Sequence[int],
    pins: Mapping[int, int],
    fit: Fit,
    ceiling: int | None,
) -> dict[int, int] | None:
    """The same; None as soon as a placed buffer ends above the ceiling, if there is one."""
    offsets, buffers = dict(pins), problem.buffers
    for index in order:
        if index not in pins:
            offsets[index] = at = gap(problem, index, offsets, fit)
            if ceiling is not None and at + buffers[index].size > ceiling:
                return None
    return offsets
