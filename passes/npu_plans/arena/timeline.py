"""One buffer after the other in the order of time, at either end of a gap, with steps back.

Buffers that live together begin close to each other in time, so what stands in the way of a buffer
has been placed a few steps ago. Each buffer goes to the lowest or the highest place in one of the
gaps below a ceiling. Where none is left for it, the search goes back to the last buffer that stands
in its way, and moves that (conflict-directed backjumping):

    ceiling 810:   MIFM 324 at 0, MOFM 364 at 324, and then a map of 364 does not fit: it is live
    with the MOFM only, but 324 are left below it and 122 above. So the MOFM goes to 446.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from npu_plans.arena.placement import Budget
from npu_plans.arena.problem import Problem


@dataclass
class Level:
    """A buffer on its way to a place: the places still to be tried, and who took the others.

    `blame` are levels; if no place is left, one of them has to change.
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
        """The plan; None if there is none with places like these, or the budget is used up."""
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
        """The buffers that are not pinned: in the order of time, those that live long first."""
        buffers = self.problem.buffers
        free = [index for index in range(len(buffers)) if index not in self.pins]
        return sorted(
            free,
            key=lambda i: (buffers[i].first, -buffers[i].last, -buffers[i].size, i),
        )

    def advance(self) -> bool:
        """Give the last buffer its next place, going back as far as it takes; False at the end."""
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
        """The ends of the gaps in which a buffer can start, the outer ones first."""
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
        """From where to where a buffer can start, both included, up to `most`."""
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
    """A plan of at most `ceiling` bytes, found with at most `work` looks at a neighbour."""
    return Timeline(problem, pins, ceiling, Budget(work)).run()
