"""The layers of a function that could run row by row, from one of its steps on: numbers only."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from npu_dialect.row_times import RowRead, RowTime, period_of
from npu_plans.modules.layer_graph import LayerGraph
from npu_plans.rows.close import Readers, distance, packed_bytes, readers_of
from npu_plans.rows.schedule import MapRead, RowLayer, Schedule

MOST_JOINED = 2
"""How many maps may be read behind a region. With more, the search takes much longer."""


@dataclass(frozen=True)
class RowStep:
    """A step of the function's `LayerGraph`, as layers that can run row by row.

    No layers if it cannot. `pads` has the values of the padding above and below of each map that is
    read with some, by its number. `partial`: the bytes of its parameters that are on chip at a time
    when it runs by itself. `hides`: the bytes that can cross the border while it computes, and
    `jumps`: while a channel jumps to the elements that it picks of its input, by itself.
    """

    layers: tuple[RowLayer, ...] = ()
    pads: Mapping[int, float] = field(default_factory=dict[int, float])
    partial: int = 0
    hides: int = 0
    jumps: int = 0


@dataclass(frozen=True)
class FunctionRows:
    """A function: `graph` has the buffers of its steps, and `steps` says which can run by row.

    `users` has for each map the steps that read it; a returned one is read by a step behind the
    last one. `homes` is the buffer of each map. `dense` are the maps of which each row is a run of
    bytes, and `dense_rings` those of which it is one in a ring, too. `work` is about how many
    instructions the function takes. `overlays`: whether the output of a layer or region may lie
    over its input. `streamed`: the input whose rows arrive one at a time, as a layer that reads
    nothing. `fetched` are such layers for the maps that lie off chip, by their numbers. Maps with
    the same entry in `joinable` can be joined. `top_rows`: whether rows that need padding above a
    map may be layers of their own. `away` are the bytes of maps that lie off chip whatever is
    chosen, but for inputs.
    """

    graph: LayerGraph
    steps: Sequence[RowStep]
    users: Mapping[int, Sequence[int]]
    homes: Mapping[int, int]
    dense: AbstractSet[int]
    dense_rings: AbstractSet[int]
    work: int
    overlays: bool = False
    streamed: RowLayer | None = None
    fetched: Mapping[int, RowLayer] = field(default_factory=dict[int, RowLayer])
    joinable: Mapping[int, Hashable] = field(default_factory=dict[int, Hashable])
    top_rows: bool = False
    away: Mapping[int, int] = field(default_factory=dict[int, int])

    def layers(self, first: int, last: int) -> list[RowLayer]:
        """The layers of steps `first` to `last`."""
        return [layer for step in self.steps[first : last + 1] for layer in step.layers]

    def moved(self, first: int, last: int) -> int:
        """The bytes of maps off chip that steps `first` to `last` move, each map once a way."""
        own = {layer.map for layer in self.layers(first, last)}
        found = 0
        for map_, size in self.away.items():
            inside = [first <= user <= last for user in self.users[map_]]
            found += size * (any(inside) if map_ not in own else not all(inside))
        return found

    def given(self, first: int, last: int) -> int:
        """The bytes of inputs off chip that steps `first` to `last` read."""
        return sum(
            each.rows * each.row_bytes
            for map_, each in self.fetched.items()
            if map_ not in self.away and any(first <= user <= last for user in self.users[map_])
        )


def walked(function: FunctionRows) -> Iterator[tuple[Growing, tuple[int, int]]]:
    """For each step an empty region in front of it, and what `LayerGraph.run` says of the step."""
    live, done = function.graph.live_at_start(), 0
    for number in range(len(function.steps)):
        ran = function.graph.run(number, done, live)
        yield Growing(function, number, done, live), ran
        live, done = ran[1], done | 1 << number


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
        self.streams = False
        """Whether the rows of the source arrive one at a time."""
        self.periods: dict[int, int] = {}
        self.row_bytes: dict[int, int] = {}
        self.pads: dict[int, float] = {}
        self.rings: dict[int, int] = {}
        """Bytes that the ring of each inner map has at least."""
        self.needed = -1
        """The last step that reads an inner map."""
        self.weights = 0
        """Bytes of the parameters of all layers."""
        self.asides: set[int] = set()
        """The maps off chip of which a row is fetched where one of the input's is read."""

    def take(self, number: int) -> bool:
        """Add a step; False if no region that starts here can have it."""
        step = self.function.steps[number]
        for place, layer in enumerate(step.layers):
            if place == 0 and self.layers:
                users = self.function.users[self.layers[-1].map]
                if not users:
                    return False  # a map that nobody reads has no ring
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
            self.start(outside[0].map)
            inside, outside = outside[:1], outside[1:]
        if not inside or not all(each.aside for each in outside):
            return False
        if any(self.is_streamed(each.map) for each in (outside if self.streams else layer.reads)):
            return False
        self.asides.update(each.map for each in outside if each.map in self.function.fetched)
        for each in inside:
            if each.map in self.periods and not each.overwrites:
                size = each.read.reach * self.row_bytes[each.map]
                self.rings[each.map] = max(self.rings.get(each.map, 0), size)
        rates = {period_of(each.read, RowTime(self.periods.get(each.map, 1), 0)) for each in inside}
        if len(rates) != 1:
            return False
        self.add(replace(layer, reads=tuple(inside)), rates.pop())
        return True

    def start(self, source: int) -> None:
        """Set the map that the region reads; one whose rows arrive or are fetched gets a ring."""
        self.source, arriving = source, self.function.fetched.get(source)
        if self.is_streamed(source):
            users = self.function.users[source]
            self.streams = self.first == min(users)
            arriving = self.function.streamed
            self.needed = max(users)
        if arriving is not None:
            self.add(arriving, 1)

    def is_streamed(self, map_: int) -> bool:
        """Whether a map is an input whose rows arrive one at a time."""
        return self.function.streamed is not None and self.function.streamed.map == map_

    @property
    def has_region(self) -> bool:
        """Whether there are two layers, or one that reads a streamed input."""
        return len(self.layers) > 1 + (self.fetches and not self.streams)

    def add(self, layer: RowLayer, period: int) -> None:
        """Add a layer whose map has a period."""
        self.periods[layer.map] = period
        self.row_bytes[layer.map] = layer.row_bytes
        self.weights += layer.weights
        self.layers.append(layer)

    @property
    def fetches(self) -> bool:
        """Whether the rows of the region's input arrive or are fetched, into a ring."""
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

    def joined(self) -> Sequence[RowLayer]:
        """The layers, and one that joins the maps that are read behind them.

        No layers if these cannot be joined. The number of the joined map is negative.
        """
        graph, homes = self.function.graph, self.function.homes
        users = self.function.users
        found = [each for each in self.layers if max(users[each.map], default=-1) >= self.end]
        maps = [each.map for each in found if each.map != self.source]
        kinds = {self.function.joinable.get(map_) for map_ in maps}
        alike = len(kinds) == 1 and None not in kinds
        same = len({self.periods[map_] for map_ in maps}) == 1
        apart = all(graph.single[homes[map_]] and homes[map_] >= 0 for map_ in maps)
        if not 1 < len(maps) <= MOST_JOINED or not alike or not same or not apart:
            return ()
        rows, size = found[-1].rows, sum(self.row_bytes[map_] for map_ in maps)
        reads = tuple(MapRead(map_, RowRead(rows)) for map_ in maps)
        return (*self.layers, RowLayer(-1 - self.end, rows, size, reads))

    def bytes_joined(self, join: RowLayer, found: Schedule) -> int:
        """All bytes in use while the region runs that joins maps."""
        rows = found.ring_bytes + sum(self.lines(own=False).values())
        return self.live + self.size_of(join) + rows + self.weights

    def size_of(self, join: RowLayer) -> int:
        """Bytes of the maps that a layer joins."""
        graph, homes = self.function.graph, self.function.homes
        return sum(graph.sizes[homes[each.map]] for each in join.reads)

    def bytes_with(self, found: Schedule, *, top_rows: bool = False) -> int:
        """All bytes in use while the region runs; `top_rows`: see `close.unmoved_rows`."""
        graph, result = self.function.graph, self.layers[-1]
        home = self.function.homes[result.map]
        after = self.done | (1 << self.end) - (1 << self.first)
        growth = graph.hull(home, after) - graph.hull(home, self.done)
        rows = found.ring_bytes + sum(self.lines(own=True).values())
        used = self.live + growth + rows + self.weights
        return used - (self.overlaid(found, after, top_rows) if self.function.overlays else 0)

    def lines(self, *, own: bool) -> Mapping[int, int]:
        """The maps that lie off chip, so that one row of them is on it at a time: bytes of a row.

        `own`: whether the result has a buffer of its own. Without bytes, that is off chip.
        """
        function, result = self.function, self.layers[-1]
        home = function.homes[result.map]
        found = {each: function.fetched[each].row_bytes for each in sorted(self.asides)}
        if own and home >= 0 and not function.graph.sizes[home]:
            found[result.map] = result.row_bytes
        return found

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
        over = over and source in graph.steps[self.end - 1].overwrites
        if self.fetches or not dies or not alike or not over:
            return ()
        reads = tuple(replace(each, overwrites=each.map == self.source) for each in result.reads)
        return (*self.layers[:-1], replace(result, reads=reads))

    def overtakes(self, found: Schedule) -> bool:
        """Whether each row of the result comes when no layer needs that row of the input later."""
        result = self.layers[-1]
        for layer, read in self.readers():
            for row in range(result.rows):
                step = found.times[result.map].step(row)
                next_row = found.times[layer.map].last(step) + 1
                if next_row < layer.rows and read.first(max(0, next_row)) <= row:
                    return False
        return True

    def readers(self) -> list[tuple[RowLayer, RowRead]]:
        """The layers that read the region's input, and how."""
        return [
            (layer, each.read)
            for layer in self.layers
            for each in layer.reads
            if each.map == self.source
        ]

    def overlaid(self, found: Schedule, after: int, top_rows: bool) -> int:
        """By how many bytes rings and result may overlap the input, counted in whole rows."""
        graph, homes, result = self.function.graph, self.function.homes, self.layers[-1]
        assert self.source is not None
        source, target = homes[self.source], homes[result.map]
        dies = not graph.users[source] & ~after and source != target
        if self.fetches or not dies or not graph.single[source]:
            return 0
        if self.source not in self.function.dense:
            return 0
        before, behind = graph.sizes[source], graph.sizes[target]
        alone = graph.single[target] and result.map in self.function.dense
        alone = alone and behind == result.rows * result.row_bytes
        sizes = {place: found.rings[each.map] * each.row_bytes for place, each in self.inner()}
        if alone:
            sizes[len(self.layers) - 1] = behind
        readers = readers_of(self.layers)
        items = [
            (size, self.distance(found, readers, place, before, top_rows))
            for place, size in sizes.items()
        ]
        return before + sum(sizes.values()) - packed_bytes(before, items)

    def inner(self) -> Iterator[tuple[int, RowLayer]]:
        """The layers with rings, with their places."""
        return ((place, each) for place, each in enumerate(self.layers[:-1]))

    def distance(
        self, found: Schedule, readers: Readers, place: int, size: int, top_rows: bool
    ) -> int:
        """How far behind the map of a layer the start of the input, of a size, must lie."""
        assert self.source is not None
        (height,) = {each.read.height for _, each in readers[self.source]}
        inner = place < len(self.layers) - 1
        known = self.function.dense_rings if inner else self.function.dense
        dense = self.layers[place].map in known
        ends = place, self.source, size // height
        return distance(self.layers, readers, found, *ends, dense=dense, top_rows=top_rows)
