"""What leaves the chip with some regions, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from npu_dialect.row_times import RowRead
from npu_plans.modules.layer_graph import LayerGraph, LayerStep, Span
from npu_plans.rows.border import fitting_regions
from npu_plans.rows.growing import FunctionRows, RowStep
from npu_plans.rows.leaving import Leaving, leaving_cycles
from npu_plans.rows.regions import Choice, RowRegion, alone, moved_in_rings
from npu_plans.rows.schedule import MapRead, RowLayer
from npu_plans.time.rates import Rates

ROWS = 8
ONE, THREE = RowRead(ROWS), RowRead(ROWS, 3, 1, 1)
RATES = Rates({}, Fraction(8), Fraction(2))


def layer(number: int, size: int, *reads: MapRead) -> RowLayer:
    """A layer that computes map `number`, of `size` bytes."""
    return RowLayer(number, ROWS, size // ROWS, reads)


def function_of(
    layers: Sequence[RowLayer],
    *,
    homes: dict[int, tuple[int, Span]] | None = None,
    over: dict[int, int] | None = None,
) -> FunctionRows:
    """Layers in order, each a step; map 0 has no bytes on chip, and the last one lives on.

    Map n lies in buffer n, or where `homes` says. Its layer may overwrite the buffer `over[n]`.
    """
    sizes = {0: 0, **{each.map: each.rows * each.row_bytes for each in layers}}
    places = {number: (number, (0, size)) for number, size in sizes.items()} | (homes or {})
    for home, (_, end) in places.values():
        sizes[home] = max(sizes.get(home, 0), end)
    steps = [
        LayerStep(
            (1 << at) - 1,
            tuple(places[read.map][0] for read in each.reads),
            *places[each.map],
            ((over or {})[each.map],) if each.map in (over or {}) else (),
        )
        for at, each in enumerate(layers)
    ]
    users: dict[int, list[int]] = {number: [] for number in places}
    for at, each in enumerate(layers):
        for read in each.reads:
            users[read.map].append(at)
    last = places[layers[-1].map][0]
    return FunctionRows(
        LayerGraph(tuple(sizes[each] for each in sorted(sizes)), tuple(steps), frozenset({last})),
        [RowStep((each,)) for each in layers],
        users,
        {number: home for number, (home, _) in places.items()},
        frozenset(),
        frozenset(),
        0,
        fetched={0: RowLayer(0, ROWS, 1, ())},
    )


def without_regions(function: FunctionRows) -> Choice:
    return Choice(tuple(alone(function)))


def moved(function: FunctionRows, sram: int) -> int | None:
    """The bytes that leave without regions."""
    return Leaving(function, without_regions(function)).bytes(sram)


def test_nothing_leaves_where_all_fits() -> None:
    layers = [layer(1, 80, MapRead(0, ONE)), layer(2, 80, MapRead(1, ONE))]
    assert moved(function_of(layers), 160) == 0


def test_a_map_costs_a_store_and_a_load_for_each_reader() -> None:
    layers = [
        layer(1, 80, MapRead(0, ONE)),
        layer(2, 80, MapRead(1, THREE)),
        layer(3, 80, MapRead(1, THREE), MapRead(2, THREE)),
        layer(4, 16, MapRead(3, THREE)),
    ]
    assert moved(function_of(layers), 240) == 0
    assert moved(function_of(layers), 239) == 80 + 80  # map 2 or 3, and not the longer way of map 1
    assert moved(function_of(layers), 159) == 2 * (80 + 80)  # both of them


def test_a_map_that_is_off_the_chip_for_many_steps_counts_once() -> None:
    """`border.left` counts it at each step that exceeds the memory."""
    chain = [layer(number, 80, MapRead(number - 1, ONE)) for number in range(1, 6)]
    layers = [*chain, layer(6, 80, MapRead(1, ONE), MapRead(5, ONE))]
    function = function_of(layers)
    assert moved(function, 165) == 3 * 80
    _, left = fitting_regions(replace(function, steps=[RowStep()] * len(layers)), 165)
    assert left.leaves > 3 * 80


def test_what_cannot_leave_does_not_fit() -> None:
    function = function_of([layer(1, 80, MapRead(0, ONE))])
    assert moved(function, 80) == 0
    assert moved(function, 79) is None
    assert leaving_cycles(function, without_regions(function), 79, RATES) is None


def test_a_change_in_place_moves_nothing() -> None:
    """Map 2 takes the place of map 1, of which it changes each element."""
    layers = [
        layer(1, 80, MapRead(0, ONE)),
        layer(2, 80, MapRead(1, ONE, overwrites=True)),
        layer(3, 80, MapRead(2, THREE)),
    ]
    function = function_of(layers, over={2: 1})
    assert Leaving(function, without_regions(function)).cost(2) == 80 + 80
    plain = function_of([*layers[:1], layer(2, 80, MapRead(1, ONE)), layers[2]], over={2: 1})
    assert Leaving(plain, without_regions(plain)).cost(2) == 80 + 80 + 80 + 80


def test_a_part_of_a_concatenation_is_stored_once() -> None:
    """Buffer 5 has maps 1 and 2; a layer reads map 1 alone, and one reads all of it, as map 5."""
    layers = [
        layer(1, 80, MapRead(0, ONE)),
        layer(2, 40, MapRead(1, ONE)),
        layer(3, 80, MapRead(1, THREE)),
        layer(4, 80, MapRead(5, THREE)),
    ]
    homes: dict[int, tuple[int, Span]] = {1: (5, (0, 80)), 2: (5, (80, 120)), 5: (5, (0, 120))}
    function = function_of(layers, homes=homes)
    assert Leaving(function, without_regions(function)).cost(5) == 80 + 40 + 120


def test_regions_move_the_rows_of_their_rings() -> None:
    layers = [
        layer(1, 80, MapRead(0, ONE)),
        layer(2, 80, MapRead(1, THREE)),
        layer(3, 16, MapRead(2, THREE)),
    ]
    function = function_of(layers)
    (region,) = (each for each in regions_of(function) if (each.first, each.last) == (0, 2))
    assert region.schedule is not None
    rings = sum(ROWS * 10 * (region.schedule.rings[number] - 1) for number in (1, 2))
    assert moved_in_rings(function, region) == rings > 0
    assert leaving_cycles(function, Choice((region,)), 200, RATES) == 2 * rings / 8
    none = without_regions(function)
    assert leaving_cycles(function, none, 160, RATES) == 0
    assert leaving_cycles(function, none, 150, RATES) == 2 * 80 / 2


def test_a_result_that_leaves_row_by_row() -> None:
    layers = [
        layer(1, 160, MapRead(0, THREE)),
        layer(2, 80, MapRead(1, THREE)),
    ]
    choice, _ = fitting_regions(function_of(layers), 90)
    (region,) = choice.regions
    assert region.leaves == 80
    assert Leaving(function_of(layers), choice).bytes(90) == 80  # nothing loads what is returned


def regions_of(function: FunctionRows) -> Sequence[RowRegion]:
    """The regions that take a function where it nearly fits."""
    return fitting_regions(function, 100)[0].regions
