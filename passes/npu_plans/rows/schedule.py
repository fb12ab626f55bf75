"""Which rows of a region of layers are computed when, so that its rings need the fewest bytes.

A region reads one map, which is there as a whole, or of which a row arrives in each step. That one
is the map of a first layer that reads nothing. Of each map between layers there is a ring of rows
(`npu_dialect/row_times.py`). A skip connection keeps rows until the layers of the other branch
are done. If these rows are wider than those of the branch, it is better to compute them later:

    %1 = conv 1x1 of the input, wide        delay 4: the sum needs one row of it, in place of five
    %2, %3 = two conv 3x3 of the input      delays 2 and 4
    %4 = sum of %1 and %3                   delay 4

A region falls into parts at maps through which all other maps go. In a part, the delays do not
depend on the parts before. They are found by dynamic programming over the layers in their order: a
state has the delays, and the rows so far, of the maps that layers behind still read. The search is
exact for delays that are multiples of the period that the maps of a part share, as long as it does
not meet more than `STATES` states at a time. Then it keeps the best ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import NamedTuple, TypeAlias

from npu_dialect.row_times import RowRead, RowTime, least_delay, period_of, ring_rows

STATES = 2000
"""How many states the search keeps for a layer."""

MOST_TRIES = 30_000
"""How many states the searches in one function try together; less than a second.

Rows of later regions are computed as early as they can be.
"""


@dataclass(frozen=True)
class MapRead:
    """A layer reads the map with a number.

    `overwrites`: it may put its row where it reads one, or take it where it arrives. `aside`:
    beside another map that it reads row by row, this one may lie outside of the region.
    """

    map: int
    read: RowRead
    overwrites: bool = False
    aside: bool = False


@dataclass(frozen=True)
class RowLayer:
    """A layer that computes the map with a number, `rows` rows of `row_bytes` bytes.

    One without `reads` fetches the rows of a map that lies off chip. `weights` are the bytes of its
    parameters, if these must be on chip while it runs.
    """

    map: int
    rows: int
    row_bytes: int
    reads: tuple[MapRead, ...]
    weights: int = 0


@dataclass(frozen=True)
class Schedule:
    """When rows are computed, and the rows of each ring, by the number of the map.

    The times are in the order of the layers. The result has a time, but no ring. A map that is
    overwritten in its row has a ring of 0 rows.
    """

    times: Mapping[int, RowTime]
    rings: Mapping[int, int]
    ring_bytes: int


class Part(NamedTuple):
    """Delays within a part of a region, counted from the map before it, in units, and rings."""

    delays: Mapping[int, int]
    rings: Mapping[int, int]


@dataclass
class Known:
    """The parts that were found for regions of one function, and how many states were tried.

    A part has the numbers of its maps, each with those of the maps that are read by row: one that a
    layer reads aside in one region is another's input. It also says whether it starts at the
    region's input.
    """

    parts: dict[tuple[bool, tuple[tuple[int, ...], ...]], Part] = field(
        default_factory=dict[tuple[bool, tuple[tuple[int, ...], ...]], Part]
    )
    tries: int = 0

    def of(
        self, layers: Sequence[RowLayer], source: RowLayer | None, periods: Mapping[int, int]
    ) -> Part:
        """The delays and rings of a part, from a map of the region, or from its input (None)."""
        maps = tuple((layer.map, *[each.map for each in layer.reads]) for layer in layers)
        key = source is None, maps
        if key not in self.parts:
            search = Search(layers, source, periods)
            self.parts[key] = search.best(MOST_TRIES - self.tries)
            self.tries += search.tries
        return self.parts[key]


OpenMap: TypeAlias = tuple[int, int, int]
"""The number, the delay and the ring so far of a map that layers behind still read."""


class State(NamedTuple):
    """What a search knows after some layers: open maps, and the bytes of the rings of others."""

    open: tuple[OpenMap, ...]
    closed: int
    delays: tuple[int, ...]
    rings: tuple[tuple[int, int], ...]


def periods_of(layers: Sequence[RowLayer]) -> dict[int, int] | None:
    """The periods of the maps of a region whose input has period 1, as has a map that arrives.

    None if a layer reads two maps of different rates: no step fits a row to both.
    """
    found: dict[int, int] = {}
    for layer in layers:
        rates = {period_of(each.read, RowTime(found.get(each.map, 1), 0)) for each in layer.reads}
        if len(rates) > 1:
            return None
        found[layer.map] = rates.pop() if rates else 1
    return found


def schedule(layers: Sequence[RowLayer], known: Known | None = None) -> Schedule:
    """The schedule of a region with the fewest bytes in rings.

    Expects that the rates of all maps agree (`periods_of`), and that each map but the last has a
    reader behind it. `known` are parts that were found for other regions of the same function,
    where the same parts come again.
    """
    periods = periods_of(layers)
    assert periods is not None
    known = Known() if known is None else known
    times: dict[int, RowTime] = {}
    rings: dict[int, int] = {}
    start = begin = 0
    for end in cuts(layers):
        source = layers[start - 1] if start else None
        part = layers[start : end + 1]
        found = known.of(part, source, periods)
        unit = unit_of(part if source is None else (source, *part), periods)
        for number, delay in found.delays.items():
            times[number] = RowTime(periods[number], begin + delay * unit)
        rings |= found.rings
        start, begin = end + 1, times[part[-1].map].delay
    first = min(time.delay for time in times.values())
    times = {number: RowTime(time.period, time.delay - first) for number, time in times.items()}
    sizes = {layer.map: layer.row_bytes for layer in layers}
    return Schedule(times, rings, sum(ring * sizes[number] for number, ring in rings.items()))


def cuts(layers: Sequence[RowLayer]) -> list[int]:
    """The positions of layers behind which nothing but their own map is read, of the region's."""
    last = {each.map: place for place, layer in enumerate(layers) for each in layer.reads}
    found: list[int] = []
    reach = 0
    for place, layer in enumerate(layers):
        if place >= reach:
            found.append(place)
        reach = max(reach, last.get(layer.map, place))
    return found


