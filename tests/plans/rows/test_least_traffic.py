"""Which layers of a chain run row by row if maps can leave the chip."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.rows.choose import LayerRun
from npu_plans.rows.least_traffic import Chain, ChainLayer, ChainMap, least_traffic


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """Layers between maps of random size; the first and last map may be the caller's."""
    count = draw(st.integers(1, 5))
    moved = draw(st.lists(st.integers(1, 60), min_size=count + 1, max_size=count + 1))
    ends = {0: draw(st.booleans()), count: draw(st.booleans())}
    maps = [
        ChainMap(size + draw(st.integers(0, 5)), size, min(size, 3), ends.get(index, False))
        for index, size in enumerate(moved)
    ]
    small = st.integers(0, 12)
    layers = [
        ChainLayer(
            min(draw(small), one.moved),
            draw(st.sampled_from([0, 0, 4])),
            draw(small),
            draw(st.integers(0, 3)),
            draw(st.booleans()),
            draw(st.booleans()),
        )
        for one in maps[:-1]
    ]
    return Chain(maps, layers)


def partitions(count: int) -> Iterator[list[LayerRun]]:
    """All ways to cut a chain into layers and runs."""
    for cuts in product((False, True), repeat=count - 1):
        ends = [index for index, cut in enumerate(cuts) if cut] + [count - 1]
        starts = [0, *(end + 1 for end in ends[:-1])]
        yield [LayerRun(first, last) for first, last in zip(starts, ends, strict=True)]


def moved(chain: Chain, parts: list[LayerRun], off: tuple[bool, ...], sram: int) -> int | None:
    """Bytes that cross the border of the chip, by definition; None if a part does not fit."""
    totals, total = chain.totals(), 0
    for part in parts:
        ifm, ofm = chain.maps[part.first], chain.maps[part.last + 1]
        ifm_off, ofm_off = off[part.first], off[part.last + 1]
        if len(part) > 1:
            if (ifm_off, ofm_off) != (ifm.outside, ofm.outside):
                return None
            if chain.footprint(part, totals) > sram:
                return None
        elif not (ifm_off and ofm_off):
            if chain.alone(part.first, ifm_off=ifm_off, ofm_off=ofm_off) > sram:
                return None
        total += ifm.moved * ifm_off + ofm.moved * ofm_off
    for index in (0, -1):
        total += chain.maps[index].moved * (off[index] and not chain.maps[index].outside)
    return total


def least(chain: Chain, sram: int, partition: list[list[LayerRun]]) -> int | None:
    """The fewest bytes that any of these partitions moves."""
    places = list(product(*(one.places for one in chain.maps)))
    found = [moved(chain, parts, off, sram) for parts in partition for off in places]
    return min((each for each in found if each is not None), default=None)


@settings(max_examples=100, deadline=None)
@given(chain=chains(), sram=st.integers(5, 150))
def test_no_other_runs_move_less(chain: Chain, sram: int) -> None:
    runs = least_traffic(chain, sram)
    count = len(chain.layers)
    inside = {index for run in runs for index in range(run.first, run.last + 1)}
    parts = sorted(
        [*runs, *(LayerRun(i, i) for i in range(count) if i not in inside)],
        key=lambda run: run.first,
    )
    got = least(chain, sram, [parts])
    assert got == least(chain, sram, list(partitions(count)))
    if runs:
        without = least(chain, sram, [[LayerRun(i, i) for i in range(count)]])
        assert got is not None
        assert without is not None
        assert got < without


def test_footprint_counts_what_is_on_chip() -> None:
    """A run needs its end maps, windows and parameters; of the caller's maps a window or a row."""
    layers = [ChainLayer(10, weights=5), ChainLayer(20, inner=3, weights=7)]
    near = Chain([ChainMap(100, 90), ChainMap(900, 900), ChainMap(50, 40, 4)], layers)
    run = LayerRun(0, 1)
    assert near.footprint(run, near.totals()) == 100 + 50 + 20 + 3 + 5 + 7
    ends = [ChainMap(100, 90, 9, True), ChainMap(900, 900), ChainMap(50, 40, 4, True)]
    far = Chain(ends, layers)
    assert far.footprint(run, far.totals()) == 10 + 4 + 20 + 3 + 5 + 7
    padded = Chain(near.maps, [ChainLayer(10, weights=5, direct=False), layers[1]])
    assert padded.footprint(run, padded.totals()) == 100 + 10 + 50 + 20 + 3 + 5 + 7


def test_the_smallest_need_of_those_that_move_least() -> None:
    """Two pairs would move as little, but the whole run needs less memory."""
    maps = [ChainMap(n, n) for n in (10, 95, 60, 95, 10)]
    chain = Chain(maps, [ChainLayer(5) for _ in range(4)])
    assert least_traffic(chain, 100) == [LayerRun(0, 3)]
    assert least_traffic(chain, 155) == []


def test_what_does_not_fit_is_left_alone() -> None:
    """All parameters of a run must be on chip at once, and these do not fit."""
    maps = [ChainMap(n, n) for n in (10, 95, 10)]
    chain = Chain(maps, [ChainLayer(5, weights=50) for _ in range(2)])
    assert least_traffic(chain, 100) == []
    assert least_traffic(Chain(maps, [ChainLayer(5, weights=30) for _ in range(2)]), 100) == [
        LayerRun(0, 1)
    ]


def test_a_layer_overwrites_its_input_only_where_both_maps_are_on_chip() -> None:
    layers = [ChainLayer(4, partial=1, in_place=True)]
    chain = Chain([ChainMap(20, 20, 5, False), ChainMap(20, 20, 5, False)], layers)
    assert chain.alone(0, ifm_off=False, ofm_off=False) == 20 + 1
    assert chain.alone(0, ifm_off=True, ofm_off=False) == 4 + 20 + 1
    assert chain.alone(0, ifm_off=False, ofm_off=True) == 20 + 5 + 1
    assert chain.alone(0, ifm_off=True, ofm_off=True) == 4 + 5 + 1
