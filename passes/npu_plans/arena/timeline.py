"""Places buffers in the order of time below a ceiling, with backjumping.

Buffers that live together begin close to each other in time, so the buffers that block a place were
placed a few steps ago. Each buffer goes to the lowest or the highest offset in one of the gaps
below the ceiling. If no offset is left, the search goes back to the last placed buffer that blocks
this one, and moves it (conflict-directed backjumping):

    ceiling 810 bytes:  the MIFM of 324 lies at 0, the MOFM of 364 at 324. Then a map of 364 that
    lives with the MOFM only does not fit: 324 bytes are free below the MOFM and 122 above it. So
    the MOFM moves to 446.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from npu_plans.arena.placement import Budget
from npu_plans.arena.problem import Problem


@dataclass
class Level:
    """One step of the search: buffer `index`, and the offsets (`places`) still to be tried for it.

    `blame` are the numbers of earlier levels that block this buffer. If no offset is left, one of
    them has to change.
    """

    index: int
    places: list[int]
    blame: set[int]


@dataclass
class Timeline:
    """A search for a plan of at most `ceiling` bytes."""

    problem: Problem
    pins: Mapping[int, int]
    ceiling: int
    budget: Budget
    offsets: dict[int, int] = field(default_factory=dict[int, int])
    levels: list[Level] = field(default_factory=list[Level])

    def run(self) -> dict[int, int] | None:
        """The plan; None if these offsets allow none, or if the budget is used up."""
        self.offsets = dict(self.pins)
        order = self.order()
        rank = {index: level for level, index in enumerate(order)}
        while len(self.levels) < len(order) or self.levels[-1].index not in self.offsets:
            if all(level.index in self.offsets for level in self.levels[-1:]):
                index = order[len(self.levels)]
                near = self.problem.neighbours[index]
                blame = {
                    rank[other.index]
                    for other in near
                    if other.index in rank and other.index in self.offsets
                }
                self.levels.append(Level(index, self.places(index), blame))
                if not self.budget.spend(len(near) + 1):
                    return None
            if not self.advance():
                return None
        return self.offsets

    def order(self) -> list[int]:
        """The buffers that are not pinned, by first use; of several, the longest-lived first."""
        buffers = self.problem.buffers
        free = [index for index in range(len(buffers)) if index not in self.pins]
        return sorted(
            free,
            key=lambda i: (buffers[i].first, -buffers[i].last, -buffers[i].size, i),
        )

    def advance(self) -> bool:
        """Give the last buffer its next offset, and jump back if it has none.

        False if the search space or the budget is exhausted.
        """
        while self.levels:
            level = self.levels[-1]
            if level.places:
                self.offsets[level.index] = level.places.pop(0)
                return True
            if not level.blame or not self.budget.spend(1):
                return False
            back = max(level.blame)
            self.levels[back].blame |= level.blame - {back}
            for each in self.levels[back:]:
                self.offsets.pop(each.index, None)
            del self.levels[back + 1 :]
        return False

    def places(self, index: int) -> list[int]:
        """The lowest and the highest offset of a buffer in each gap, outer ones first."""
        buffer = self.problem.buffers[index]
        ends: list[int] = []
        for low, high in self.gaps(index, self.ceiling - buffer.size):
            lowest = -(-low // buffer.alignment) * buffer.alignment
            highest = high // buffer.alignment * buffer.alignment
            if lowest <= highest:
                ends += [lowest, highest]
        middle = self.ceiling - buffer.size
        return sorted(dict.fromkeys(ends), key=lambda at: (-abs(2 * at - middle), at))

    def gaps(self, index: int, most: int) -> Iterator[tuple[int, int]]:
        """Ranges of offsets at which a buffer can start, both ends included, up to `most`."""
        spans = sorted(
            span
            for other in self.problem.neighbours[index]
            if (at := self.offsets.get(other.index)) is not None
            for span in other.blocked(at)
        )
        at = 0
        for low, high in spans:
            if at <= min(low, most):
                yield at, min(low, most)
            at = max(at, high)
        if at <= most:
            yield at, most


def timeline(
    problem: Problem, pins: Mapping[int, int], ceiling: int, work: int
) -> dict[int, int] | None:
    """A plan of at most `ceiling` bytes, found with at most `work` neighbour visits, or None."""
    return Timeline(problem, pins, ceiling, Budget(work)).run()
