"""Which layers of a function run row by row if its maps may lie off chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from npu_dialect.row_times import RowRead
from npu_plans.modules.layer_graph import LayerGraph, LayerStep
from npu_plans.rows.border import fitting_regions, problem_of, waited
from npu_plans.rows.growing import FunctionRows, RowStep
from npu_plans.rows.regions import alone, found_regions
from npu_plans.rows.schedule import MapRead, RowLayer

ONE, THREE = RowRead(8), RowRead(8, 3, 1, 1)


def function_of(
    layers: Sequence[RowLayer],
    source: int,
    *,
    over: Mapping[int, int] | None = None,
    returned: Sequence[int] = (),
    joinable: bool = False,
) -> FunctionRows:
    """Layers in order, each a step; map 0, of `source` bytes, is computed before, or fetched if 0.

    The layer of a map in `over` may overwrite the map that `over` gives. The last map lives on, and
    so do those `returned`.
    """
    sizes = (source, *(layer.rows * layer.row_bytes for layer in layers))
    kept = {len(layers), *returned}
    steps = [
        LayerStep(
            sum(1 << (each.map - 1) for each in layer.reads if each.map),
            tuple(each.map for each in layer.reads),
            layer.map,
            (0, sizes[layer.map]),
            ((over or {})[layer.map],) if layer.map in (over or {}) else (),
        )
        for layer in layers
    ]
    users: dict[int, list[int]] = {number: [] for number in range(len(sizes))}
    for place, layer in enumerate(layers):
        for each in layer.reads:
            users[each.map].append(place)
    for number in kept:
        users[number].append(len(layers))
    return FunctionRows(
        LayerGraph(sizes, tuple(steps), frozenset(kept)),
        [RowStep((layer,), partial=layer.weights // 4) for layer in layers],
        users,
        {number: number for number in range(len(sizes))},
        frozenset(),
        frozenset(),
        0,
        fetched={} if source else {0: RowLayer(0, 8, 5, ())},
        joinable=dict.fromkeys(range(1, len(sizes)), "alike") if joinable else {},
    )


def chain(*, weights: int = 0) -> list[RowLayer]:
    """Two convolutions: a map of 80 bytes between the input and one of 16 bytes."""
    return [
        RowLayer(1, 8, 10, (MapRead(0, THREE),), weights),
        RowLayer(2, 8, 2, (MapRead(1, THREE),), weights),
    ]


def test_rows_that_are_fetched_have_a_ring() -> None:
    """Three rows of the input, three of the map between, and the result."""
    choice, left = fitting_regions(function_of(chain(), 0), 61)
    assert left[:2] == (0, 0)
    (region,) = choice.regions
    assert region.schedule is not None
    assert region.schedule.rings == {0: 3, 1: 3}
    assert region.bytes == 3 * 5 + 3 * 10 + 16 == 61
    assert not fitting_regions(function_of(chain(), 0), 96)[0].parts  # each layer fits by itself


def test_kernels_of_a_region_are_on_chip_together() -> None:
    assert fitting_regions(function_of(chain(weights=10), 0), 61 + 20)[0].regions
    choice, left = fitting_regions(function_of(chain(weights=20), 0), 61 + 20)
    assert not choice.regions
    excess = 80 + 5 - 81 + 80 + 16 + 5 - 81
    assert left[:2] == (2 * 2 * 80, excess)  # one map, for both layers, out and back


def test_a_result_that_does_not_fit_leaves_row_by_row() -> None:
    layers = [
        RowLayer(1, 8, 20, (MapRead(0, THREE),)),
        RowLayer(2, 8, 10, (MapRead(1, THREE),)),
    ]
    choice, left = fitting_regions(function_of(layers, 0), 90)
    (region,) = choice.regions
    assert (region.leaves, left.leaves) == (80, 2 * 80)
    assert region.bytes == 15 + 60 + 10


def test_a_result_off_chip_has_a_row() -> None:
    """Where the result of the function has no bytes on chip, a row of it is computed there."""
    found = fitting_regions(off_chip(function_of(chain(), 0)), 15 + 30 + 2)
    (region,) = found[0].regions
    assert (region.bytes, region.lines, region.leaves) == (15 + 30 + 2, {2: 2}, 0)
    buffers = problem_of(off_chip(function_of(chain(), 0)), found[0]).buffers
    assert sum(buffer.size for buffer in buffers) == region.bytes
    assert fitting_regions(off_chip(function_of(chain(), 0)), 15 + 30 + 1)[1].leaves


def off_chip(function: FunctionRows) -> FunctionRows:
    """The function with its last map off chip."""
    return replace(function, graph=replace(function.graph, sizes=(*function.graph.sizes[:-1], 0)))


def test_a_map_that_is_read_beside_the_input_has_a_row() -> None:
    """A convolution of the input of 80 bytes; a sum adds the row of a map that lies off chip."""
    layers = [
        RowLayer(1, 8, 10, (MapRead(0, THREE),)),
        RowLayer(2, 8, 10, (MapRead(1, ONE),)),
    ]
    function = function_of(layers, 80)
    both = replace(layers[1], reads=(*layers[1].reads, MapRead(3, ONE, aside=True)))
    beside = replace(
        function,
        steps=[function.steps[0], RowStep((both,))],
        users={**function.users, 3: [1]},
        homes={**function.homes, 3: -1},
        fetched={3: RowLayer(3, 8, 7, ())},
    )
    for each, lines in ((beside, {3: 7}), (replace(beside, fetched={}), {})):
        (region,) = found_regions(each)
        assert region.lines == lines
        assert region.bytes == 80 + 10 + 80 + sum(lines.values())


def residual(second: RowRead) -> list[RowLayer]:
    """Two convolutions and the sum with their input; the second one decides when rows come."""
    return [
        RowLayer(1, 8, 2, (MapRead(0, ONE),)),
        RowLayer(2, 8, 10, (MapRead(1, second),)),
        RowLayer(3, 8, 10, (MapRead(2, ONE, overwrites=True), MapRead(0, ONE, overwrites=True))),
    ]


def test_a_sum_overwrites_the_row_that_it_reads() -> None:
    """The input of 80 bytes, a ring of three rows, and the row of the second convolution."""
    function = function_of(residual(THREE), 80, over={3: 0})
    choice, left = fitting_regions(function, 100)
    assert left[:2] == (0, 0)
    assert [region.in_place for region in choice.regions] == [True]
    assert choice.peak == 80 + 3 * 2 + 10
    assert fitting_regions(function_of(residual(THREE), 80), 100)[1].leaves == 2 * 80


def test_a_row_that_is_read_later_is_not_overwritten() -> None:
    """The first convolution needs the row above too: it comes too early."""
    layers = residual(ONE)
    layers[0] = replace(layers[0], reads=(MapRead(0, THREE),))
    assert not any(
        region.in_place
        for region in fitting_regions(function_of(layers, 80, over={3: 0}), 100)[0].regions
    )


def two_results() -> list[RowLayer]:
    """A wide map, and two maps of half its rows that are computed from it and read later."""
    half = RowRead(8, 2, 2)
    return [
        RowLayer(1, 8, 40, (MapRead(0, ONE),)),
        RowLayer(2, 4, 5, (MapRead(1, half),)),
        RowLayer(3, 4, 5, (MapRead(1, half),)),
        RowLayer(4, 4, 5, (MapRead(2, RowRead(4)), MapRead(3, RowRead(4), aside=True))),
    ]


def test_two_results_are_joined() -> None:
    joined = function_of(two_results(), 0, returned=[2], joinable=True)
    choice, left = fitting_regions(joined, 200)
    assert left[:2] == (0, 0)
    assert [region.joined for region in choice.regions] == [(2, 3)]
    apart, other = fitting_regions(function_of(two_results(), 0, returned=[2]), 200)
    assert other.leaves > 0
    assert not any(region.joined for region in apart.regions)


def test_what_is_placed() -> None:
    """Rings and kernels, and no map between the layers of a region."""
    function = function_of(chain(weights=10), 0)
    choice, _ = fitting_regions(function, 81)
    sizes = sorted(buffer.size for buffer in problem_of(function, choice).buffers)
    assert [size for size in sizes if size] == [10, 10, 15, 16, 30]


def blocks(*, hides: int = 0) -> FunctionRows:
    """Two residual blocks between maps 0, 3 and 6 of 80 bytes, which lie off chip."""
    layers = [*residual(THREE), *(moved_on(layer, 3) for layer in residual(THREE))]
    function = function_of(layers, 80)
    away = dict.fromkeys((0, 3, 6), 80)
    sizes = [0 if number in away else size for number, size in enumerate(function.graph.sizes)]
    return replace(
        function,
        graph=replace(function.graph, sizes=tuple(sizes)),
        steps=[replace(step, hides=hides) for step in function.steps],
        fetched={number: RowLayer(number, 8, 10, ()) for number in away},
        away=away,
    )


def moved_on(layer: RowLayer, by: int) -> RowLayer:
    """A layer that reads and computes other maps."""
    reads = tuple(replace(each, map=each.map + by, overwrites=False) for each in layer.reads)
    return replace(layer, map=layer.map + by, reads=reads)


def test_a_map_larger_than_the_memory_is_read_once_for_both_branches() -> None:
    """The rows of a block's input stay in a ring until its sum has read them."""
    choice, left = fitting_regions(blocks(), 70)
    assert [(part.first, part.last, part.source) for part in choice.regions] == [
        (0, 2, 0),
        (3, 5, 3),
    ]
    assert left.leaves == sum(part.moved for part in choice.parts) == 4 * 80
    assert all(part.lines.keys() == {part.last + 1} for part in choice.regions)


