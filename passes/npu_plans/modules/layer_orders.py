"""Finds the order of the layers of a function with the least peak memory, as plain data.

`least_peak` improves the given order, and says how far it can be from the best one:

1. A step that all others must precede or follow cuts the order in two. Each part between such
   steps is a problem of its own. A chain has no part with two steps, so there is nothing to search.
2. Parts are searched from the one with the highest peak down. Once the highest peak left is that of
   a part that cannot be improved, the others do not matter.
3. `part_search.py` searches a part.
4. A map that a part of a concatenation overwrites lies in the concatenation's buffer from its own
   start on. A set of steps does not show that, so it is counted too late, or twice, if it lies
   between two parts. A second search gives the bound: each part has a buffer of its own there
   (`LayerGraph.scattered`). If the order suffers from maps that begin so early, the search is
   repeated, and may not let those be overwritten.

All of it is deterministic. The work is counted in steps that were tried. If the budget is used up,
the best order so far stays, and the bound may be lower than its peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from npu_plans.modules.layer_graph import LayerGraph, members
from npu_plans.modules.part_search import Budget, PartSearch

BUDGET = 200_000
"""How many steps a search tries in all, unless told otherwise."""
ROUNDS = 8
"""How often the search runs at most, each time with more maps that must not be overwritten."""


@dataclass(frozen=True)
class Ordered:
    """An order and its `peak` in bytes, beside that of the given order (`given`).

    No order needs less than `bound` bytes. `work` is the number of steps that were tried.
    """

    order: tuple[int, ...]
    peak: int
    given: int
    bound: int
    work: int

    @property
    def gains(self) -> bool:
        """Whether the order needs less than the given one."""
        return self.peak < self.given


def least_peak(graph: LayerGraph, budget: int = BUDGET, fits: int | None = None) -> Ordered:
    """The best order found with at most `budget` tried steps; the given one if none is better.

    `fits`: only an order that needs at most so many bytes counts as better, and any such order is
    good enough.
    """
    given = tuple(range(len(graph.steps)))
    peak = graph.peak(given)
    task = Task(graph, parts_of(graph), fits)
    purse = Budget(budget)
    order, bound = task.search(purse)
    best, low, apart = given, peak, frozenset[int]()
    if graph.claims:
        other, bound = Task(graph.scattered, task.parts, fits).search(purse)
        if (reached := graph.peak(other)) < low:
            best, low = other, reached
    for _ in range(ROUNDS):
        if (reached := graph.peak(order)) < low:
            best, low = order, reached
        more = graph.begun_early(order, low - 1) - apart
        if not more or low <= max(bound, fits or 0) or purse.left <= 0:
            break
        apart, order = task.avoiding(purse, apart, more, low)
    if fits is not None and low > fits:
        best, low = given, peak
    return Ordered(best, low, peak, min(bound, low), budget - purse.left)


class Found(NamedTuple):
    """An order, and a lower bound on the peak of all orders."""

    order: tuple[int, ...]
    bound: int


@dataclass(frozen=True)
class Task:
    """The parts of an order, and the options of `least_peak`."""

    graph: LayerGraph
    parts: list[tuple[int, ...]]
    fits: int | None

    def search(self, budget: Budget, apart: frozenset[int] = frozenset(), high: int = 0) -> Found:
        """Search the parts, the one with the highest peak first; `apart`: see `PartSearch`.

        The given order needs at least `high` bytes.
        """
        parts = self.parts
        peaks = part_peaks(self.graph, parts)
        alone = (peak for part, peak in zip(parts, peaks, strict=True) if len(part) == 1)
        bound = max(alone, default=0)
        goal = bound if self.fits is None else self.fits
        found = list(parts)
        for place in sorted(range(len(parts)), key=lambda each: (-peaks[each], each)):
            if peaks[place] <= goal or (self.fits is not None and bound > goal):
                break
            before = (number for part in parts[:place] for number in part)
            search = PartSearch(self.graph, parts[place], before, budget, apart)
            if self.fits is None:
                found[place] = search.run(max(high, peaks[place]), goal)
                goal = max(goal, search.high)
            else:
                found[place] = search.fit(peaks[place], goal)
            bound = max(bound, search.low)
        return Found(tuple(number for part in found for number in part), bound)

    def avoiding(
        self, budget: Budget, apart: frozenset[int], more: frozenset[int], high: int
    ) -> tuple[frozenset[int], tuple[int, ...]]:
        """An order that needs fewer than `high` bytes if no part overwrites some more maps.

        Tried are all of `more` besides `apart`, then each of them alone; all of them stay apart if
        none helps. Returns the maps that stay apart, too.
        """
        order = self.search(budget, apart | more, high).order
        if len(more) > 1 and self.graph.peak(order) >= high:
            for each in sorted(more):
                other = self.search(budget, apart | {each}, high).order
                if self.graph.peak(other) < high:
                    return apart | {each}, other
        return apart | more, order


def parts_of(graph: LayerGraph) -> list[tuple[int, ...]]:
    """The parts of the order, each to be finished before the next one begins.

    A step that all others must precede or follow is a part of its own.
    """
    ends: set[int] = set()
    open_ends: set[int] = set()
    for number, step in enumerate(graph.steps):
        open_ends.difference_update(members(step.before))
        open_ends.add(number)
        if len(open_ends) == 1:
            ends.add(number)
    begins: set[int] = set()
    open_ends.clear()
    for number in reversed(range(len(graph.steps))):
        open_ends.difference_update(graph.successors[number])
        open_ends.add(number)
        if len(open_ends) == 1:
            begins.add(number)
    parts: list[tuple[int, ...]] = []
    here: list[int] = []
    for number in range(len(graph.steps)):
        if number in ends and number in begins:
            parts += [tuple(here)] if here else []
            parts.append((number,))
            here = []
        else:
            here.append(number)
    return [*parts, tuple(here)] if here else parts


def part_peaks(graph: LayerGraph, parts: Sequence[Sequence[int]]) -> list[int]:
    """The peak of each part in the given order, in bytes."""
    done, live = 0, graph.live_at_start()
    peaks: list[int] = []
    for part in parts:
        most = 0
        for number in part:
            needed, live = graph.run(number, done, live)
            most = max(most, needed)
            done |= 1 << number
        peaks.append(most)
    return peaks
