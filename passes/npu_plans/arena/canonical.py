"""Searches for a plan below a ceiling, in which every buffer rests on the floor or on another one.

If there is a plan, there is one in which no buffer can be moved down. So a buffer lies at the
lowest offset that the placed buffers leave it, or it rests on a buffer that is not placed yet. The
search takes one buffer after the other and tries the first; if that fails, the buffer's lowest
offset rises to what the second allows. A buffer is only taken if no unplaced buffer can end up
below it. These are the canonical solutions of Moffitt, "MiniMalloc: A Lightweight Memory Allocator
for Hardware-Accelerated Machine Learning" (ASPLOS 2023). The paper places them in the order of
their offsets; here any buffer at the bottom of a valley of the skyline can be next.

A section is a program point at which a buffer starts. A branch is dropped if, in a section, the
lowest offset of an unplaced buffer and the sizes of all unplaced buffers exceed the ceiling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from npu_plans.arena.placement import Budget
from npu_plans.arena.problem import Neighbour, Problem, align, largest_of_groups

Integers: TypeAlias = NDArray[np.int64]
Rule = Literal["tightest", "lowest"]
"""Which buffer is next. `lowest`: one with the lowest offset, as in the paper. `tightest`: one of
the section in which the fewest buffers can be next; sections that failed often come first."""

FAR = 2**60
"""Stands for the offset of a placed buffer; above every ceiling."""
STEP_WORK = 3_000
"""Work of a step besides its visits: what numpy's calls cost on arrays of any length."""


class Layout:
    """A problem as arrays, for all searches in it. Empty buffers are left out of the sections.

    `entries` are the buffers of all sections, one section behind the other: those that live there,
    of each group that overlays connect the largest one only, and a dummy (number `count`) that
    takes no bytes. Section s starts at `starts[s]`; `section` holds the number of each entry's
    section, and `spans` the sections of each buffer.
    """

    def __init__(self, problem: Problem) -> None:
        """Collect the sections and the pairs of buffers that may collide."""
        self.problem = problem
        self.count = len(problem.buffers)
        self.sizes = np.array([buffer.size for buffer in problem.buffers], np.int64)
        points = sorted({buffer.first for buffer in problem.buffers})
        lives = [
            [i for i in largest_of_groups(problem, problem.live_at(point)) if self.sizes[i]]
            for point in points
        ]
        self.entries = np.array([i for live in lives for i in (*live, self.count)], np.int64)
        lengths = [len(live) + 1 for live in lives]
        self.starts = np.array([sum(lengths[:s]) for s in range(len(lengths))], np.int64)
        self.section = np.repeat(np.arange(len(lengths)), lengths)
        spans: list[list[int]] = [[] for _ in range(self.count)]
        for section, live in enumerate(lives):
            for index in live:
                spans[index].append(section)
        self.spans = [np.array(each, np.int64) for each in spans]
        self.totals = np.array([self.sizes[live].sum() for live in lives], np.int64)
        self.near = [
            np.array([other.index for other in near], np.int64) for near in problem.neighbours
        ]
        self.below = [
            np.array([above(other) for other in near], np.int64) for near in problem.neighbours
        ]
        """For each neighbour of a buffer: how far above that neighbour the buffer has to be."""
        self.above = [
            np.array([under(other) for other in near], np.int64) for near in problem.neighbours
        ]
        """For each neighbour of a buffer: how far above the buffer that neighbour has to be."""
        self.ties = [
            np.array([bool(other.exact) for other in near], np.int64) for near in problem.neighbours
        ]
        """For each neighbour of a buffer: 1 if the two may overlap at an exact distance."""
        self.steps = np.array([buffer.alignment for buffer in problem.buffers], np.int64)
        self.is_aligned = bool((self.steps > 1).any())
        self.pins = {
            i: buffer.pin for i, buffer in enumerate(problem.buffers) if buffer.pin is not None
        }
        self.fences = {
            i: fences
            for i, near in enumerate(problem.neighbours)
            if (fences := tuple(o for o in near if o.exact or o.index in self.pins))
        }
        """For each buffer the neighbours that block ranges of offsets, not all below one."""
        self.work = STEP_WORK + len(self.entries)