def test_blocks_that_fit_together_move_nothing_between_them() -> None:
    choice, left = fitting_regions(blocks(), 120)
    assert [(part.first, part.last) for part in choice.regions] == [(0, 5)]
    assert left.leaves == 2 * 80


def test_rows_move_beside_others_if_there_is_room_for_one_more() -> None:
    """A row of the input has a buffer of its own then; what layers hide is not waited for."""
    for room, buffers in ((0, 0), (10, 10)):
        (region,) = fitting_regions(blocks(hides=30), whole_bytes() + room)[0].regions
        assert region.buffers == buffers
        assert waited(blocks(hides=30), region, outside=True) == (0 if buffers else 160)
    (region,) = fitting_regions(blocks(hides=20), whole_bytes() + 10)[0].regions
    assert waited(blocks(hides=20), region, outside=True) == 160 - 6 * 20


def whole_bytes() -> int:
    """What both blocks need as one region, without a buffer for rows that arrive."""
    return min(each.bytes for each in found_regions(blocks()) if (each.first, each.last) == (0, 5))


def test_nothing_hides_the_jumps_to_picked_elements() -> None:
    """A step by itself waits for them if its map lies off chip; a region fetches whole rows."""
    function = blocks(hides=500)
    jumping = replace(function, steps=[replace(step, jumps=7) for step in function.steps])
    for part in alone(jumping):
        assert [waited(jumping, part, outside=outside) for outside in (False, True)] == [0, 7]
    assert all(waited(jumping, each, outside=True) == each.moved for each in found_regions(jumping))
