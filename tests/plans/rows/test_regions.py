"""Which layers of a function run row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_dialect.row_times import RowRead
from npu_plans.modules.layer_graph import LayerGraph, LayerStep
from npu_plans.rows.close import distance, readers_of
from npu_plans.rows.growing import FunctionRows, RowStep
from npu_plans.rows.regions import (
    CALL,
    MOVE,
    WORD,
    most_layers,
    needed_regions,
    smallest_regions,
)
from npu_plans.rows.schedule import MapRead, RowLayer, schedule


def function_of(
    layers: Sequence[RowLayer],
    source: int,
    work: int = 0,
    pads: Sequence[dict[int, float]] = (),
    *,
    overlays: bool = False,
) -> FunctionRows:
    """A function of layers in order, each a step; map 0, of `source` bytes, is its input.

    The last map is returned, and each map is a buffer.
    """
    sizes = (source, *(layer.rows * layer.row_bytes for layer in layers))
    steps = tuple(
        LayerStep(
            sum(1 << (each.map - 1) for each in layer.reads if each.map),
            tuple(each.map for each in layer.reads),
            layer.map,
            (0, sizes[layer.map]),
        )
        for layer in layers
    )
    users: dict[int, list[int]] = {number: [] for number in range(len(sizes))}
    for place, layer in enumerate(layers):
        for each in layer.reads:
            users[each.map].append(place)
    users[len(layers)].append(len(layers))
    return FunctionRows(
        LayerGraph(sizes, steps, frozenset({len(layers)})),
        [RowStep((layer,), pads[place] if pads else {}) for place, layer in enumerate(layers)],
        users,
        {number: number for number in range(len(sizes))},
        frozenset(range(len(sizes))),
        frozenset(range(len(sizes))),
        work,
        overlays,
    )


def chain_of(rows: int, widths: Sequence[int], reaches: Sequence[int]) -> list[RowLayer]:
    """Layers behind each other; layer i needs `reaches[i]` rows of `widths[i]` bytes at once."""
    return [
        RowLayer(
            place + 1,
            rows,
            widths[place + 1],
            (MapRead(place, RowRead(rows, reach, 1, reach // 2)),),
        )
        for place, reach in enumerate(reaches)
    ]


@st.composite
def chains(draw: st.DrawFn) -> tuple[int, list[int], list[int]]:
    """Rows of the maps, their widths, and the windows of the layers between them."""
    count = draw(st.integers(1, 6))
    widths = draw(st.lists(st.integers(1, 30), min_size=count + 1, max_size=count + 1))
    reaches = draw(st.lists(st.sampled_from([1, 3, 5]), min_size=count, max_size=count))
    return draw(st.integers(3, 9)), widths, reaches


def partitions(count: int) -> Iterator[list[range]]:
    """All ways to cut a chain of layers."""
    if not count:
        yield []
    for first in range(count):
        for rest in partitions(first):
            yield [*rest, range(first, count)]


def costs(case: tuple[int, list[int], list[int]], parts: list[range]) -> tuple[int, int, int]:
    """The peak, the work and the layers in regions of a chain that is cut, by definition."""
    rows, widths, reaches = case
    peak = work = fused = 0
    for part in parts:
        inner = range(part.start + 1, part.stop)
        rings = sum(widths[place] * reaches[place] for place in inner)
        peak = max(peak, (widths[part.start] + widths[part.stop]) * rows + rings)
        if len(part) > 1:
            moved = sum(rows * widths[place] * (reaches[place] - 1) for place in inner)
            work += len(part) * rows * CALL + moved // WORD * MOVE
            fused += len(part)
    return peak, work, fused


@settings(max_examples=150, deadline=None)
@given(case=chains(), slowdown=st.integers(0, 200))
def test_no_partition_of_a_chain_is_better(
    case: tuple[int, list[int], list[int]], slowdown: int
) -> None:
    rows, widths, reaches = case
    work = 10_000
    function = function_of(chain_of(*case), rows * widths[0], work)
    found = smallest_regions(function, slowdown)
    every = [costs(case, parts) for parts in partitions(len(reaches))]
    best = min(each for each in every if each[1] <= work * slowdown / 100)
    assert (found.peak, found.work, sum(each.fused for each in found.regions)) == best
    assert [place for each in found.parts for place in range(each.first, each.last + 1)] == list(
        range(len(reaches))
    )


def residual(wide: int) -> list[RowLayer]:
    """A layer, two 3x3 convolutions of its map, their sum with the map, and a small layer."""
    one, window = RowRead(8), RowRead(8, 3, 1, 1)
    return [
        RowLayer(1, 8, wide, (MapRead(0, one),)),
        RowLayer(2, 8, wide, (MapRead(1, window),)),
        RowLayer(3, 8, wide, (MapRead(2, window),)),
        RowLayer(4, 8, wide, (MapRead(1, one, overwrites=True), MapRead(3, one, overwrites=True))),
        RowLayer(5, 8, 1, (MapRead(4, one),)),
    ]


def test_a_region_goes_across_a_residual_sum() -> None:
    """Three rows of the map with two readers and of the next one, and one of the sum."""
    found = smallest_regions(function_of(residual(10), 8, 10**6), 10)
    assert [(each.first, each.last) for each in found.regions] == [(0, 4)]
    assert found.peak == 8 + 8 + 3 * 10 + 3 * 10 + 10
    assert most_layers(function_of(residual(10), 8)).regions == found.regions


def test_what_costs_too_much_is_not_taken() -> None:
    """The sum of two maps beside one of their sources is what remains."""
    found = smallest_regions(function_of(residual(10), 8, 10**3), 10)
    assert not found.regions
    assert found.peak == 3 * 80


def test_what_fits_by_itself_is_left_alone() -> None:
    function = function_of(residual(10), 8)
    fits = needed_regions(function, 240)
    assert fits is not None
    assert not fits.regions
    tight = needed_regions(function, 239)
    assert tight is not None
    assert [(each.first, each.last, each.bytes) for each in tight.regions] == [(1, 3, 80 + 30 + 80)]
    assert needed_regions(function, 85) is None


def test_a_sum_reads_a_map_from_before() -> None:
    """If map 1 is computed before the region, the sum reads it as a whole."""
    one, window = RowRead(8), RowRead(8, 3, 1, 1)
    layers = residual(10)
    layers[3] = RowLayer(
        4, 8, 10, (MapRead(1, one, aside=True), MapRead(3, one, overwrites=True, aside=True))
    )
    found = most_layers(function_of(layers, 8))
    assert [(each.first, each.last, each.source) for each in found.regions] == [(0, 4, 0)]
    layers[0] = RowLayer(1, 8, 10, ())
    found = most_layers(function_of(layers, 8))
    assert [(each.first, each.last, each.source) for each in found.regions] == [(1, 4, 1)]
    layers[1] = RowLayer(2, 8, 10, (MapRead(0, window),))
    found = most_layers(function_of(layers, 8))
    assert [(each.first, each.last, each.source) for each in found.regions] == [(1, 4, 0)]


def test_readers_that_pad_with_two_values_are_apart() -> None:
    """The first two layers pad one map differently; a region may begin behind one of them."""
    pads: list[dict[int, float]] = [{}, {1: 0.0}, {}, {1: 1.0}, {}]
    layers = residual(10)
    found = most_layers(function_of(layers, 8, pads=pads))
    assert all(not (each.first == 0 and each.last >= 3) for each in found.regions)
    pads[3] = {1: 0.0}
    assert most_layers(function_of(layers, 8, pads=pads)).regions[0].last == 4


def test_a_result_lies_over_consumed_rows() -> None:
    """Row q of the output may lie over row q of the input.

    When it is computed, the first layer of the region has read the rows up to q + 2, and needs
    those from q + 1 on again. By itself, this layer still needs row 6 for its last row.
    """
    layers = chain_of(8, [10, 100, 10], [3, 3])
    apart = smallest_regions(function_of(layers, 80, 10**6), 10)
    over = smallest_regions(function_of(layers, 80, 10**6, overlays=True), 10)
    assert (apart.peak, over.peak) == (80 + 80 + 300, 80 + 300)
    alone = smallest_regions(function_of(layers, 80, 10**6, overlays=True), 0)
    assert alone.peak == 800 + 20


def test_padding_is_put_before_the_input_dies() -> None:
    """The third ring gets its first row in step 2. The padding above it is there in step 0."""
    layers = chain_of(8, [10, 10, 10, 10, 10], [3, 3, 3, 3])
    found = schedule(layers)
    assert [found.rings[number] for number in (1, 2, 3)] == [3, 3, 3]
    assert distance(layers, readers_of(layers), found, 2, 0, 10, dense=True) == 10
    assert distance(layers, readers_of(layers), found, 2, 0, 10, dense=False) == 30
    taken = chain_of(8, [10, 10, 10, 10, 10], [3, 3, 1, 1])
    assert distance(taken, readers_of(taken), schedule(taken), 1, 0, 10, dense=True) == 0, (
        "a ring without padding"
    )


def test_a_row_that_is_overwritten_reads_the_input_when_it_is_put_there() -> None:
    """Row q of a convolution lies where row q of the result is put, and needs input row q - 1."""
    layers = [
        RowLayer(1, 8, 10, (MapRead(0, RowRead(8, 3, 1, 1)),)),
        RowLayer(2, 8, 10, (MapRead(1, RowRead(8), overwrites=True),)),
    ]
    found = schedule(layers)
    assert found.rings == {1: 0}
    assert distance(layers, readers_of(layers), found, 1, 0, 10, dense=True) == 20


def test_rows_at_the_top_may_be_layers_of_their_own() -> None:
    """An input of 32 rows of 96 bytes, a ring of six rows of 512, and a result of rows of 128.

    With two rows of padding the ring is full when row 3 is in it, behind rows 0 to 5 of the input.
    Without them it is full behind rows 0 to 7: row 5 is written while row 8 is read. The result's
    rows 0 and 1 are written then, and rows 8 and 9 of the input have died too.
    """
    layers = [
        RowLayer(1, 16, 512, (MapRead(0, RowRead(32, 6, 2, 2)),)),
        RowLayer(2, 8, 128, (MapRead(1, RowRead(16, 6, 2, 2)),)),
    ]
    function = function_of(layers, 32 * 96, 10**6, overlays=True)
    plain = smallest_regions(function, 10)
    apart = smallest_regions(replace(function, top_rows=True), 10)
    assert [each.top_rows for each in (*plain.regions, *apart.regions)] == [False, True]
    ring, source = 6 * 512, 32 * 96
    assert plain.peak == ring + source - 4 * 96
    assert apart.peak == ring + 2 * 128 - 10 * 96 + source
