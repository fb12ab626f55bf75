"""Putting one buffer after the other into the gaps that are left: for `greedy` and `exact`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from npu_plans.arena.problem import Problem

Fit = Literal["first", "best"]


@dataclass
class Budget:
    """Work that may still be done, in looks at one neighbour: the same on every machine."""

    left: int

    def spend(self, work: int) -> bool:
        """Take some work from the budget; False if it is used up."""
        self.left -= work
        return self.left >= 0


def gap(
    problem: Problem, index: int, offsets: Mapping[int, int], fit: Fit = "first", least: int = 0
) -> int:
    """An offset for a buffer, at `least` or above, that no placed buffer stands against.

    `first` is the lowest one; `best` the one in the gap that it fills best, above all others if it
    fits into none. The space below the lowest neighbour is a gap as well.
    """
    alignment = problem.buffers[index].alignment
    blocked = sorted(
        span
        for other in problem.neighbours[index]
        if (at := offsets.get(other.index)) is not None
        for span in other.blocked(at)
    )
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
    offsets = dict(pins)
    for index in order:
        if index not in pins:
            offsets[index] = gap(problem, index, offsets, fit)
    return offsets
