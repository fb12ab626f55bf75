"""Strategy `exact`: the smallest arena, if the work budget suffices; handles any graph.

It starts from the plan of `greedy`. As long as that takes more bytes than the proven lower bound,
searches for a plan below a ceiling (`canonical`) try that bound first, and then bisect the range up
to the best plan. For each ceiling there are sixteen short searches, which differ in what is placed
first. If no ceiling is left, the searches start again with three times the work.

A search that has tried all there is proves that no plan is as small as its ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from npu_plans.arena import greedy
from npu_plans.arena.canonical import Descent, Layout, Rule
from npu_plans.arena.placement import Budget
from npu_plans.arena.problem import Problem, Solution, align, arena_of, live_bound

RULES: tuple[Rule, ...] = ("tightest", "lowest")
STEPS = 3
"""Steps of the first searches for each buffer; a plan takes at least one."""
GROWTH = 3
"""How many times as many steps the next searches get."""
SHARE = 4
"""No ceiling gets more than this part of the budget that is left."""

BUDGET = 20_000_000
"""The work unless told otherwise, in visits of a buffer: about half a second."""


def solve(problem: Problem, work: int = BUDGET) -> Solution:
    """The smallest plan found with at most `work` visits besides those of `greedy`.

    A visit is a look at one buffer in one section of one state of the search.

    Raises: PlanError if a pin is misaligned or two pinned buffers collide.
    """
    start = greedy.solve(problem)
    least = live_bound(problem).bytes
    if start.arena <= least or work <= 0:
        return start
    search = Search(problem, start, least, work)
    search.run()
    return search.best


class Search:
    """A search for a smaller plan than `best`; no plan takes less than `least` bytes."""

    def __init__(self, problem: Problem, best: Solution, least: int, work: int) -> None:
        """Start from a plan, and a bound that need not be exact."""
        self.problem = problem
        self.best = best
        self.budget = Budget(work)
        self.layout = Layout(problem)
        self.unit = unit_of(problem)
        self.orders = orders_of(self.layout)
        self.least = align(least, self.unit)

    def run(self) -> None:
        """Make the plan smaller, or the bound larger, until they meet or the budget is used up."""
        steps = STEPS * self.layout.count
        while self.best.arena > self.least and self.has_work():
            self.lower(steps)
            steps *= GROWTH

    def has_work(self) -> bool:
        """Whether a plan could still be found within the budget."""
        return self.budget.left >= SHARE * self.layout.work * self.layout.count

    def lower(self, steps: int) -> None:
        """Try the bound as a ceiling, then bisect; each search takes some steps."""
        low = ceiling = self.least
        while ceiling < self.best.arena and self.has_work():
            if not self.fits(ceiling, steps):
                low = ceiling + self.unit
            ceiling = low + (self.best.arena - low) // self.unit // 2 * self.unit

    def fits(self, ceiling: int, steps: int) -> bool:
        """Whether a plan of at most `ceiling` bytes is found; it becomes the best one."""
        left = self.budget.left // SHARE
        for order in self.orders:
            for rule in RULES:
                work = min(steps * self.layout.work, left)
                budget = Budget(work)
                descent = Descent(self.layout, ceiling, rule, order, budget)
                found = descent.run()
                used = work - budget.left
                left -= used
                self.budget.spend(used)
                if found is not None:
                    offsets = tuple(found[index] for index in range(self.layout.count))
                    self.best = Solution(offsets, arena_of(self.problem, offsets))
                    return True
                if descent.is_proof:
                    self.least = ceiling + self.unit
                    return False
                if left <= 0:
                    return False
        return False


def unit_of(problem: Problem) -> int:
    """A number of bytes; the arena of each plan in which nothing can move down is a multiple."""
    sizes = [buffer.size for buffer in problem.buffers]
    pins = [buffer.pin or 0 for buffer in problem.buffers]
    unit = gcd(*sizes, *pins, *(overlay.distance for overlay in problem.overlays))
    steps = {buffer.alignment for buffer in problem.buffers}
    return gcd(unit, *(step for step in steps if unit % step)) or 1


def orders_of(layout: Layout) -> Sequence[Sequence[int]]:
    """Orders of the buffers: from the fullest section, the largest, the longest-lived, and so on.

    Ties are broken by position.
    """
    buffers = layout.problem.buffers
    peaks = [int(layout.totals[span].max(initial=0)) for span in layout.spans]
    spans = [len(span) for span in layout.spans]
    sizes = [buffer.size for buffer in buffers]
    times = [buffer.last - buffer.first + 1 for buffer in buffers]
    areas = [size * span for size, span in zip(sizes, spans, strict=True)]
    bytes_in_time = [size * time for size, time in zip(sizes, times, strict=True)]
    keys: tuple[Sequence[Sequence[int]], ...] = (
        (peaks, areas),
        (peaks, spans),
        (peaks, sizes),
        (spans,),
        (sizes,),
        (areas,),
        (times,),
        (bytes_in_time,),
    )
    return [
        sorted(range(layout.count), key=lambda i: (*(-each[i] for each in key), i)) for key in keys
    ]