def unit_of(layers: Sequence[RowLayer], periods: Mapping[int, int]) -> int:
    """The unit in which delays are counted in a part: the period that all its maps share."""
    return gcd(*(periods[layer.map] for layer in layers))


class Search:
    """The search in one part, from a map of the region, or from its input (None)."""

    def __init__(
        self, layers: Sequence[RowLayer], source: RowLayer | None, periods: Mapping[int, int]
    ) -> None:
        """Find the readers of each map, and bounds."""
        self.layers = layers
        self.tries = 0
        self.inner = [*([] if source is None else [source]), *layers]
        self.bytes = {layer.map: layer.row_bytes for layer in self.inner}
        unit = unit_of(self.inner, periods)
        self.periods = {number: periods[number] // unit for number in self.bytes}
        self.readers: dict[int, list[int]] = {layer.map: [] for layer in self.inner}
        for place, layer in enumerate(layers):
            for each in self.inner_reads(layer):
                self.readers[each.map].append(place)
        self.start = State((), 0, (), ())
        if source is not None:
            self.start = State(((source.map, 0, 0),), 0, (), ())
        self.rings = self.least_rings()
        self.all = sum(self.bytes[number] * ring for number, ring in self.rings.items())
        self.early = self.earliest()
        delays = self.early.delays
        self.span = max(delays) - min(0, *delays) + max(self.periods.values())
        self.limit = self.early.closed

    def inner_reads(self, layer: RowLayer) -> Iterator[MapRead]:
        """What a layer reads of maps in rings."""
        return (each for each in layer.reads if each.map in self.bytes)

    def least_rings(self) -> dict[int, int]:
        """The rows that the ring of each map has at least; 0 if its reader may overwrite it."""
        found = dict.fromkeys(self.bytes, 0)
        for layer in self.layers:
            for each in self.inner_reads(layer):
                if not self.is_taken(each):
                    found[each.map] = max(found[each.map], each.read.reach)
        return found

    def is_taken(self, read: MapRead) -> bool:
        """Whether a layer may overwrite the rows of a map that it reads: it is the only reader."""
        return read.overwrites and len(self.readers[read.map]) == 1

    def earliest(self) -> State:
        """The state after all layers if each row is computed as early as it can be."""
        state = self.start
        for place in range(len(self.layers)):
            state = self.put(state, place, self.lowest(state, place) or 0)
        return state

    def lowest(self, state: State, place: int) -> int | None:
        """The least delay of a layer in a state; None if it reads no map in a ring."""
        times = {number: RowTime(self.periods[number], at) for number, at, _ in state.open}
        least = [
            least_delay(each.read, times[each.map]) for each in self.inner_reads(self.layers[place])
        ]
        return max(least, default=None)

    def choices(self, state: State, place: int) -> Sequence[int]:
        """The delays to try for a layer."""
        least = self.lowest(state, place)
        if least is not None:
            return range(least, least + self.span + 1)
        delays = [at for _, at, _ in state.open]
        if not delays:
            return (0,)
        return range(min(delays) - self.span, max(delays) + self.span + 1)

    def put(self, state: State, place: int, delay: int) -> State:
        """The state after a layer that runs with a delay."""
        layer = self.layers[place]
        time = RowTime(self.periods[layer.map], delay)
        rings = {number: (at, ring) for number, at, ring in state.open}
        for each in self.inner_reads(layer):
            at, ring = rings[each.map]
            source = RowTime(self.periods[each.map], at)
            rings[each.map] = at, max(ring, ring_rows(each.read, source, time))
        taken = self.taken(layer, delay, rings)
        closed, kept, done = state.closed, list[OpenMap](), list[tuple[int, int]]()
        for number, (at, ring) in rings.items():
            if self.readers[number][-1] > place:
                kept.append((number, at, ring))
            else:
                done.append((number, 0 if number == taken else ring))
                closed += done[-1][1] * self.bytes[number]
        kept.append((layer.map, delay, 0))
        return State(tuple(kept), closed, (*state.delays, delay), (*state.rings, *done))

    def taken(
        self, layer: RowLayer, delay: int, rings: Mapping[int, tuple[int, int]]
    ) -> int | None:
        """The map whose row a layer overwrites: one that only it reads, in the same step."""
        for each in self.inner_reads(layer):
            if self.is_taken(each) and rings[each.map][0] == delay:
                return each.map
        return None

    def least(self, state: State) -> int:
        """The least bytes of all rings after a state."""
        done = sum(self.bytes[number] * self.rings[number] for number, _ in state.rings)
        held = sum(
            self.bytes[number] * max(0, ring - self.rings[number])
            for number, _, ring in state.open
            if ring
        )
        return state.closed - done + self.all + held

    def states_after(self, states: Sequence[State], place: int) -> Iterable[State]:
        """The states after a layer, of those in which the same is open the one with least bytes."""
        found: dict[tuple[OpenMap, ...], State] = {}
        for state in states:
            for delay in self.choices(state, place):
                self.tries += 1
                new = self.put(state, place, delay)
                if self.least(new) > self.limit:
                    continue
                zero = new.open[0][1]
                key = tuple((number, at - zero, ring) for number, at, ring in new.open)
                if key not in found or new.closed < found[key].closed:
                    found[key] = new
        return found.values()

    def best(self, most: int) -> Part:
        """The delays and rings with the fewest bytes.

        Rows are computed as early as they can be if the search would try more states than `most`,
        or if nothing better is among the states that are kept.
        """
        states = [self.start]
        for place in range(len(self.layers)):
            if self.tries > most:
                states = []
                break
            ranked = sorted(self.states_after(states, place), key=self.least)
            states = ranked[:STATES]
        state = states[0] if states else self.early
        numbers = [layer.map for layer in self.layers]
        delays = dict(zip(numbers, state.delays, strict=True))
        return Part(delays, dict(state.rings))
