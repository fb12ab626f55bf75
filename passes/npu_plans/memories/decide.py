"""Chooses the memory of each buffer so that all fit, with the fewest cycles: no IR in here.

1. If each buffer fits into the memory where it costs least, that is the plan; no solver is loaded.
2. An integer program (`cheapest.py`) finds the cheapest plan in which the bytes in use fit into
   every memory at every moment.
3. Fitting sums are necessary, but not sufficient. So `npu_plans.arena` looks for offsets in each
   memory. Where the arena exceeds the memory, step 2 is repeated with that memory's limit lowered
   by the excess.
4. If that finds no plan, buffers are placed one by one, those first that gain most a byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from npu_plans.memories.cheapest import cheapest
from npu_plans.memories.problem import MemoryProblem

ROUNDS = 8
"""How often step 2 may run."""


class Overflow(Exception):
    """No plan fits. `places`: the plan that exceeds the memories least; `arenas`: its bytes."""

    def __init__(self, places: tuple[int, ...], arenas: tuple[int, ...]) -> None:
        super().__init__(f"arenas of {', '.join(map(str, arenas))} bytes needed")
        self.places = places
        self.arenas = arenas


def decide(problem: MemoryProblem) -> tuple[int, ...]:
    """The memory of each unit, as a position in `problem.rooms`.

    Raises: Overflow if no plan is found that fits; PlanError if a pin is misaligned or two pinned
        buffers collide.
    """
    first = tuple(map(cheapest_room, problem.unit_costs))
    if problem.fits(first):
        return first
    for chosen, arenas in tried(problem, over=False):
        if not sum(excess(problem, arenas)):
            return chosen
    return one_by_one(problem)


def tried(
    problem: MemoryProblem, *, over: bool
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Plans and their arenas; after each, the limits are lowered by what the arenas have too much.

    `over`: plans that may exceed the limits.
    """
    limits = [room.bytes for room in problem.rooms]
    for _ in range(ROUNDS):
        chosen = cheapest(problem, limits, over=over)
        if chosen is None:
            return
        arenas = problem.arenas(chosen)
        yield chosen, arenas
        limits = [limit - more for limit, more in zip(limits, excess(problem, arenas), strict=True)]
        if min(limits) < 0:
            return


def excess(problem: MemoryProblem, arenas: Sequence[int]) -> list[int]:
    """By how many bytes each arena exceeds its memory."""
    rooms = zip(arenas, problem.rooms, strict=True)
    return [max(0, size - room.bytes) for size, room in rooms]


def cheapest_room(costs: tuple[Fraction | None, ...]) -> int:
    """The memory with the lowest cost, of equal ones the first."""
    return min(ranked(costs))[1]


def ranked(costs: tuple[Fraction | None, ...]) -> list[tuple[Fraction, int]]:
    """The memories with their costs, the cheapest first."""
    return sorted((cost, room) for room, cost in enumerate(costs) if cost is not None)


def one_by_one(problem: MemoryProblem) -> tuple[int, ...]:
    """Place unit by unit where it costs least and offsets are found, those that gain most first.

    Raises: Overflow if one fits nowhere.
    """
    chosen = [-1] * len(problem.units)
    for unit in sorted(range(len(chosen)), key=lambda unit: (-gain(problem, unit), unit)):
        for _, room in ranked(problem.unit_costs[unit]):
            chosen[unit] = room
            if problem.fits(chosen):
                break
        else:
            first = tuple(map(cheapest_room, problem.unit_costs))
            plans = [*tried(problem, over=True)] or [(first, problem.arenas(first))]
            raise Overflow(*min(plans, key=lambda plan: sum(excess(problem, plan[1]))))
    return tuple(chosen)


def gain(problem: MemoryProblem, unit: int) -> Fraction:
    """What a byte of a unit gains in its cheapest memory over its second cheapest one."""
    costs = ranked(problem.unit_costs[unit])
    size = sum(problem.lived.buffers[index].size for index in problem.units[unit])
    second = costs[1][0] if len(costs) > 1 else costs[0][0] + 10**9
    return (second - costs[0][0]) / max(1, size)
