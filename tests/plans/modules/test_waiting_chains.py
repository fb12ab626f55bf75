"""Chains of layers whose results wait: small graphs by hand, and random ones step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.modules.layer_graph import LayerGraph, LayerStep, members
from npu_plans.modules.waiting_chains import Waits, later_chains

WHOLE, SIZE = 3, 4
"""The buffer of the concatenation, and the bytes of every map but the concatenation's."""


def layer(before: int, reads: tuple[int, ...], writes: int, extra: int = 0) -> LayerStep:
    """A layer with a map of its own."""
    return LayerStep(before, reads, writes, (0, SIZE), (), extra)


def part(before: int, reads: tuple[int, ...], number: int) -> LayerStep:
    """A layer that writes a part of the concatenation."""
    return LayerStep(before, reads, WHOLE, (number * SIZE, number * SIZE + SIZE))


STEPS = (
    layer(0, (0,), 1),
    layer(0b1, (1,), 2),  # waits for step 4
    part(0b1, (1,), 0),
    part(0b1, (1,), 1),
    part(0b1010, (2, WHOLE), 2),
    LayerStep(0b11100, (), WHOLE, (0, 3 * SIZE)),
    layer(0b100000, (WHOLE,), 4),
)
GRAPH = LayerGraph((0, SIZE, SIZE, 3 * SIZE, SIZE), STEPS, frozenset({4}))
GIVEN = tuple(range(len(STEPS)))


def test_a_map_that_waits_is_made_later() -> None:
    """It could follow step 3, too, where as many bytes live: the first such place is taken."""
    assert later_chains(GRAPH, GIVEN, 11) == (0, 2, 1, 3, 4, 5, 6)


def test_a_concatenation_that_fits_is_left_alone() -> None:
    assert later_chains(GRAPH, GIVEN, 12) == GIVEN


def test_the_peak_does_not_rise() -> None:
    """Step 1 needs 20 more bytes; behind step 2 there is a part beside them."""
    steps = (STEPS[0], replace(STEPS[1], extra=20), *STEPS[2:])
    graph = replace(GRAPH, steps=steps)
    assert graph.peak((0, 2, 1, 3, 4, 5, 6)) > graph.peak(GIVEN)
    assert later_chains(graph, GIVEN, 11) == GIVEN


AHEAD = (
    *STEPS[:3],
    part(0, (0,), 1),
    part(0b10, (2,), 2),
    *STEPS[5:],
)
"""Step 3 reads the input, and no layer reads its part. So it may run before step 1 or behind it."""


def test_a_source_that_would_wait_instead() -> None:
    """Step 1 is the last reader of the map of step 0: behind step 3, that waits for as long."""
    order = (0, 2, 1, 3, 4, 5, 6)
    assert later_chains(replace(GRAPH, steps=AHEAD), order, 11) == order


def test_a_source_that_waits_anyway() -> None:
    """The layer behind the concatenation reads the map of step 0, too."""
    steps = (*AHEAD[:6], replace(AHEAD[6], before=0b100001, reads=(1, WHOLE)))
    found = later_chains(replace(GRAPH, steps=steps), (0, 2, 1, 3, 4, 5, 6), 11)
    assert found == (0, 2, 3, 1, 4, 5, 6)


def test_a_step_that_overwrites_its_source_counts_once() -> None:
    """Behind step 2, the map of step 0 is read last in step 1, which may overwrite it there."""
    over = (AHEAD[0], replace(AHEAD[1], overwrites=(1,)), *AHEAD[2:])
    plain, once = (Waits(replace(GRAPH, steps=steps), 11) for steps in (AHEAD, over))
    assert (plain.live((0, 2, 1, 3, 4), 0), once.live((0, 2, 1, 3, 4), 0)) == (9 * SIZE, 8 * SIZE)
    assert (plain.live((0, 1, 2, 3, 4), 0), once.live((0, 1, 2, 3, 4), 0)) == (10 * SIZE, 10 * SIZE)


def test_a_map_larger_than_the_chip_does_not_count() -> None:
    steps = (STEPS[0], replace(STEPS[1], span=(0, 12)), *STEPS[2:])
    graph = replace(GRAPH, sizes=(0, SIZE, 12, 3 * SIZE, SIZE), steps=steps)
    assert later_chains(graph, GIVEN, 11) == GIVEN


def test_what_only_the_concatenation_reads_stays() -> None:
    """The part of step 1 waits for nobody, though its source would die earlier behind step 3."""
    graph = LayerGraph(
        (0, SIZE, SIZE, 4 * SIZE, SIZE),
        (
            layer(0, (0,), 1),
            layer(0b1, (1,), 2),
            part(0b10, (2,), 0),
            part(0b1, (1,), 1),
            LayerStep(0b1100, (), WHOLE, (0, 4 * SIZE)),
            layer(0b10000, (WHOLE,), 4),
        ),
        frozenset({4}),
    )
    assert Waits(graph, 11).live((0, 3, 1, 2), 0) < Waits(graph, 11).live((0, 1, 2, 3), 0)
    assert later_chains(graph, tuple(range(6)), 11) == tuple(range(6))


