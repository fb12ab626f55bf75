"""Strategy `greedy`: handles any graph, alignments, pins and overlays.

It tries these in turn, and stops as soon as the arena is as small as the live-set bound:

1. Greedy placement in several orders (size, area, lifetime, pressure, time), with first fit and
   best fit. On chains and on most networks this reaches the bound.
2. `two_sided`, if at most two buffers live at a time.
3. `timeline`, a search in the order of time with backjumping.
4. `branch_and_bound`, starting from the best plan so far.
5. If branch and bound does not finish: a local search that moves buffers at the top of the arena
   forward in the order.

All of it is deterministic and bounded in work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import TypeAlias

from npu_plans.arena.branch_and_bound import branch_and_bound
from npu_plans.arena.placement import Budget, Fit, place, place_below
from npu_plans.arena.problem import Problem, Solution, arena_of, live_bound, live_bytes, pinned
from npu_plans.arena.timeline import timeline
from npu_plans.arena.two_sided import two_sided

FITS: tuple[Fit, ...] = ("first", "best")
IMPROVE_WORK = 1_500_000
"""Budget of the local search, in neighbour visits: about a quarter of a second."""
TIMELINE_WORK = 200_000
"""Budget of each search in the order of time, in neighbour visits."""
CEILINGS = 5
"""How many ceilings the search in the order of time tries; the first is the goal."""
EXACT_WORK = 300_000
"""Budget of branch and bound, in neighbour visits: enough to finish for a dozen buffers."""
EXACT_BUFFERS = 200
"""With more buffers than this, branch and bound cannot finish and would recurse too deep."""

Offsets: TypeAlias = dict[int, int]


def solve(problem: Problem, enough: int = 0) -> Solution:
    """The smallest plan found, or the first one of `enough` bytes or fewer.

    Raises: PlanError if a pin is misaligned or two pinned buffers collide.
    """
    pins = pinned(problem)
    goal = goal_of(problem, pins, enough)
    best, order = begun(problem, pins, goal)
    arena = bytes_of(problem, best)
    proven = arena <= goal
    if not proven and len(problem.buffers) <= EXACT_BUFFERS:
        best, proven = branch_and_bound(problem, pins, best, arena, goal, EXACT_WORK)
    if not proven:
        best = min(
            best, improve(problem, pins, order, goal), key=lambda plan: bytes_of(problem, plan)
        )
    return solution_of(problem, best)


def quick(problem: Problem, enough: int = 0) -> Solution:
    """What `solve` finds with its first three steps, which take little time.

    Raises: PlanError as `solve` does.
    """
    pins = pinned(problem)
    best, _ = begun(problem, pins, goal_of(problem, pins, enough))
    return solution_of(problem, best)


def goal_of(problem: Problem, pins: Mapping[int, int], enough: int) -> int:
    """The bytes at which the search may stop."""
    ends = (at + problem.buffers[index].size for index, at in pins.items())
    return max(enough, live_bound(problem).bytes, max(ends, default=0))


def solution_of(problem: Problem, plan: Offsets) -> Solution:
    """A plan as a solution."""
    offsets = tuple(plan[index] for index in range(len(problem.buffers)))
    return Solution(offsets, arena_of(problem, offsets))


def begun(problem: Problem, pins: Mapping[int, int], goal: int) -> tuple[Offsets, list[int]]:
    """The best plan of the first three steps, and the best order of the first one."""
    best, order, arena = best_order(problem, pins, goal)
    sides = two_sided(problem) if arena > goal else None
    if sides is not None and bytes_of(problem, sides) < arena:
        best, arena = sides, bytes_of(problem, sides)
    if arena > goal:
        best = in_time(problem, pins, best, goal)
    return best, order


def in_time(problem: Problem, pins: Mapping[int, int], best: Offsets, goal: int) -> Offsets:
    """The best plan that `timeline` finds, else `best`.

    The first ceiling is the goal; each further one bisects the range up to the best plan so far.
    """
    low, arena = goal, bytes_of(problem, best)
    for _ in range(CEILINGS):
        ceiling = low if low == goal else (low + arena) // 2
        found = timeline(problem, pins, ceiling, TIMELINE_WORK)
        if found is None:
            low = ceiling + 1
        else:
            best, arena = found, bytes_of(problem, found)
        if low >= arena:
            break
    return best


def best_order(
    problem: Problem, pins: Mapping[int, int], goal: int
) -> tuple[Offsets, list[int], int]:
    """The best plan over all orders and fits, its order, and its arena in bytes.

    The first plan of `goal` bytes or fewer is returned at once.
    """
    found: tuple[Offsets, list[int], int] | None = None
    for order in orders(problem):
        for fit in FITS:
            plan = place(problem, order, pins, fit)
            arena = bytes_of(problem, plan)
            if found is None or arena < found[2]:
                found = plan, order, arena
            if arena <= goal:
                return found
    assert found is not None
    return found


def orders(problem: Problem) -> Iterator[list[int]]:
    """Orders in which to place the buffers; ties are broken by first use, then by position."""
    buffers = problem.buffers
    points = sorted({buffer.first for buffer in buffers})
    loads = [(point, live_bytes(problem, problem.live_at(point))) for point in points]
    pressure = [
        max((load for point, load in loads if each.first <= point <= each.last), default=0)
        for each in buffers
    ]
    keys: tuple[Callable[[int], tuple[int, ...]], ...] = (
        lambda i: (-buffers[i].size,),
        lambda i: (-pressure[i], -buffers[i].size),
        lambda i: (-buffers[i].size * (buffers[i].last - buffers[i].first + 1),),
        lambda i: (-pressure[i], buffers[i].first - buffers[i].last, -buffers[i].size),
        lambda i: (buffers[i].first - buffers[i].last, -buffers[i].size),
        lambda i: (buffers[i].first, -buffers[i].size),
        lambda i: (-buffers[i].last, -buffers[i].size),
        lambda i: (i,),  # never worse than strategy `none`
    )
    for key in keys:
        yield sorted(range(len(buffers)), key=lambda i: (*key(i), buffers[i].first, i))


def improve(problem: Problem, pins: Mapping[int, int], order: list[int], goal: int) -> Offsets:
    """Local search: the best plan found by changing the order in which buffers are placed.

    Each round moves a random buffer that ends at the top of the arena forward in the order, and
    keeps the new order if its plan is no larger.
    """
    random = Random(0)
    plan = min(
        (place(problem, order, pins, fit) for fit in FITS), key=lambda plan: bytes_of(problem, plan)
    )
    arena = bytes_of(problem, plan)
    budget = Budget(IMPROVE_WORK)
    work = sum(map(len, problem.neighbours)) + len(order)
    while arena > goal and budget.spend(work):
        ends = [i for i in order if plan[i] + problem.buffers[i].size == arena and i not in pins]
        if not ends:
            break
        moved = random.choice(ends)
        old = order.index(moved)
        new = random.randrange(old) if old else random.randrange(len(order))
        trial = [index for index in order if index != moved]
        trial.insert(new, moved)
        candidate = place_below(problem, trial, pins, random.choice(FITS), arena)
        if candidate is not None:
            order, plan, arena = trial, candidate, bytes_of(problem, candidate)
    return plan


def bytes_of(problem: Problem, plan: Offsets) -> int:
    """The size of the arena that holds a plan, in bytes."""
    return arena_of(problem, [plan[index] for index in range(len(problem.buffers))])
