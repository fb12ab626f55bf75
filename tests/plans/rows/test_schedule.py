"""When the rows of a region are computed: every read finds its rows, and no ring is too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_dialect.row_times import RowRead, RowTime, place_in_ring, ring_rows
from npu_plans.rows.schedule import (
    Known,
    MapRead,
    RowLayer,
    Schedule,
    periods_of,
    schedule,
)


def rows_behind(height: int, reach: int, stride: int, before: int, after: int) -> int:
    """The rows of a layer that reads so many; below 1 if its window is too large."""
    return (height + before + after - reach) // stride + 1


@st.composite
def regions(draw: st.DrawFn, most: int = 8, stride: int = 2) -> list[RowLayer]:
    """Random regions with branches, in which rates agree; strides up to `stride`."""
    heights, rates, widths = [draw(st.integers(1, 12))], [1], [0]
    layers: list[RowLayer] = []
    for number in range(1, draw(st.integers(2, most)) + 1):
        sources = draw(st.sets(st.integers(max(0, number - 3), number - 1), min_size=1, max_size=2))
        chosen = [number - 1] if number == 1 else sorted(sources)
        first = chosen[-1]
        widths.append(draw(st.sampled_from([widths[first], *range(1, 10)])) or 1)
        same = [
            each
            for each in chosen
            if (heights[each], rates[each]) == (heights[first], rates[first])
        ]
        if len(same) == 2 or draw(st.booleans()):
            rows, rate = heights[first], rates[first]
            reads = tuple(
                MapRead(each, RowRead(rows), widths[each] == widths[number] and draw(st.booleans()))
                for each in same
            )
        else:
            reach, step = draw(st.integers(1, 5)), draw(st.integers(1, stride))
            before, after = draw(st.integers(0, reach - 1)), draw(st.integers(0, reach - 1))
            rows = rows_behind(heights[first], reach, step, before, after)
            if rows < 1:
                reach, step, before, rows = 1, 1, 0, heights[first]
            rate = rates[first] * step
            reads = (MapRead(first, RowRead(heights[first], reach, step, before)),)
        heights.append(rows)
        rates.append(rate)
        layers.append(RowLayer(number, rows, widths[number], reads))
    return needed_by_last(layers)


def needed_by_last(layers: Sequence[RowLayer]) -> list[RowLayer]:
    """The layers on which the last one depends."""
    needed = {layers[-1].map}
    for layer in reversed(layers):
        if layer.map in needed:
            needed |= {each.map for each in layer.reads}
    return [layer for layer in layers if layer.map in needed]


def rings_of(layers: Sequence[RowLayer], times: Mapping[int, RowTime]) -> dict[int, int] | None:
    """The rings that delays need, by definition; None if rows are read before they are there."""
    rings = {layer.map: 0 for layer in layers[:-1]}
    readers = [each.map for layer in layers for each in layer.reads]
    for layer in layers:
        taken = False
        for each in layer.reads:
            if each.map not in times:
                continue
            source, time = times[each.map], times[layer.map]
            if source.step(each.read.end(0) - 1) > time.delay:
                return None
            alone = each.overwrites and readers.count(each.map) == 1
            if alone and source == time and not taken:
                taken = True
                continue
            rings[each.map] = max(rings[each.map], ring_rows(each.read, source, time))
    return rings


def bytes_of(layers: Sequence[RowLayer], rings: Mapping[int, int]) -> int:
    return sum(layer.row_bytes * rings[layer.map] for layer in layers[:-1])


def least_bytes(layers: Sequence[RowLayer], span: int) -> int:
    """The fewest bytes of rings of all delays up to `span`."""
    periods = periods_of(layers)
    assert periods is not None
    found = [
        bytes_of(layers, rings)
        for delays in product(range(span + 1), repeat=len(layers))
        if (
            rings := rings_of(
                layers,
                {
                    layer.map: RowTime(periods[layer.map], delay)
                    for layer, delay in zip(layers, delays, strict=True)
                },
            )
        )
        is not None
    ]
    return min(found)


class Machine:
    """Computes a region step by step, with the numbers of rows in place of rows.

    `rings` are the sizes of the rings, which need not be those of the schedule. Behind the last row
    of a map, its ring goes on to move: rows of padding, or of anything, come in.
    """

    def __init__(
        self, layers: Sequence[RowLayer], found: Schedule, rings: Mapping[int, int]
    ) -> None:
        self.layers, self.found, self.rings = layers, found, rings
        self.held: dict[int, list[int | None]] = {each: [None] * rings[each] for each in rings}
        self.newest: dict[int, int | None] = {}
        times = found.times
        self.starts = dict.fromkeys(times, 0)
        for layer in layers:
            for each in layer.reads:
                if each.map in times:
                    above, _ = each.read.padding(layer.rows)
                    self.starts[each.map] = min(self.starts[each.map], -above)
        first = min(times[each].step(row) for each, row in self.starts.items())
        last = max(times[layer.map].step(layer.rows - 1) for layer in layers)
        self.steps = range(first, last + 1)

    def runs(self) -> bool:
        """Whether every read finds its rows."""
        return all(self.computes(layer, step) for step in self.steps for layer in self.layers)

    def computes(self, layer: RowLayer, step: int) -> bool:
        """Compute what a layer has to in a step; False if it does not find its rows."""
        time = self.found.times[layer.map]
        row = time.last(step)
        if time.step(row) != step or row < self.starts[layer.map]:
            self.newest[layer.map] = None
            return True
        if 0 <= row < layer.rows and not all(self.finds(layer, each, row) for each in layer.reads):
            return False
        self.newest[layer.map] = row
        if self.rings.get(layer.map):
            self.held[layer.map] = [*self.held[layer.map][1:], row]
        return True

    def finds(self, layer: RowLayer, each: MapRead, row: int) -> bool:
        """Whether a row of a layer finds its rows of a map, in the right place of a right ring."""
        times, sizes = self.found.times, self.found.rings
        if each.map not in times:
            return True
        if sizes[each.map] == 0:
            return self.newest[each.map] == each.read.first(row)
        wanted = list(range(each.read.first(row), each.read.end(row)))
        held, ring = self.held[each.map], self.rings[each.map]
        if ring < sizes[each.map]:
            return set(wanted) <= set(held)
        place = place_in_ring(each.read, times[each.map], times[layer.map], ring)
        return held[place : place + each.read.reach] == wanted


def test_a_wide_skip_is_computed_late() -> None:
    """The sum needs one row of it; only that row is kept, in the place of the sum's row."""
    window, one = RowRead(9, 3, 1, 1), RowRead(9)
    layers = [
        RowLayer(1, 9, 50, (MapRead(0, one),)),
        RowLayer(2, 9, 1, (MapRead(0, window),)),
        RowLayer(3, 9, 50, (MapRead(2, window),)),
        RowLayer(4, 9, 50, (MapRead(1, one, overwrites=True), MapRead(3, one, overwrites=True))),
        RowLayer(5, 4, 8, (MapRead(4, RowRead(9, 1, 2)),)),
    ]
    found = schedule(layers)
    assert found.rings == {1: 0, 2: 3, 3: 1, 4: 1}
    assert found.ring_bytes == 3 + 50 + 50
    assert found.times == {
        1: RowTime(1, 1),
        2: RowTime(1, 0),
        3: RowTime(1, 1),
        4: RowTime(1, 1),
        5: RowTime(2, 1),
    }