def above(other: Neighbour) -> int:
    """The least distance at which a buffer may lie above its neighbour."""
    return min((*other.exact, other.ahead))


def under(other: Neighbour) -> int:
    """The least distance at which the neighbour may lie above the buffer."""
    return min((*(-distance for distance in other.exact), other.back))


@dataclass
class State:
    """Where the unplaced buffers may lie: from `low` to `high`, FAR if a buffer is placed.

    `low` has an entry for the dummy behind them. `rest`: bytes of the unplaced buffers of each
    section. `floor` and `slack`: per section the lowest offset of an unplaced buffer, and the bytes
    that may stay free above it.
    """

    low: Integers
    high: Integers
    rest: Integers
    floor: Integers
    slack: Integers


@dataclass
class Descent:
    """A depth-first search for a plan of at most `ceiling` bytes.

    `order`: the buffers, those to be placed first in front. After the search, `is_proof` says
    whether it tried all there is, so that finding nothing means that there is no plan.
    """

    layout: Layout
    ceiling: int
    rule: Rule
    order: Sequence[int]
    budget: Budget
    is_proof: bool = True
    path: list[tuple[State, int]] = field(default_factory=list[tuple[State, int]])
    """The placed buffers, each with the state before it was placed."""

    def __post_init__(self) -> None:
        """Rank the buffers; no section has failed yet."""
        self.rank = np.argsort(np.array(self.order, np.int64))
        self.weights = np.ones(len(self.layout.totals))

    def run(self) -> dict[int, int] | None:
        """The plan, or None if there is none or the budget is used up."""
        state = self.start()
        while True:
            while state is None:
                if not self.path:
                    return None
                state = self.refuse(*self.path.pop())
            if len(self.path) == self.layout.count:
                return {index: int(before.low[index]) for before, index in self.path}
            if not self.budget.spend(self.layout.work):
                self.is_proof = False
                return None
            index = self.choose(state)
            self.path.append((state, index))
            state = self.place(state, index)

    def start(self) -> State | None:
        """Nothing is placed; pinned buffers have no choice. None if there is no plan."""
        layout = self.layout
        low = np.zeros(layout.count + 1, np.int64)
        high = self.ceiling - layout.sizes
        for index in layout.fences:
            low[index] = self.lifted(index, 0, layout.pins)
        for index, pin in layout.pins.items():
            low[index] = pin
            high[index] = min(high[index], pin)
        low[layout.count] = self.ceiling
        if bool((low[:-1] > high).any()):
            return None
        return self.checked(low, high, layout.totals)

    def checked(self, low: Integers, high: Integers, rest: Integers) -> State | None:
        """The state with these bounds; None, and the section counts more, if one is too full."""
        layout = self.layout
        floor = np.minimum.reduceat(low[layout.entries], layout.starts)
        slack = self.ceiling - floor - rest
        worst = int(slack.argmin())
        if slack[worst] < 0:
            self.weights[worst] += 1
            return None
        return State(low, high, rest, floor, slack)

    def place(self, state: State, index: int) -> State | None:
        """Put a buffer at its lowest offset. None if the others do not fit then."""
        layout, near = self.layout, self.layout.near[index]
        at = state.low[index]
        old = state.low[near]
        new = np.maximum(old, at + layout.above[index])
        low, high, rest = state.low.copy(), state.high.copy(), state.rest.copy()
        if layout.is_aligned:
            new = np.where(old < FAR, -(-new // layout.steps[near]) * layout.steps[near], FAR)
        low[near] = new
        low[index] = high[index] = FAR
        if layout.fences:
            placed = {**self.placed(), index: int(at)}
            for other in near.tolist():
                if other in layout.fences and low[other] < FAR:
                    low[other] = self.lifted(other, int(low[other]), placed)
        if bool((low[near] > high[near]).any()):
            return None
        rest[layout.spans[index]] -= layout.sizes[index]
        return self.checked(low, high, rest)

    def refuse(self, state: State, index: int) -> State | None:
        """Let a buffer rest on an unplaced one. None if it cannot."""
        layout = self.layout
        at, buffer = int(state.low[index]), layout.problem.buffers[index]
        reach = state.low[layout.near[index]] + layout.below[index]
        for tie in np.flatnonzero(reach <= at).tolist():
            reach[tie] = self.together(state, index, tie)
        least = int(reach.min(initial=FAR))
        if least > state.high[index]:
            return None
        low = state.low.copy()
        new = align(least, buffer.alignment)
        low[index] = self.lifted(index, new, self.placed()) if index in layout.fences else new
        if low[index] > state.high[index]:
            return None
        return self.checked(low, state.high, state.rest)

    def together(self, state: State, index: int, tie: int) -> int:
        """The lowest offset of a buffer above its present one, if it moves up with a neighbour.

        `tie` is the place of the neighbour among those of the buffer. The two are at an exact
        distance, so one of them has to rest on a third one.
        """
        layout, partner = self.layout, int(self.layout.near[index][tie])
        near = layout.near[partner]
        reach = (state.low[near] + layout.below[partner])[near != index].min(initial=FAR)
        found = int(reach + layout.below[index][tie])
        if found > state.low[index]:
            return min(found, FAR)
        self.is_proof = False
        return FAR

    def placed(self) -> dict[int, int]:
        """The offsets of placed and pinned buffers."""
        return self.layout.pins | {i: int(state.low[i]) for state, i in self.path}

    def lifted(self, index: int, at: int, placed: Mapping[int, int]) -> int:
        """The lowest offset from `at` on that the fences of a buffer leave."""
        layout = self.layout
        spans = sorted(
            span
            for other in layout.fences[index]
            if other.index in placed
            for span in other.blocked(placed[other.index])
        )
        for low, high in spans:
            if low < at < high:
                at = align(high, layout.problem.buffers[index].alignment)
        return at

    def is_lowest(self, state: State, index: int) -> bool:
        """Whether no unplaced buffer can lie below this one if it is placed now.

        Of two that lie at their exact distance, either can be placed first.
        """
        layout = self.layout
        reach = state.low[layout.near[index]] + layout.below[index] + layout.ties[index]
        return bool((reach > state.low[index]).all())

    def choose(self, state: State) -> int:
        """The buffer to be placed next."""
        for index in self.layout.pins:
            if state.low[index] < FAR and self.is_lowest(state, index):
                return index
        tightest = self.tightest(state) if self.rule == "tightest" else None
        if tightest is not None:
            return tightest
        low = state.low[:-1]
        ranked = np.lexsort((self.rank, low))
        for index in ranked.tolist():
            if low[index] == FAR:
                break
            if self.is_lowest(state, index):
                return int(index)
        self.is_proof = False
        return int(ranked[0])

    def tightest(self, state: State) -> int | None:
        """A buffer at the bottom of the section in which the fewest buffers can be next."""
        layout = self.layout
        low = state.low[layout.entries]
        can = low <= (state.floor + state.slack)[layout.section]
        counts = np.add.reduceat(can, layout.starts, dtype=np.int64)
        scores = (counts + state.slack / (self.ceiling + 1.0)) / self.weights
        scores[state.rest == 0] = np.inf
        known: dict[int, bool] = {}
        for section in np.argsort(scores, kind="stable").tolist():
            if not state.rest[section]:
                return None
            start = layout.starts[section]
            stop = layout.starts[section + 1] if section + 1 < len(layout.starts) else len(low)
            live = layout.entries[start:stop]
            first = live[low[start:stop] == state.floor[section]]
            for index in first[self.rank[first].argsort()].tolist():
                if index not in known:
                    known[index] = self.is_lowest(state, index)
                if known[index]:
                    return int(index)
        return None
