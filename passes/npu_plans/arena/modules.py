"""Strategy `modules`: the module plan wants some buffers at given offsets (paper 001).

The other buffers are placed around them. Wishes are granted in order of first use. A wish is
refused, with a reason, if the offset is misaligned, if the buffer would end beyond the memory, or
if a buffer that lives at the same time lies there. If the other buffers then do not fit, the wishes
of all buffers that live together with one that ends beyond the memory are refused as well, until
everything fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from npu_plans.arena.problem import PlanError, Problem, Solution, pinned


@dataclass(frozen=True)
class Granted:
    """A problem with the granted wishes as pins, and for each refused buffer the reason."""

    problem: Problem
    refused: Mapping[int, str]


def grant(
    problem: Problem,
    wishes: Mapping[int, int],
    capacity: int,
    around: Callable[[Problem], Solution],
) -> Granted:
    """Pin buffers at the offsets in `wishes`, as long as `around` can place the other buffers.

    `around` solves a problem; `capacity` is the size of the memory in bytes. If the other buffers
    do not fit even with no wish granted, all wishes are refused.

    Raises: PlanError if a pin of `problem` is misaligned or two of its pinned buffers collide.
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
        # Refuse the neighbours of buffers that end too high; if none is granted, refuse all.
        blamed = in_the_way(trial, solution, capacity).intersection(granted) or set(granted)
        for index in sorted(blamed):
            del granted[index]
            refused[index] = "with it there, other buffers would not fit into the memory"


def objection(problem: Problem, places: Mapping[int, int], index: int, capacity: int) -> str | None:
    """Why buffer `index` cannot lie at its offset in `places`; None if it can."""
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
    """The same problem, with the buffers in `places` pinned at these offsets."""
    buffers = (
        replace(buffer, pin=places.get(index, buffer.pin))
        for index, buffer in enumerate(problem.buffers)
    )
    return replace(problem, buffers=tuple(buffers))


def in_the_way(problem: Problem, solution: Solution, capacity: int) -> set[int]:
    """The buffers that live together with one that ends beyond the memory."""
    return {
        near.index
        for index, buffer in enumerate(problem.buffers)
        if solution.offsets[index] + buffer.size > capacity
        for near in problem.neighbours[index]
    }
