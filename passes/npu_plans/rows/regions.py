"""Chooses the regions of a function's layers that run row by row: numbers only, no IR.

A region is a run of layers in the order of the function. They read one map, of which all rows are
there, and only the map of the last one is read behind them. It holds both maps, the rings of the
maps between, and all maps that live past it. A sum in it may also read a map from before. The
output may lie over rows of the input that are read for the last time before, if `overlays`.

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
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from math import inf

from npu_dialect.row_times import RowRead, RowTime, period_of
from npu_plans.modules.layer_graph import LayerGraph
from npu_plans.rows.schedule import Part, RowLayer, Schedule, schedule

CALL = 400
"""About how many instructions a layer costs for each row that it computes by itself.

A Cortex-M4 takes 300 to 900.
"""
MOVE = 2
"""About how many instructions it costs to move a word."""
WORD = 4
"""Bytes of a word."""


@dataclass(frozen=True)
class RowStep:
    """A step of the function's `LayerGraph`, as layers that can run row by row.

    No layers if it cannot. `pads` has the values of the padding above and below of each map that is
    read with some, by its number. `partial`: the bytes of its parameters that are on chip at a time
    when it runs by itself.
    """

    layers: tuple[RowLayer, ...] = ()
    pads: Mapping[int, float] = field(default_factory=dict[int, float])
    partial: int = 0


@dataclass(frozen=True)
class FunctionRows:
    """A function: `graph` has the buffers of its steps, and `steps` says which can run by row.

    `users` has for each map the steps that read it; a returned one is read by a step behind the
    last one. `homes` is the buffer of each map. `dense` are the maps of which each row is a run of
    bytes. `work` is about how many instructions the function takes. `overlays`: whether the output
    of a layer or region may lie over its input. `fetched` are layers that fetch the rows of the
    maps that lie off chip, by their numbers.
    """

    graph: LayerGraph
    steps: Sequence[RowStep]
    users: Mapping[int, Sequence[int]]
    homes: Mapping[int, int]
    dense: AbstractSet[int]
    work: int
    overlays: bool = False
    fetched: Mapping[int, RowLayer] = field(default_factory=dict[int, RowLayer])


@dataclass(frozen=True)
class RowRegion:
    """Steps `first` to `last`, both included, with what they need.

    `bytes` are all bytes in use while they run, and `work` the instructions that they add. Without
    a schedule, it is one step that runs by itself. `source` is the map that the region reads.
    `in_place`: the result lies where the source does, row by row.
    """

    first: int
    last: int
    bytes: int
    work: int = 0
    schedule: Schedule | None = None
    source: int | None = None
    in_place: bool = False

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
    """The regions with the lowest peak that add at most `max_slowdown` percent of work."""
    parts = parts_of(function)
    budget = function.work * max_slowdown / 100
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


def least_work(parts: Sequence[RowRegion], steps: int, limit: int) -> Choice | None:
    """The parts within a limit of bytes that cover all steps with the least work."""
    fitting = [part for part in parts if part.bytes <= limit]
    return best_cover(fitting, steps, lambda part: (part.work, part.fused))


def most_layers(function: FunctionRows) -> Choice:
    """As many layers as possible in regions, in as few of these as possible."""
    parts = [*alone(function), *found_regions(function)]
    choice = best_cover(parts, len(function.steps), lambda part: (-part.fused, 1))
    return Choice(()) if choice is None else choice


def best_cover(
    parts: Sequence[RowRegion], steps: int, cost: Callable[[RowRegion], tuple[int, int]]
) -> Choice | None:
    """The parts that cover all steps with the least sums of costs; None if none do."""
    ending: list[list[RowRegion]] = [[] for _ in range(steps)]
    for part in parts:
        ending[part.last].append(part)
    best: list[tuple[int, int, RowRegion | None] | None] = [(0, 0, None)]
    for end in range(steps):
        choices: list[tuple[int, int, RowRegion | None]] = []
        for part in ending[end]:
            before = best[part.first]
            if before is not None:
                one, other = cost(part)
                choices.append((before[0] + one, before[1] + other, part))
        best.append(min(choices, key=lambda each: each[:2], default=None))
    chosen: list[RowRegion] = []
    end = steps
    while end:
        entry = best[end]
        if entry is None or entry[2] is None:
            return None
        chosen.append(entry[2])
        end = entry[2].first
    return Choice(tuple(reversed(chosen)))


def alone(function: FunctionRows) -> Iterator[RowRegion]:
    """Each step by itself."""
    for growing, (used, _) in walked(function):
        first = growing.first
        if growing.take(first) and len(growing.layers) == 1:
            used = min(used, growing.bytes_with(schedule(growing.layers)) - growing.weights)
        yield RowRegion(first, first, used + function.steps[first].partial)


def found_regions(function: FunctionRows, limit: float = inf) -> Iterator[RowRegion]:
    """The regions of the function, each with the schedule that needs the fewest bytes in rings.

    All but some that need more bytes than the limit.
    """
    known: dict[tuple[int, int, bool], Part] = {}
    for growing, _ in walked(function):
        for last in range(growing.first, len(function.steps)):
            if not growing.take(last) or growing.least_bytes() > limit:
                break
            if len(growing.layers) - growing.fetches > 1 and growing.is_closed:
                found = schedule(growing.layers, known)
                used, work = growing.bytes_with(found), added_work(growing.layers, found)
                yield RowRegion(growing.first, last, used, work, found, growing.source)
                if (layers := growing.in_place()) and growing.overtakes(over := schedule(layers)):
                    used = growing.live + over.ring_bytes + growing.weights
                    work = added_work(layers, over)
                    yield RowRegion(growing.first, last, used, work, over, growing.source, True)


def walked(function: FunctionRows) -> Iterator[tuple[Growing, tuple[int, int]]]:
    """For each step an empty region in front of it, and what `LayerGraph.run` says of the step."""
    live, done = function.graph.live_at_start(), 0
    for number in range(len(function.steps)):
        ran = function.graph.run(number, done, live)
        yield Growing(function, number, done, live), ran
        live, done = ran[1], done | 1 << number


def added_work(layers: Sequence[RowLayer], found: Schedule) -> int:
    """About how many instructions a region adds: calls for rows, and moves of rows in rings."""
    calls = sum(layer.rows for layer in layers) * CALL
    moved = sum(
        layer.rows * layer.row_bytes * max(0, found.rings[layer.map] - 1) for layer in layers[:-1]
    )
    return calls + moved // WORD * MOVE


class Growing:
    """The layers from one step of a function on, as many as could be one region.

    `done` are the steps before, and `live` the bytes that live then.
    """

    def __init__(self, function: FunctionRows, first: int, done: int, live: int) -> None:
        """Start with no layers."""
        self.function, self.first, self.done, self.live = function, first, done, live
        self.end = first
        self.layers: list[RowLayer] = []
        self.source: int | None = None
        self.periods: dict[int, int] = {}
        self.row_bytes: dict[int, int] = {}
        self.pads: dict[int, float] = {}
        self.rings: dict[int, int] = {}
        """Bytes that the ring of each inner map has at least."""
        self.needed = -1
        """The last step that reads an inner map."""
        self.weights = 0
        """Bytes of the parameters of all layers."""

    def take(self, number: int) -> bool:
        """Add a step; False if no region that starts here can have it."""
        step = self.function.steps[number]
        for place, layer in enumerate(step.layers):
            if place == 0 and self.layers:
                users = self.function.users[self.layers[-1].map]
                self.needed = max(self.needed, *users)
            if not self.reads(layer):
                return False
        for map_, pad in step.pads.items():
            if map_ in self.periods and self.pads.setdefault(map_, pad) != pad:
                return False
        self.end = number + 1
        return bool(step.layers)

    def reads(self, layer: RowLayer) -> bool:
        """Add a layer; False if it reads a second map from outside by row, or maps of two rates."""
        inside = [each for each in layer.reads if each.map in (*self.periods, self.source)]
        outside = [each for each in layer.reads if each not in inside]
        if outside and self.source is None and not inside:
            self.source = outside[0].map
            inside, outside = outside[:1], outside[1:]
            if self.source in self.function.fetched:
                self.add(self.function.fetched[self.source], 1)
        if not inside or not all(each.aside for each in outside):
            return False
        for each in inside:
            if each.map in self.periods and not each.overwrites:
                size = each.read.reach * self.row_bytes[each.map]
                self.rings[each.map] = max(self.rings.get(each.map, 0), size)
        rates = {period_of(each.read, RowTime(self.periods.get(each.map, 1), 0)) for each in inside}
        if len(rates) != 1:
            return False
        self.add(replace(layer, reads=tuple(inside)), rates.pop())
        return True

    def add(self, layer: RowLayer, period: int) -> None:
        """Add a layer whose map has a period."""
        self.periods[layer.map] = period
        self.row_bytes[layer.map] = layer.row_bytes
        self.weights += layer.weights
        self.layers.append(layer)

    @property
    def fetches(self) -> bool:
        """Whether the first layer fetches the region's input."""
        return self.source in self.periods

    def least_bytes(self) -> int:
        """Bytes that all regions need that start here and have the layers up to now."""
        used = self.live + self.weights + sum(self.rings.values())
        if self.function.overlays and self.source is not None:
            used -= self.function.graph.sizes[self.function.homes[self.source]]
        return used

    @property
    def is_closed(self) -> bool:
        """Whether only the map of the last layer is read behind the region."""
        return self.needed < self.end

    def bytes_with(self, found: Schedule) -> int:
        """All bytes in use while the region runs."""
        graph, result = self.function.graph, self.layers[-1]
        home = self.function.homes[result.map]
        after = self.done | (1 << self.end) - (1 << self.first)
        growth = graph.hull(home, after) - graph.hull(home, self.done)
        used = self.live + growth + found.ring_bytes + self.weights
        return used - (self.overlaid(found, after) if self.function.overlays else 0)

    def in_place(self) -> Sequence[RowLayer]:
        """The layers if the last one puts its rows where it reads the region's input.

        Then it overwrites no other map. No layers if it cannot, or if the input does not die.
        """
        graph, homes, result = self.function.graph, self.function.homes, self.layers[-1]
        assert self.source is not None
        source, target = homes[self.source], homes[result.map]
        after = (1 << self.end) - 1
        dies = not graph.users[source] & ~after and source != target
        alike = graph.single[source] and graph.single[target]
        over = any(each.map == self.source and each.overwrites for each in result.reads)
        if self.fetches or not dies or not alike or not over:
            return ()
        reads = tuple(replace(each, overwrites=each.map == self.source) for each in result.reads)
        return (*self.layers[:-1], replace(result, reads=reads))

    def overtakes(self, found: Schedule) -> bool:
        """Whether each row of the result comes when no layer needs that row of the input later."""
        return all(needed > row for row, needed in self.needs(found, set()))

    def overlaid(self, found: Schedule, after: int) -> int:
        """By how many bytes the result may overlap the input, counted in whole rows."""
        graph, homes, result = self.function.graph, self.function.homes, self.layers[-1]
        assert self.source is not None
        source, target = homes[self.source], homes[result.map]
        dies = not graph.users[source] & ~after and source != target
        if not dies or not graph.single[source] or not graph.single[target]:
            return 0
        if not {self.source, result.map} <= self.function.dense:
            return 0
        before, behind = graph.sizes[source], graph.sizes[target]
        if behind != result.rows * result.row_bytes:
            return 0
        distance = max(0, self.distance(found, before))
        return before + behind - max(before + distance, behind)

    def distance(self, found: Schedule, size: int) -> int:
        """How far behind the start of the result the start of the input, of a size, must lie."""
        height = self.readers()[0][1].height
        row_bytes, needs = self.layers[-1].row_bytes, self.needs(found, self.late(found))
        ends = ((row + 1) * row_bytes - need * (size // height) for row, need in needs)
        return max(0, *ends)

    def readers(self) -> list[tuple[RowLayer, RowRead]]:
        """The layers that read the region's input, and how."""
        return [
            (layer, each.read)
            for layer in self.layers
            for each in layer.reads
            if each.map == self.source
        ]

    def needs(self, found: Schedule, late: AbstractSet[int]) -> Iterator[tuple[int, int]]:
        """For each row of the result, the first row of the input that is read after it.

        `late` are the maps whose rows are computed in the row of the result.
        """
        readers, result = self.readers(), self.layers[-1]
        for row in range(result.rows):
            step = found.times[result.map].step(row)
            needed = readers[0][1].height
            for layer, read in readers:
                next_row = row if layer.map in late else found.times[layer.map].last(step) + 1
                if next_row < layer.rows:
                    needed = min(needed, max(0, read.first(max(0, next_row))))
            yield row, needed

    def late(self, found: Schedule) -> set[int]:
        """The maps whose rows are computed in the row of the result."""
        late = {self.layers[-1].map}
        for layer in reversed(self.layers):
            if layer.map in late:
                late |= {each.map for each in layer.reads if found.rings.get(each.map) == 0}
        return late
