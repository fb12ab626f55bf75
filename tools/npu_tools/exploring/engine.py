"""Runs a sweep: computes the points that the store does not have, each once.

Points that share passes go to a worker together, which runs those once: all pipelines and rates of
one memory if that leaves enough for every worker, else all rates of one pipeline. A result that is
known to be the same for other machines (`watching.py`) is used for their points, which then go to
no worker.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from npu_tools.exploring.columns import row_of
from npu_tools.exploring.points import Point
from npu_tools.exploring.pools import Bundle, Pool
from npu_tools.exploring.store import Store
from npu_tools.exploring.watching import Seen

LOOK_AHEAD = 64
"""How many waiting bundles are looked at for one that no running bundle may answer."""

SHARES = 2
"""How many bundles each thread of the workers shall get at least, so that none is idle for long."""

Told = Callable[[int], None]
"""Told after each step how many points are done by it."""


@dataclass
class Counts:
    """How points got their rows: `held` had one, `answered` by another point, `computed`."""

    held: int = 0
    answered: int = 0
    computed: int = 0

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.held + self.answered + self.computed} points: {self.computed} computed, "
            f"{self.answered} the same as another one, {self.held} in the store before"
        )

    def add(self, other: Counts) -> None:
        """Add the counts of further points."""
        self.held += other.held
        self.answered += other.answered
        self.computed += other.computed


@dataclass
class Answers:
    """Results, with the machines for which they are the same."""

    known: dict[tuple[object, ...], list[tuple[Seen, Mapping[str, Any]]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, point: Point, seen: Seen, results: Mapping[str, Any]) -> None:
        """Remember the results of a point."""
        self.known[point.alike].append((seen, results))

    def find(self, point: Point) -> Mapping[str, Any] | None:
        """The results of a point, if they are known."""
        for seen, results in reversed(self.known.get(point.alike, ())):
            if seen.holds(point.machine):
                return results
        return None


def run(
    points: Iterable[Point], store: Store, pool: Pool, told: Told = lambda number: None
) -> Counts:
    """Compute all points that the store does not have, and add their rows to it.

    Raises: UserError if rows cannot be written, or if the pool fails.
    """
    counts, answers = Counts(), Answers()
    missing = without_row(points, store, counts)
    waiting, running = deque(bundles(missing, pool.threads)), Counter[tuple[object, ...]]()
    told(counts.held)
    sent: dict[str, Point] = {}
    while waiting or sent:
        while waiting and pool.has_room():
            rest: list[Point] = []
            for point in taken(waiting, running):
                results = answers.find(point)
                if results is None:
                    rest.append(point)
                    continue
                store.add(row_of(point, results))
                counts.answered += 1
                told(1)
            if rest:
                sent |= {point.key: point for point in rest}
                running[rest[0].alike] += len(rest)
                pool.submit(tuple(rest))
        if sent:
            for outcome in pool.finished():
                point = sent.pop(outcome.key)
                running[point.alike] -= 1
                if outcome.seen is not None:
                    answers.add(point, outcome.seen, outcome.results)
                store.add(row_of(point, outcome.results))
                counts.computed += 1
                told(1)
    return counts


def without_row(points: Iterable[Point], store: Store, counts: Counts) -> Iterator[Point]:
    """The points that the store does not have; those that it has are counted."""
    for point in points:
        if point.key in store.keys:
            counts.held += 1
        else:
            yield point


def bundles(points: Iterable[Point], threads: int) -> list[Bundle]:
    """The points, each once, those together that share passes.

    The first bundle stays first, as a large memory answers for smaller ones. The others follow from
    the end on: a small memory takes longest, and what takes long must not be left for the end.
    """
    each = {point.key: point for point in points}.values()
    near = grouped(each, lambda point: point.near)
    found = near if len(near) >= SHARES * threads else grouped(each, lambda point: point.like)
    return [*found[:1], *reversed(found[1:])]


def grouped(points: Iterable[Point], by: Callable[[Point], object]) -> list[Bundle]:
    """The points in groups with the same value of a function, in their order."""
    found: dict[object, list[Point]] = {}
    for point in points:
        found.setdefault(by(point), []).append(point)
    return [tuple(group) for group in found.values()]


def taken(waiting: deque[Bundle], running: Mapping[tuple[object, ...], int]) -> Bundle:
    """Take a bundle that no running one may answer, or else the first."""
    for index in range(min(len(waiting), LOOK_AHEAD)):
        if not running.get(waiting[index][0].alike):
            bundle = waiting[index]
            del waiting[index]
            return bundle
    return waiting.popleft()
