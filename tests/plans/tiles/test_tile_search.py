"""The search returns the optimum of the whole space, ties included, or says that nothing fits."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tiles.flownet_s import DMA, LAYERS, OCM_BYTES
from helpers.tiles.paper_equations import footprint_of, paper_cost
from helpers.tiles.plain_sweep import sweep
from helpers.tiles.shapes import layers, same_layers
from npu_plans.tiles.cost_model import LOOPS, PAPER, DmaCosts, Tile
from npu_plans.tiles.layer_shape import ConvShape, TilingError, WindowAxis
from npu_plans.tiles.tile_search import AS_PAPER, SearchOptions, Tiling, search, search_layers

COSTS = st.sampled_from((DmaCosts(50, 3, 1), DmaCosts(0, 0, 0), DmaCosts(7.5, 0.25, 0.1)))


def key(tiling: Tiling, options: SearchOptions) -> tuple[float, ...]:
    values = (tiling.bytes, tiling.cost)
    tile = tiling.tile
    return (
        *(values if options.minimize == "bytes" else reversed(values)),
        tiling.footprint,
        options.orders.index(tiling.order),
        *(tile.rows, tile.columns, tile.channels_in, tile.channels_out),
    )


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_search_equals_the_plain_sweep(data: st.DataObject) -> None:
    layer, dma = data.draw(layers(7, 4)), data.draw(COSTS)
    largest = Tile(layer.rows.outputs, layer.columns.outputs, layer.channels_in, layer.channels_out)
    ocm_bytes = data.draw(st.integers(1, 2 * footprint_of(layer, largest)))
    divisors, any_order, single, by_bytes = (data.draw(st.booleans()) for _ in range(4))
    options = SearchOptions(
        "physical",
        divisors,
        "any" if any_order else "paper",
        "single" if single else "double-buffered",
        "bytes" if by_bytes else "cost",
    )
    best = sweep(
        layer,
        ocm_bytes,
        dma,
        divisors_only=divisors,
        any_order=any_order,
        single=single,
        minimize_bytes=by_bytes,
    )
    if best is None:
        with pytest.raises(TilingError, match=r"smallest tile needs \d+ bytes on chip, there are"):
            search(layer, ocm_bytes, dma, options)
        return
    assert key(search(layer, ocm_bytes, dma, options), options) == pytest.approx(
        best.key, rel=1e-12
    )


def test_a_larger_size_wins_where_the_border_cuts_its_halo() -> None:
    """Tiles of 4 and 1 outputs read 5 and 3 inputs; tiles of 3 and 2 outputs read 5 and 4."""
    layer = ConvShape("border", WindowAxis(5, 5, 1, 1, 2, 2), WindowAxis(1), 1, 1)
    both_fit_but_not_one_tile = footprint_of(layer, Tile(4, 1, 1, 1))
    options = SearchOptions(stationary="double-buffered")
    found = search(layer, both_fit_but_not_one_tile, DMA, options)
    assert (found.tile.rows, found.traffic.inputs.elements) == (4, 8)


def test_of_equal_tiles_the_smaller_one_wins() -> None:
    """The tile 1, 1, 1, 2 comes first and moves the same, but takes 56 bytes on chip, not 48."""
    layer = ConvShape("tie", WindowAxis(3), WindowAxis(3), 4, 2)
    options = SearchOptions("physical", False, "paper", "double-buffered")
    found = search(layer, 64, DmaCosts(0, 0, 0), options)
    assert (found.tile, found.footprint) == (Tile(1, 1, 2, 1), 48)


@settings(max_examples=40, deadline=None)
@given(same_layers(), st.integers(300, 4000))
def test_paper_search_is_the_least_printed_cost(layer: ConvShape, ocm_bytes: int) -> None:
    extents = (layer.rows.outputs, layer.columns.outputs, layer.channels_in, layer.channels_out)
    divisors = [[d for d in range(1, extent + 1) if extent % d == 0] for extent in extents]
    tiles = [Tile(*sizes) for sizes in product(*divisors)]
    fitting = [t for t in tiles if footprint_of(layer, t, LOOPS, PAPER) <= ocm_bytes]
    least = min(paper_cost(layer, tile.sigmas(layer), DMA).t_tot for tile in fitting)
    found = search(layer, ocm_bytes, DMA, AS_PAPER)
    assert found.tile in fitting
    assert found.cost == least == paper_cost(layer, found.tile.sigmas(layer), DMA).t_tot


@settings(max_examples=20, deadline=None)
@given(layers(7, 4), st.integers(500, 4000))
def test_each_freedom_helps_or_changes_nothing(layer: ConvShape, ocm_bytes: int) -> None:
    steps = (
        SearchOptions("physical", True, "paper", "double-buffered"),
        SearchOptions("physical", True, "any", "double-buffered"),
        SearchOptions("physical", False, "any", "double-buffered"),
        SearchOptions(),
    )
    try:
        found = [search(layer, ocm_bytes, DMA, options).bytes for options in steps]
    except TilingError:
        return
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("model", ["paper", "physical"])
def test_both_models_take_every_option(model: str) -> None:
    layer = LAYERS[7]
    base = AS_PAPER if model == "paper" else SearchOptions("physical", True, "paper")
    wider = SearchOptions(base.model, False, "any", "single", base.minimize)
    narrow, wide = (search(layer, OCM_BYTES, DMA, options) for options in (base, wider))
    assert wide.candidates > narrow.candidates
    objective = "cost" if base.minimize == "cost" else "bytes"
    assert getattr(wide, objective) <= getattr(narrow, objective)


def test_layers_keep_their_order_whatever_the_jobs() -> None:
    told: list[str] = []
    options = SearchOptions("physical", True)
    one = search_layers(LAYERS, OCM_BYTES, DMA, options)
    two = search_layers(
        LAYERS, OCM_BYTES, DMA, options, jobs=2, progress=lambda t: told.append(t.layer.name)
    )
    assert one == two
    assert told == [layer.name for layer in LAYERS]


def test_a_memory_that_is_too_small_says_what_is_needed() -> None:
    with pytest.raises(TilingError, match=r"conv2: the smallest tile needs 248 bytes .* are 247"):
        search(LAYERS[1], 247, DMA, AS_PAPER)


def test_the_paper_needs_divisors_that_the_stride_divides() -> None:
    odd = WindowAxis(35, 3, 2, 1, 1, 1)
    with pytest.raises(TilingError, match=r"no divisor of 35 is a multiple of the stride 2"):
        search(ConvShape("odd", odd, odd, 4, 4), OCM_BYTES, DMA, AS_PAPER)
