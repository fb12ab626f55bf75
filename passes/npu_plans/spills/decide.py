"""Chooses the maps that leave the chip so that the rest fits, with the least traffic: no IR.

1. If everything fits, nothing leaves the chip, and no solver is loaded.
2. An integer program (`cheapest.py`) finds the cheapest set of maps to spill so that the sum of the
   live bytes fits at every step.
3. Fitting sums are necessary, but not sufficient. So `npu_plans.arena` places the buffers that stay
   and the tile buffers. If their arena exceeds the capacity, step 2 is repeated with its limit
   lowered by the excess bytes.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NoReturn

from npu_plans.spills.cheapest import cheapest
from npu_plans.spills.problem import Misfit, SpillProblem

ROUNDS = 8
"""How often step 2 may run before maps are spilled one by one."""


def decide(
    problem: SpillProblem, capacity: int, forced: AbstractSet[int] = frozenset()
) -> frozenset[int]:
    """The buffers that leave the chip, `forced` among them, and those that take over from them.

    Raises: Misfit if the memory is too small for some op; PlanError if a pin is misaligned or two
        pinned buffers collide.
    """
    forced = problem.with_later(forced)
    if problem.fits(forced, capacity):
        return forced
    limit = capacity
    chosen: frozenset[int] | None = None
    for _ in range(ROUNDS):
        better = cheapest(problem, limit, forced)
        if better is None:
            break
        chosen = better
        needed = max(problem.worst(chosen)[0], problem.arena(chosen, capacity))
        if needed <= capacity:
            return polished(problem, capacity, chosen, forced) if limit < capacity else chosen
        limit -= needed - capacity
    if chosen is None:
        reject(problem, capacity)
    return more(problem, capacity, chosen, forced)


def more(
    problem: SpillProblem, capacity: int, chosen: frozenset[int], forced: AbstractSet[int]
) -> frozenset[int]:
    """The last resort: spill further maps, the largest first, until the rest fits.

    Raises: Misfit if the rest does not fit with all movable maps spilled.
    """
    sizes = [buffer.size for buffer in problem.buffers]
    for index in sorted(problem.movable - chosen, key=lambda i: (-sizes[i], i)):
        leaving = problem.with_later({index})
        if not leaving <= problem.movable:
            continue
        chosen |= leaving
        if problem.fits(chosen, capacity):
            return polished(problem, capacity, chosen, forced)
    reject(problem, capacity)


def polished(
    problem: SpillProblem, capacity: int, chosen: frozenset[int], forced: AbstractSet[int]
) -> frozenset[int]:
    """Keep on chip the chosen maps that fit there after all, the most expensive ones first."""
    for index in sorted(chosen - forced, key=lambda i: (-(problem.costs[i] or 0), i)):
        staying = problem.with_earlier({index})
        if staying.isdisjoint(forced) and problem.fits(chosen - staying, capacity):
            chosen -= staying
    return chosen


def reject(problem: SpillProblem, capacity: int) -> NoReturn:
    """Raise Misfit for the step that needs most.

    That is a step that does not fit whichever maps leave the chip. If there is none, it is the
    worst step with all movable maps spilled.

    Raises: Misfit always.
    """
    least = [(step.least(problem.movable), -step.point) for step in problem.steps]
    needed, point = max(least)
    if needed <= capacity:
        needed, point = problem.worst(problem.movable)
        point = -point
    if needed <= capacity:
        needed = problem.arena(problem.movable, capacity)
    raise Misfit(-point, needed)
