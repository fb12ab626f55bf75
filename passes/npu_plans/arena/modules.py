"""Strategy `modules`: some buffers go where a plan wants them, the others around them (paper 001).

A wish that cannot be is refused, with a reason: the place is not a multiple of what the buffer is
aligned to, does not end within the memory, or another buffer lies there that lives at the same
time. Wishes are granted in order of first use. Where the buffers around them do not fit then, those
are refused that live together with one that ends behind the memory, until all fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from npu_plans.arena.problem import PlanError, Problem, Solution, pinned


@dataclass(frozen=True)
class Granted:
    """A problem with the wishes that are granted as pins; why others are not, by their buffer."""

    problem: Problem
    refused: Mapping[int, str]


def grant(
    problem: Problem,
    wishes: Mapping[int, int],
    capacity: int,
    around: Callable[[Problem], Solution],
) -> Granted:
    """Pin buffers where they are wished to be, as far as `around` finds places for the others.

    Where it finds none even without pins of ours, no wish is granted.

    Raises: PlanError for pins that cannot be.
    """
    pinned(problem)
    order = sorted(wishes, key=lambda index: (problem.buffers[index].first, index))
    granted: dict[int, int] = {}
    refused: dict[int, str] = {}
    for index in order:
        if (why := objection(problem, {**granted, index: wishes[index]}, index, capacity)) is None:
            granted[index] = wishes[index]
        else:
            refused[index] = why
    while True:
        trial = with_pins(problem, granted)
        solution = around(trial)
        if solution.arena <= capacity or not granted:
            return Granted(trial, refused)
        # Those beside a buffer that ends too late; if there are none, they may all be at fault.
        blamed = in_the_way(trial, solution, capacity).intersection(granted) or set(granted)
        for index in sorted(blamed):
            del granted[index]
            refused[index] = "the buffers that live beside it would not fit"


def objection(problem: Problem, places: Mapping[int, int], index: int, capacity: int) -> str | None:
    """Why a buffer cannot lie where it should; None if it can."""
    buffer, at = problem.buffers[index], places[index]
    if buffer.pin not in (None, at):
        return f"it is pinned at {buffer.pin}"
    if at + buffer.size > capacity:
        return f"it would end at {at + buffer.size}, behind the {capacity} bytes of memory"
    try:
        pinned(with_pins(problem, places))
    except PlanError as error:
        return str(error)
    return None


def with_pins(problem: Problem, places: Mapping[int, int]) -> Problem:
    """The same buffers, some of them pinned."""
    buffers = (
        replace(buffer, pin=places.get(index, buffer.pin))
        for index, buffer in enumerate(problem.buffers)
    )
    return replace(problem, buffers=tuple(buffers))


def in_the_way(problem: Problem, solution: Solution, capacity: int) -> set[int]:
    """The buffers that live together with one that ends behind the memory."""
    return {
        near.index
        for index, buffer in enumerate(problem.buffers)
        if solution.offsets[index] + buffer.size > capacity
        for near in problem.neighbours[index]
    }
