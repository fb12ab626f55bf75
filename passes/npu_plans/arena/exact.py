"""Branch and bound over the order of buffers by offset: the optimum, if the budget lasts.

In a plan where no buffer can be moved down, each one rests on the arena's floor or on buffers below
it. So the plans worth trying are the orders of the buffers by offset, each buffer as low as it can
be but not below the one before. A branch is cut where some buffer, or the buffers still to come at
one program point, cannot stay below the best plan so far; and a buffer is not next where another
one would fit entirely below it. With exceptions of distance zero or less the result is a plan, but
perhaps not the best one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npu_plans.arena.placement import Budget, gap
from npu_plans.arena.problem import Problem


@dataclass
class Search:
    """The state of one search; `best` is the smallest plan so far, `goal` what no plan can beat."""

    problem: Problem
    pins: Mapping[int, int]
    budget: Budget
    goal: int
    best: dict[int, int]
    arena: int
    offsets: dict[int, int] = field(default_factory=dict[int, int])
    points: list[list[int]] = field(default_factory=list[list[int]])
    """For each program point where a buffer starts: the live buffers that its sum counts."""

    def __post_init__(self) -> None:
        """Start with the pinned buffers in their place."""
        self.offsets.update(self.pins)
        overlaid = {i for each in self.problem.overlays for i in (each.below, each.above)}
        starts = sorted({buffer.first for buffer in self.problem.buffers})
        for point in starts:
            live = self.problem.live_at(point)
            self.points.append([i for i in live if i not in self.pins and i not in overlaid])

    def run(self) -> dict[int, int]:
        """The best plan that the budget allows to find."""
        free = [i for i in range(len(self.problem.buffers)) if i not in self.pins]
        self.descend(free, 0, -1)
        return self.best

    def descend(self, free: list[int], level: int, last: int) -> None:
        """Place the free buffers at `level` or above; `last` was placed before."""
        if not free:
            arena = self.top()
            if arena < self.arena:
                self.best, self.arena = dict(self.offsets), arena
            return
        work = sum(len(self.problem.neighbours[index]) for index in free)
        if not self.budget.spend(work + len(self.points)) or self.cut(level):
            return
        buffers = self.problem.buffers
        lowest = {i: gap(self.problem, i, self.offsets, least=level) for i in free}
        ends = {i: at + buffers[i].size for i, at in lowest.items()}
        if max(ends.values()) >= self.arena:
            return
        ceiling = min((end for i, end in ends.items() if buffers[i].size), default=self.arena)
        for index in sorted(free, key=lambda i: (lowest[i], -buffers[i].size, i)):
            at = lowest[index]
            if at >= ceiling and buffers[index].size:
                break
            if at == level and index < last:
                continue
            self.offsets[index] = at
            self.descend([other for other in free if other != index], at, index)
            del self.offsets[index]
            if self.arena <= self.goal or self.budget.left < 0:
                return

    def top(self) -> int:
        """The largest end of a placed buffer."""
        buffers = self.problem.buffers
        return max((at + buffers[i].size for i, at in self.offsets.items()), default=0)

    def cut(self, level: int) -> bool:
        """Whether the buffers still to come cannot be stacked below the best plan at some point."""
        buffers, offsets = self.problem.buffers, self.offsets
        for live in self.points:
            base, rest = level, 0
            for index in live:
                size = buffers[index].size
                if index in offsets:
                    base = max(base, offsets[index] + size)
                else:
                    rest += size
            if rest and base + rest >= self.arena:
                return True
        return False


def exact(
    problem: Problem,
    pins: Mapping[int, int],
    best: Mapping[int, int],
    arena: int,
    goal: int,
    work: int,
) -> tuple[dict[int, int], bool]:
    """Improve a plan of `arena` bytes, down to `goal`, with at most `work` looks at a neighbour.

    Returns: the best plan found, and whether the search ended before the work did.
    """
    search = Search(problem, pins, Budget(work), goal, dict(best), arena)
    found = search.run()
    return found, search.budget.left >= 0
