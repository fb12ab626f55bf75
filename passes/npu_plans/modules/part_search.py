"""Searches the best order of a part of the steps of a function, as plain data (`layer_orders.py`).

The search asks whether an order needs at most T bytes, depth first over the sets of steps that are
done. Such a set determines which bytes are live. A set that has failed is not tried again. T is
found by bisection, between what every order needs and the best order so far.

Steps that fit and free at least what they make run at once, and so does a step together with those
that it makes possible. Any order that runs them later works as well with them at the start: each
other step then meets no more live bytes than before, since what a step adds to the live bytes never
grows with the set of steps that are done.

A question may use a share of the budget. If it has no answer then, it is left open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple, TypeAlias

from npu_plans.modules.layer_graph import LayerGraph, members

SHARES = 6
"""A question about one T may use this part of the budget: 1 / SHARES."""

Path: TypeAlias = "tuple[int, Path] | None"
"""Steps in the order in which they have run, the last one first: (step, the path before it)."""


@dataclass
class Budget:
    """The steps that may still be tried."""

    left: int


class State(NamedTuple):
    """A set of steps that are done, with the bytes that are live then.

    `ready` are the steps that can run next, `path` the steps of the part that have run.
    """

    done: int
    live: int
    ready: tuple[int, ...]
    path: Path = None


class PartSearch:
    """The search for the best order of a part of the steps, those before it being done.

    `low` is the least peak that may still be possible, `high` that of the best order so far.
    `rejected` are the fewest bytes above the limit that a step has needed in the last question.
    `apart`: buffers that no part of a concatenation may overwrite. They would lie in the
    concatenation's buffer from their start, which `LayerGraph.run` counts too late.
    """

    def __init__(
        self,
        graph: LayerGraph,
        part: Sequence[int],
        before: Iterable[int],
        budget: Budget,
        apart: frozenset[int] = frozenset(),
    ) -> None:
        self.graph = graph
        self.apart = apart
        self.part = tuple(part)
        self.budget = budget
        self.inside = sum(1 << number for number in part)
        done, live = 0, graph.live_at_start()
        for number in before:
            _, live = graph.run(number, done, live)
            done |= 1 << number
        ready = (each for each in part if not graph.steps[each].before & ~done)
        self.start = State(done, live, tuple(ready))
        self.low = self.high = 0
        self.best = self.part
        self.unit = unit_of(graph, part)
        self.rejected: int | None = None

    def run(self, peak: int, goal: int) -> tuple[int, ...]:
        """The best order found; the given one has this peak, and `goal` bytes are enough."""
        self.high = peak
        self.low = self.on_grid(min(peak, lower_bound(self.graph, self.part, self.start.done)))
        if not self.apart and (wide := self.graph.widened) is not self.graph:
            other = PartSearch(wide, self.part, members(self.start.done), self.budget)
            other.high, other.low = peak_of(wide, other.start, self.part), self.low
            other.bisect(goal, self.budget.left // 3)
            self.take(other.best)
        self.bisect(goal, self.budget.left)
        return self.best

    def fit(self, peak: int, limit: int) -> tuple[int, ...]:
        """An order that needs at most `limit` bytes; the given one, with this peak, if none."""
        self.high = peak
        self.low = self.on_grid(min(peak, lower_bound(self.graph, self.part, self.start.done)))
        if self.low <= limit:
            answer = self.order_within(limit, self.budget.left // 2)
            if answer is not None:
                self.take(answer)
            elif self.rejected is not None and not self.apart:
                self.low = self.rejected
        return self.best

    def take(self, order: tuple[int, ...]) -> None:
        """Keep an order if it is better than the best one so far."""
        peak = peak_of(self.graph, self.start, order)
        if peak < self.high:
            self.best, self.high = order, peak

    def on_grid(self, low: int) -> int:
        """The least peak from `low` on that is a multiple of `unit` below the best one so far."""
        return self.high - (self.high - low) // self.unit * self.unit

    def bisect(self, goal: int, work: int) -> None:
        """Look for better orders, down to `goal` bytes, with at most `work` tried steps.

        The first question is whether any order is better, the last ones are for the bound.
        """
        share, end = max(1, work // SHARES), self.budget.left - work
        unknown = self.on_grid(max(self.low, goal - self.unit + 1))
        ask = max(unknown, self.high - self.unit)
        while goal < self.high > ask and self.budget.left > end:
            answer = self.order_within(ask, share)
            if answer is not None:
                self.take(answer)
            elif self.rejected is not None:
                self.low = min(self.rejected, self.high)
                unknown = max(unknown, self.low)
            elif ask + self.unit < self.high or ask == unknown:
                unknown = ask + self.unit
            ask = self.on_grid(max(unknown, (unknown + self.high - self.unit) // 2))
        while goal < self.high > self.low and self.budget.left > end:
            answer = self.order_within(self.on_grid(self.low), share)
            if answer is not None:
                self.take(answer)
            elif self.rejected is None:
                break
            else:
                self.low = min(self.rejected, self.high)

    def order_within(self, limit: int, share: int) -> tuple[int, ...] | None:
        """An order of the part that needs at most `limit` bytes; None if none was found.

        If there is none, `rejected` is a lower bound on what an order needs. It is None if the
        share of the budget was used up before that was known.
        """
        end = self.budget.left - min(share, self.budget.left)
        self.rejected = None
        seen: set[int] = set()
        stack = [[self.start]]
        lowest: int | None = None
        while stack:
            if not stack[-1]:
                stack.pop()
                continue
            state = self.settled(stack[-1].pop(), limit)
            if self.inside & ~state.done == 0:
                return order_of(state.path)
            if state.done in seen:
                continue
            seen.add(state.done)
            if self.budget.left <= end:
                return None
            choices, rejected = self.choices(state, limit)
            lowest = least(lowest, rejected)
            stack.append(choices)
        self.rejected = limit + 1 if lowest is None else lowest
        return None

    def settled(self, state: State, limit: int, except_: Sequence[int] = ()) -> State:
        """The state once all steps have run that fit and free at least what they make.

        Not those in `except_`.
        """
        moved = True
        while moved:
            moved = False
            for number in state.ready:
                if number in except_ or not self.never_late(number, state.done):
                    continue
                needed, live = self.tried(number, state)
                if needed is not None and needed <= limit and live <= state.live:
                    state = self.after(state, number, live)
                    moved = True
                    break
        return state

    def choices(self, state: State, limit: int) -> tuple[list[State], int | None]:
        """The states that can follow, the best one last.

        If a step and those that it makes possible leave no more live bytes, they are the only one.

        Also the fewest bytes above `limit` that a step would need.
        """
        found: list[State] = []
        lowest: int | None = None
        for number in state.ready:
            needed, live = self.tried(number, state)
            if needed is None:
                continue
            if needed > limit:
                lowest = least(lowest, needed)
                continue
            following = self.settled(self.after(state, number, live), limit, state.ready)
            if following.live <= state.live and self.never_late(number, state.done):
                return [following], lowest
            found.append(following)
        found.sort(key=lambda each: -each.live)
        return found, lowest

    def tried(self, number: int, state: State) -> tuple[int | None, int]:
        """Bytes in use while a step runs, and those live after it; None if it must not run here."""
        self.budget.left -= 1
        if self.apart and self.graph.spoils(number, state.done, self.apart):
            return None, state.live
        return self.graph.run(number, state.done, state.live)

    def after(self, state: State, number: int, live: int) -> State:
        """The state once a ready step has run."""
        done = state.done | 1 << number
        steps = self.graph.steps
        left = [each for each in state.ready if each != number]
        left += [
            each
            for each in self.graph.successors[number]
            if self.inside >> each & 1 and not steps[each].before & ~done
        ]
        return State(done, live, tuple(left), (number, state.path))

    def never_late(self, number: int, done: int) -> bool:
        """Whether what a step makes takes no more bytes now than later.

        The first part of a concatenation may: bytes between it and another part count too.
        """
        step = self.graph.steps[number]
        home = step.writes
        return (
            self.graph.single[home]
            or bool(self.graph.writers[home] & done)
            or step.span == (0, self.graph.sizes[home])
        )


def order_of(path: Path) -> tuple[int, ...]:
    """The steps of a path, the first one first."""
    found: list[int] = []
    while path is not None:
        number, path = path
        found.append(number)
    return tuple(reversed(found))


def unit_of(graph: LayerGraph, part: Sequence[int]) -> int:
    """A number of bytes that divides the difference of any two peaks of a part."""
    buffers = {each for number in part for each in graph.touched[number]}
    steps = (graph.steps[number] for number in part)
    edges = (edge for step in steps for edge in (*step.span, step.extra))
    return max(1, gcd(*(graph.sizes[each] for each in buffers), *edges))


def least(one: int | None, other: int | None) -> int | None:
    """The smaller of two numbers that may be missing."""
    return other if one is None else one if other is None else min(one, other)


def peak_of(graph: LayerGraph, start: State, order: Sequence[int]) -> int:
    """The most bytes in use while the steps of a part run in an order."""
    done, live, most = start.done, start.live, 0
    for number in order:
        needed, live = graph.run(number, done, live)
        most = max(most, needed)
        done |= 1 << number
    return most


def lower_bound(graph: LayerGraph, part: Sequence[int], done: int) -> int:
    """Bytes that every order of a part needs; `done` are the steps before it.

    While a step runs, a buffer is live if a step that must run before it writes the buffer, and a
    step that must run after it uses it.
    """
    return max(each for each in needed_by_each(graph, part, done))


def needed_by_each(graph: LayerGraph, part: Sequence[int], done: int) -> Iterator[int]:
    """For each step of a part the bytes that are in use in every order while it runs."""
    earlier = dict[int, int]()
    for number in part:
        mask = done
        for each in members(graph.steps[number].before & ~done):
            mask |= earlier[each] | 1 << each
        earlier[number] = mask
    later = dict[int, int]()
    beyond = ~(done | sum(1 << number for number in part))
    for number in reversed(part):
        mask = beyond
        for each in graph.successors[number]:
            if each in earlier:
                mask |= later[each] | 1 << each
        later[number] = mask
    inside = {each for number in part for each in graph.touched[number]}
    passing = [
        each
        for each, (writers, users) in enumerate(zip(graph.writers, graph.users, strict=True))
        if each not in inside and (writers & done or not writers) and users & beyond
    ]
    always = sum(graph.hull(each, done) for each in passing)
    for number in part:
        step, own = graph.steps[number], 1 << number
        needed = always + step.extra
        for each in inside:
            before = earlier[number] | own * (each == step.writes)
            needs_it = later[number] | own
            if each == step.writes or graph.users[each] & needs_it:
                needed += graph.hull(each, before)
        room = [each for each in step.overwrites if not graph.users[each] & later[number]]
        yield needed - max((graph.sizes[each] for each in room), default=0)
