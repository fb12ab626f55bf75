"""Branch and bound over the order of buffers by offset: optimal, if the work budget suffices.

In a plan where no buffer can be moved down, each one rests on the arena's floor or on buffers below
it. So the search tries orders of the buffers by offset. Each buffer gets the lowest free offset
that is not below the offset of the buffer before it. Two rules cut the search:

* A branch is dropped if a buffer would end at or above the end of the best plan so far, or if the
  unplaced buffers that live at one program point cannot be stacked below that end.
* A buffer is not placed next if another unplaced one would fit entirely below it.

If an overlay has a distance of zero or less, the result is valid but may not be optimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npu_plans.arena.placement import Budget, gap
from npu_plans.arena.problem import Problem


@dataclass
class Search:
    """The state of one search.

    `best` is the smallest plan so far, which takes `arena` bytes; the search stops at `goal` bytes
    or fewer.
    """

    problem: Problem
    pins: Mapping[int, int]
    budget: Budget
    goal: int
    best: dict[int, int]
    arena: int
    offsets: dict[int, int] = field(default_factory=dict[int, int])
    points: list[list[int]] = field(default_factory=list[list[int]])
    """For each program point where a buffer starts: the live buffers that `cut` counts there.

    Pinned buffers and buffers with an overlay are left out.
    """

    def __post_init__(self) -> None:
        """Place the pinned buffers and collect the program points."""
        self.offsets.update(self.pins)
        overlaid = {i for each in self.problem.overlays for i in (each.below, each.above)}
        starts = sorted({buffer.first for buffer in self.problem.buffers})
        for point in starts:
            live = self.problem.live_at(point)
            self.points.append([i for i in live if i not in self.pins and i not in overlaid])

    def run(self) -> dict[int, int]:
        """The best plan found within the budget: an offset for each buffer."""
        free = [i for i in range(len(self.problem.buffers)) if i not in self.pins]
        self.descend(free, 0, -1)
        return self.best

    def descend(self, free: list[int], level: int, last: int) -> None:
        """Place all `free` buffers at offset `level` or above, and keep the plan if it is smaller.

        `last` is the buffer that was placed before. Buffers with the same offset are placed in
        ascending order only, so that no plan is tried twice.
        """
        if not free:
            arena = self.top()
            if arena < self.arena:
                self.best, self.arena = dict(self.offsets), arena
            return
        work = sum(len(self.problem.neighbours[index]) for index in free)
        if not self.budget.spend(work + len(self.points)) or self.cut(level):
            return
        buffers, lowest = self.problem.buffers, self.lowest(free, level)
        if lowest is None:
            return
        ends = (at + buffers[i].size for i, at in lowest.items() if buffers[i].size)
        ceiling = min(ends, default=self.arena)
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

    def lowest(self, free: list[int], level: int) -> dict[int, int] | None:
        """The lowest offset at `level` or above of each buffer, if it were the next one.

        None if one of them would end at or above the end of the best plan.
        """
        found: dict[int, int] = {}
        for index in free:
            found[index] = at = gap(self.problem, index, self.offsets, least=level)
            if at + self.problem.buffers[index].size >= self.arena:
                return None
        return found

    def top(self) -> int:
        """The highest end of a placed buffer, in bytes."""
        buffers = self.problem.buffers
        return max((at + buffers[i].size for i, at in self.offsets.items()), default=0)

    def cut(self, level: int) -> bool:
        """Whether, at some point, the unplaced buffers do not fit below the best plan's end."""
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


def branch_and_bound(
    problem: Problem,
    pins: Mapping[int, int],
    best: Mapping[int, int],
    arena: int,
    goal: int,
    work: int,
) -> tuple[dict[int, int], bool]:
    """Improve a plan of `arena` bytes, down to `goal` bytes, with at most `work` neighbour visits.

    Returns: the best plan found, and whether it is proven to be the smallest: the search finished
    within the budget, and no overlay has a distance of zero or less.
    """
    search = Search(problem, pins, Budget(work), goal, dict(best), arena)
    found = search.run()
    is_complete = all(overlay.distance > 0 for overlay in problem.overlays)
    return found, is_complete and search.budget.left >= 0
