"""Which maps leave the chip, at the least traffic, so that what stays has a plan: no IR in here.

Three steps, none of which does more than is needed:

1. If everything fits, nothing leaves, and no solver is loaded.
2. The cheapest set of maps without which the sum of what lives fits at every step: exact, an
   integer program (`cheapest.py`).
3. That the sums fit is necessary, but not enough: `offsets/` lays out what stays, tile buffers too.
   Where it takes more than there is, 2. is done again with so many bytes less.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NoReturn

from npu_plans.spills.cheapest import cheapest
from npu_plans.spills.problem import Misfit, SpillProblem

ROUNDS = 8
"""How often step 2 is done before maps are spilled one by one."""


def decide(
    problem: SpillProblem, capacity: int, forced: AbstractSet[int] = frozenset()
) -> frozenset[int]:
    """The buffers that leave the chip, `forced` among them.

    Raises: Misfit if the memory is too small for some op; PlanError for pins that cannot be.
    """
    if problem.fits(forced, capacity):
        return frozenset(forced)
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
    """The last resort: the largest maps leave too, one by one, until there is a plan.

    Raises: Misfit.
    """
    sizes = [buffer.size for buffer in problem.buffers]
    for index in sorted(problem.movable - chosen, key=lambda i: (-sizes[i], i)):
        chosen |= {index}
        if problem.fits(chosen, capacity):
            return polished(problem, capacity, chosen, forced)
    reject(problem, capacity)


def polished(
    problem: SpillProblem, capacity: int, chosen: frozenset[int], forced: AbstractSet[int]
) -> frozenset[int]:
    """Take back on chip what fits after all, the most expensive maps first."""
    for index in sorted(chosen - forced, key=lambda i: (-(problem.costs[i] or 0), i)):
        if problem.fits(chosen - {index}, capacity):
            chosen -= {index}
    return chosen


def reject(problem: SpillProblem, capacity: int) -> NoReturn:
    """Say which step does not fit, whatever leaves the chip; else the worst if everything does."""
    least = [(step.least(problem.movable), -step.point) for step in problem.steps]
    needed, point = max(least)
    if needed <= capacity:
        needed, point = problem.worst(problem.movable)
        point = -point
    if needed <= capacity:
        needed = problem.arena(problem.movable, capacity)
    raise Misfit(-point, needed)
