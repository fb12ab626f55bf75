"""Chooses the regions of a function's layers that run row by row: numbers only, no IR.

A region is a run of layers in the order of the function. They read one map, of which all rows are
there or are fetched, and only the map of the last one is read behind them. If several are, they may
be joined into one map, where the function says so (`joinable`). A region holds both maps, the rings
of the maps between, and all maps that live past it. A sum in it may also read a map from before.
The output may lie over rows of the input that are read for the last time before, if `overlays`. A
sum may also put its rows where it reads those of the input, if no layer needs these later.

The rows of a streamed input arrive one at a time. Only a region can read it, and it must have all
its readers. A ring of the input is one of its rings.

    layer   bytes alone          regions          bytes
    conv    3 + 16               conv, conv, sum  3 + 16 + 4 of rings
    conv    16 + 16
    sum     16 + 16

The choice minimises the peak, then the work that regions add, then how many layers are in one. The
peak is the smallest one with which the work stays in its budget. Both searches are exact: for each
limit, the least work is found by dynamic programming over the ends of regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from npu_plans.rows.growing import FunctionRows, Growing, walked
from npu_plans.rows.schedule import Known, RowLayer, Schedule, schedule

CALL = 400
"""About how many instructions a layer costs for each row that it computes by itself.

A Cortex-M4 takes 300 to 900.
"""
MOVE = 2
"""About how many instructions it costs to move a word."""
WORD = 4
"""Bytes of a word."""


@dataclass(frozen=True)
class RowRegion:
    """Steps `first` to `last`, both included, with what they need.

    `bytes` are all bytes in use while they run, and `work` the instructions that they add. Without
    a schedule, it is one step that runs by itself. `source` is the map that the region reads, and
    `streamed` says whether its rows arrive one at a time. `in_place`: the result lies where the
    source does, row by row. `joined` are the maps that the result consists of, if several. `leaves`
    are the bytes of the result if it is put off chip, and `moved` those of maps that are off chip
    whatever is chosen. `lines` are the maps off chip of which one row is on it at a time, with the
    bytes of it. `buffers`: those of double buffers for all rows that are moved, so that they move
    while others are computed; 0 if there are none. `top_rows`: rows of its layers that need padding
    above a map are layers of their own.
    """

    first: int
    last: int
    bytes: int
    work: int = 0
    schedule: Schedule | None = None
    source: int | None = None
    streamed: bool = False
    in_place: bool = False
    joined: tuple[int, ...] = ()
    leaves: int = 0
    moved: int = 0
    lines: Mapping[int, int] = field(default_factory=dict[int, int])
    buffers: int = 0
    top_rows: bool = False

    @property
    def fused(self) -> int:
        """How many steps run row by row."""
        return 0 if self.schedule is None else self.last - self.first + 1


@dataclass(frozen=True)
class Choice:
    """Regions and steps that cover a function, in order, with the most bytes that one needs."""

    parts: tuple[RowRegion, ...]

    @property
    def peak(self) -> int:
        """The most bytes in use at a time."""
        return max((part.bytes for part in self.parts), default=0)

    @property
    def work(self) -> int:
        """The instructions that the regions add."""
        return sum(part.work for part in self.parts)

    @property
    def regions(self) -> list[RowRegion]:
        """The regions alone."""
        return [part for part in self.parts if part.schedule is not None]


def smallest_regions(function: FunctionRows, max_slowdown: float) -> Choice:
    """The regions with the lowest peak that add at most `max_slowdown` percent of work.

    What a streamed input needs at least is not counted. No parts if no region can read it.
    """
    parts = parts_of(function)
    least = least_work(parts, len(function.steps), inf)
    budget = function.work * max_slowdown / 100 + (0 if least is None else least.work)
    limits = sorted({part.bytes for part in parts})
    low, high = 0, len(limits) - 1
    best = Choice(())
    while low <= high:
        middle = (low + high) // 2
        choice = least_work(parts, len(function.steps), limits[middle])
        if choice is not None and choice.work <= budget:
            best, high = choice, middle - 1
        else:
            low = middle + 1
    return best


def needed_regions(function: FunctionRows, limit: int) -> Choice | None:
    """The regions that add the least work so that no step needs more bytes than the limit.

    None if there are none.
    """
    return least_work(parts_of(function), len(function.steps), limit)


def parts_of(function: FunctionRows) -> list[RowRegion]:
    """All steps, and the regions that may lower the peak."""
    steps = list(alone(function))
    return [*steps, *found_regions(function, max((each.bytes for each in steps), default=0))]


def streaming_region(function: FunctionRows) -> Choice:
    """The region with the fewest layers that can read the streamed input; no parts if none can."""
    steps = list(alone(function))
    for growing, _ in walked(function):
        region = next(grown(growing), None)
        if region is not None and region.streamed:
            others = [step for step in steps if not region.first <= step.first <= region.last]
            return Choice(tuple(sorted((*others, region), key=lambda part: part.first)))
    return Choice(())


def least_work(parts: Sequence[RowRegion], steps: int, limit: float) -> Choice | None:
    """The parts within a limit of bytes that cover all steps with the least work."""
    fitting = [part for part in parts if part.bytes <= limit]
    return best_cover(fitting, steps, lambda part: (part.work, part.fused))


def most_layers(function: FunctionRows) -> Choice:
    """As many layers as possible in regions, in as few of these as possible."""
    parts = [*alone(function), *found_regions(function)]
    choice = best_cover(parts, len(function.steps), lambda part: (-part.fused, 1))
    return Choice(()) if choice is None else choice


def best_cover(
    parts: Sequence[RowRegion], steps: int, cost: Callable[[RowRegion], tuple[int, ...]]
) -> Choice | None:
    """The parts that cover all steps with the least sums of costs; None if none do."""
    ending: list[list[RowRegion]] = [[] for _ in range(steps)]
    for part in parts:
        ending[part.last].append(part)
    best: list[tuple[tuple[int, ...], RowRegion | None] | None] = [((), None)]
    for end in range(steps):
        choices: list[tuple[tuple[int, ...], RowRegion]] = []
        for part in ending[end]:
            before = best[part.first]
            if before is not None:
                own = cost(part)
                pairs = zip(before[0] or (0,) * len(own), own, strict=True)
                choices.append((tuple(one + other for one, other in pairs), part))
        best.append(min(choices, key=lambda each: each[0], default=None))
    chosen: list[RowRegion] = []
    end = steps
    while end:
        entry = best[end]
        if entry is None or entry[1] is None:
            return None
        chosen.append(entry[1])
        end = entry[1].first
    return Choice(tuple(reversed(chosen)))


def alone(function: FunctionRows) -> Iterator[RowRegion]:
    """Each step by itself, but for those that read a streamed input."""
    kept = () if function.streamed is None else function.users[function.streamed.map]
    for growing, (used, _) in walked(function):
        first = growing.first
        if first in kept:
            continue
        if growing.take(first) and len(growing.layers) == 1:
            used = min(used, growing.bytes_with(schedule(growing.layers)) - growing.weights)
        moved = function.moved(first, first)
        yield RowRegion(first, first, used + function.steps[first].partial, moved=moved)


def found_regions(function: FunctionRows, limit: float = inf) -> Iterator[RowRegion]:
    """The regions of the function, each with the schedule that needs the fewest bytes in rings.

    All but some that need more bytes than the limit.
    """
    known = Known()
    for growing, _ in walked(function):
        yield from grown(growing, limit, known)


def grown(growing: Growing, limit: float = inf, known: Known | None = None) -> Iterator[RowRegion]:
    """The regions that start at one step, shorter ones first; see `found_regions`."""
    for last in range(growing.first, len(growing.function.steps)):
        if not growing.take(last) or (growing.least_bytes() > limit and not growing.streams):
            return
        if growing.has_region:
            yield from regions_of(growing, limit, known)


def regions_of(growing: Growing, limit: float, known: Known | None) -> Iterator[RowRegion]:
    """The regions that layers can be: with one result, beside the input or over it, or joined."""
    first, last, source, layers = growing.first, growing.end - 1, growing.source, growing.layers
    moved = growing.function.moved(first, last)
    if not growing.is_closed:
        joined = growing.joined()
        if joined and growing.least_bytes() + growing.size_of(joined[-1]) <= limit:
            found = schedule(joined, known)
            used, work = growing.bytes_joined(joined[-1], found), added_work(joined, found)
            maps = tuple(each.map for each in joined[-1].reads)
            lines = growing.lines(own=False)
            yield RowRegion(
                *(first, last, used, work, found, source), joined=maps, lines=lines, moved=moved
            )
        return
    found = schedule(layers, known)
    used, work = growing.bytes_with(found), added_work(layers, found)
    streams, lines = growing.streams, growing.lines(own=True)
    yield RowRegion(first, last, used, work, found, source, streams, lines=lines, moved=moved)
    if growing.function.top_rows and growing.function.overlays:
        least = growing.bytes_with(found, top_rows=True)
        if least < used:
            work += 1  # of two regions of as many instructions, the one with less code
            yield RowRegion(first, last, least, work, found, source, streams, top_rows=True)
    if (layers := growing.in_place()) and growing.overtakes(found := schedule(layers)):
        lines = growing.lines(own=False)
        used = growing.live + found.ring_bytes + sum(lines.values()) + growing.weights
        work = added_work(layers, found)
        yield RowRegion(
            *(first, last, used, work, found, source), in_place=True, lines=lines, moved=moved
        )


def added_work(layers: Sequence[RowLayer], found: Schedule) -> int:
    """About how many instructions a region adds: calls for rows, and moves of rows in rings."""
    calls = sum(layer.rows for layer in layers) * CALL
    return calls + moved_rows(layers, found) // WORD * MOVE


def moved_in_rings(function: FunctionRows, region: RowRegion) -> int:
    """The bytes of the rows that a region moves in its rings."""
    assert region.schedule is not None
    return moved_rows(function.layers(region.first, region.last), region.schedule)


def moved_rows(layers: Sequence[RowLayer], found: Schedule) -> int:
    """The bytes of rows that layers move in rings."""
    return sum(
        layer.rows * layer.row_bytes * max(0, found.rings[layer.map] - 1) for layer in layers[:-1]
    )