def test_a_branch_that_starts_late_waits() -> None:
    """A branch from the region's input begins with the layers of the other one, not before."""
    window, one = RowRead(9, 5, 1, 2), RowRead(9)
    layers = [
        RowLayer(1, 9, 1, (MapRead(0, one),)),
        RowLayer(2, 9, 1, (MapRead(1, window),)),
        RowLayer(3, 9, 9, (MapRead(0, one),)),
        RowLayer(4, 9, 9, (MapRead(2, window), MapRead(3, one))),
    ]
    assert schedule(layers).times == {
        1: RowTime(1, 0),
        2: RowTime(1, 2),
        3: RowTime(1, 4),
        4: RowTime(1, 4),
    }


def test_a_ring_has_the_rows_of_all_readers() -> None:
    """The convolution needs five rows of the first map; the sum behind it needs three."""
    one = RowRead(9)
    layers = [
        RowLayer(1, 9, 1, (MapRead(0, one),)),
        RowLayer(2, 9, 1, (MapRead(1, RowRead(9, 5, 1, 2)),)),
        RowLayer(3, 9, 1, (MapRead(1, one), MapRead(2, one, overwrites=True))),
    ]
    assert schedule(layers).rings == {1: 5, 2: 0}


def test_known_parts_are_those_of_the_same_reads() -> None:
    """A sum reads one of its maps aside, another one in each region; parts are kept apart."""
    one = RowRead(8)
    known = Known()
    for first in (1, 2):
        layers = [
            RowLayer(first, 8, 4, (MapRead(0, one),)),
            RowLayer(3, 8, 4, (MapRead(first, one),)),
            RowLayer(4, 8, 4, (MapRead(3, one),)),
        ]
        assert schedule(layers, known) == schedule(layers)


def test_rates_must_agree() -> None:
    fast, slow = MapRead(0, RowRead(8, 2, 2)), MapRead(0, RowRead(8))
    layers = [
        RowLayer(1, 4, 1, (fast,)),
        RowLayer(2, 8, 1, (slow,)),
        RowLayer(3, 4, 1, (MapRead(1, RowRead(4)), MapRead(2, RowRead(8)))),
    ]
    assert periods_of(layers[:2]) == {1: 2, 2: 1}
    assert periods_of(layers) is None


@settings(max_examples=300, deadline=None)
@given(layers=regions())
def test_every_read_finds_its_rows_and_no_ring_has_one_too_many(layers: list[RowLayer]) -> None:
    found = schedule(layers)
    assert found.rings == rings_of(layers, found.times)
    assert found.ring_bytes == bytes_of(layers, found.rings)
    assert Machine(layers, found, found.rings).runs()
    for layer in layers:
        ring = found.rings.get(layer.map)
        if ring:
            assert not Machine(layers, found, {**found.rings, layer.map: ring - 1}).runs()


def test_few_states_are_enough_for_a_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all states that are kept turn out to be too large, rows are computed early."""
    monkeypatch.setattr("npu_plans.rows.schedule.STATES", 1)

    @given(layers=regions())
    def check(layers: list[RowLayer]) -> None:
        found = schedule(layers)
        assert rings_of(layers, found.times) == {**found.rings}

    check()


@settings(max_examples=60, deadline=None)
@given(layers=regions(most=4, stride=1))
def test_no_delays_need_fewer_bytes(layers: list[RowLayer]) -> None:
    found = schedule(layers)
    span = max(time.delay for time in found.times.values())
    if (span + 3) ** len(layers) <= 40_000:
        assert found.ring_bytes <= least_bytes(layers, span + 2)