@pytest.mark.parametrize("reader", [None, 7])
def test_layers_on_other_ways_are_not_passed(reader: int | None) -> None:
    """If a layer behind the concatenation reads the map of step 2, that is on two ways."""
    steps = (*STEPS, LayerStep(0b1000000, (4,), 5, (0, SIZE)))
    steps = (*steps, LayerStep(0b10000000, (5,), 6, (0, SIZE)))
    join = LayerStep(0b111000000, (), 6, (0, 3 * SIZE))
    steps = (*steps[:8], replace(steps[8], writes=6), join)
    if reader is not None:
        also = replace(steps[reader], before=steps[reader].before | 0b100, reads=(4, WHOLE))
        steps = (*steps[:reader], also, *steps[reader + 1 :])
    graph = LayerGraph((*GRAPH.sizes, SIZE, 3 * SIZE), steps)
    found = later_chains(graph, tuple(range(len(steps))), 11)
    assert found[:4] == ((0, 1, 2, 3) if reader is not None else (0, 2, 1, 3))


@st.composite
def cells(draw: st.DrawFn) -> LayerGraph:
    """Layers of maps of 1 to 9 bytes, of which the last ones are parts of a concatenation."""
    count, most = draw(st.integers(3, 9)), draw(st.integers(1, 4))
    sizes = [draw(st.integers(1, 9)) for _ in range(count)]
    steps: list[LayerStep] = []
    home, place = 1 + count, 0
    for number, size in enumerate(sizes):
        sources = draw(st.lists(st.integers(-1, number - 1), min_size=1, max_size=2, unique=True))
        before = sum(1 << each for each in sources if each >= 0)
        buffers = tuple(dict.fromkeys(0 if each < 0 else steps[each].writes for each in sources))
        is_part = number >= count - most
        over = tuple(
            each + 1
            for each in sources
            if each >= 0 and steps[each].writes != home and sizes[each] == size and not is_part
        )
        span = (place, place + size) if is_part else (0, size)
        writes = home if is_part else number + 1
        reads = tuple(each for each in buffers if each != writes)
        steps.append(LayerStep(before, reads, writes, span, over, draw(st.integers(0, 3))))
        place += size * is_part
    parts = sum(1 << each for each in range(max(count - most, 0), count))
    steps.append(LayerStep(parts, (), home, (0, place)))
    steps.append(LayerStep(1 << count, (home,), home + 1, (0, 1)))
    return LayerGraph((draw(st.integers(0, 9)), *sizes, place, 1), tuple(steps))


def live_bytes(graph: LayerGraph, order: Sequence[int], capacity: int) -> int:
    """The bytes of the maps that live in each step in front of the concatenation, summed.

    Only those of layers on the way to it count, and of the input.
    """
    join = len(graph.steps) - 2
    way = {join}
    for number in reversed(range(join)):
        if any(each in way for each in graph.successors[number]):
            way.add(number)
    run, total = [each for each in order if each in way and each != join], 0
    last = {
        each: at for at, number in enumerate(run) for each in members(graph.steps[number].before)
    }
    last[-1] = max((at for at, each in enumerate(run) if 0 in graph.steps[each].reads), default=-1)
    for at, number in enumerate(run):
        step = graph.steps[number]
        live = {each for each in run[:at] if last.get(each, -1) >= at} | {number}
        sizes = {each: graph.steps[each].span[1] - graph.steps[each].span[0] for each in live}
        if last[-1] >= at:
            sizes[-1] = graph.sizes[0]
        for each in members(step.before):
            if last[each] == at and graph.steps[each].writes in step.overwrites:
                sizes[each] = 0
                break
        total += sum(size for size in sizes.values() if size <= capacity)
    return total


@settings(max_examples=200, deadline=None)
@given(cells(), st.integers(1, 30))
def test_fewer_bytes_live_and_the_peak_does_not_rise(graph: LayerGraph, capacity: int) -> None:
    order = tuple(range(len(graph.steps)))
    found = later_chains(graph, order, capacity)
    assert sorted(found) == list(order)
    done = 0
    for number in found:
        assert not graph.steps[number].before & ~done
        done |= 1 << number
    assert graph.peak(found) <= graph.peak(order)
    if found != order:
        assert graph.sizes[-2] > capacity
        assert live_bytes(graph, found, capacity) < live_bytes(graph, order, capacity)
    assert later_chains(graph, found, capacity) == found
