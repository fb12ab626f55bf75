"""The closed forms count what the loop nest moves. The equations are those of the paper."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tiles.flownet_s import DMA, LAYERS
from helpers.tiles.paper_equations import footprint_of, paper_cost, paper_ocm_elements
from helpers.tiles.shapes import layers, same_layers, tiles
from helpers.tiles.traced import Trace
from npu_plans.tiles.bounds import compulsory_bytes, lower_bound_bytes, multiplications
from npu_plans.tiles.closed_forms import traffic_of
from npu_plans.tiles.cost_model import (
    LOOPS,
    PAPER,
    Conventions,
    DmaCosts,
    Tile,
)
from npu_plans.tiles.layer_shape import ConvShape, ElementBytes, TilingError, WindowAxis

ORDERS = tuple("".join(order) for order in permutations(LOOPS))
CONVENTIONS = tuple(Conventions(True, *flags) for flags in product((False, True), repeat=3))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_closed_forms_equal_the_traced_loop_nest(data: st.DataObject) -> None:
    layer = data.draw(layers())
    tile, order = data.draw(tiles(layer)), data.draw(st.sampled_from(ORDERS))
    for conventions in CONVENTIONS:
        trace = Trace(layer, tile, order, conventions)
        assert traffic_of(layer, tile, order, conventions) == trace.run()


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_footprint_is_the_largest_tile_of_each_operand(data: st.DataObject) -> None:
    layer = data.draw(layers())
    tile, order = data.draw(tiles(layer)), data.draw(st.sampled_from(ORDERS))
    trace = Trace(layer, tile, order, Conventions())
    trace.run()
    largest, kept = sum(trace.most.values()), trace.kept()
    assert footprint_of(layer, tile, order) == 2 * largest
    single = largest if kept is None else 2 * largest - trace.most[kept]
    assert footprint_of(layer, tile, order, stationary="single") == single


def test_the_papers_equations_by_hand() -> None:
    """conv2 of FlowNet-S with sigma 6, 128, 16, 32: each term of (2) to (6) written out."""
    sigmas = (6, 128, 16, 32)
    found = paper_cost(LAYERS[1], sigmas, DmaCosts(1000, 10, 1))
    assert found.t_in == 1000 + 6 * 16 * 10 + 6 * 128 * 16
    assert found.t_out == 2 * (1000 + 3 * 32 * 10 + 3 * 64 * 32)
    assert found.t_wb == 1000 + 33 * 10 + (16 * 32 * 25 + 32)
    assert found.d_in == 32 * 2 * 4
    assert found.d_out == found.d_wb == 32 * 2 * 4 * 4
    assert found.t_tot == 256 * (found.t_in + 4 * (found.t_out + found.t_wb))
    assert paper_ocm_elements(LAYERS[1], sigmas) == 12288 + 6144 + 12800 + 32


def test_the_papers_equations_keep_fractions() -> None:
    found = paper_cost(LAYERS[0], (1, 1, 1, 1), DmaCosts(0, 0, 1))
    assert found.t_out == Fraction(1, 2)
    assert paper_ocm_elements(LAYERS[0], (1, 1, 1, 1)) == 1 + Fraction(1, 4) + 49 + 1


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_without_any_freedom_the_closed_forms_are_the_papers(data: st.DataObject) -> None:
    layer = data.draw(same_layers())
    extents = (layer.rows.outputs, layer.columns.outputs, layer.channels_in, layer.channels_out)
    divisors = [[d for d in range(1, extent + 1) if extent % d == 0] for extent in extents]
    tile = Tile(*(data.draw(st.sampled_from(sizes)) for sizes in divisors))
    printed = paper_cost(layer, tile.sigmas(layer), DMA)
    traffic = traffic_of(layer, tile, LOOPS, PAPER)
    assert traffic.cost(DMA) == printed.t_tot
    assert traffic.inputs.cost(DMA) == printed.t_in * printed.d_in
    assert traffic.weights.cost(DMA) == printed.t_wb * printed.d_wb
    assert traffic.outputs_read == traffic.outputs_written
    elements = paper_ocm_elements(layer, tile.sigmas(layer))
    assert footprint_of(layer, tile, LOOPS, PAPER) == 2 * 4 * elements


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_nothing_moves_less_than_the_bounds(data: st.DataObject) -> None:
    layer = data.draw(layers())
    tile, order = data.draw(tiles(layer)), data.draw(st.sampled_from(ORDERS))
    footprint = footprint_of(layer, tile, order, stationary="single")
    moved = traffic_of(layer, tile, order).total.bytes
    assert compulsory_bytes(layer) <= lower_bound_bytes(layer, footprint) <= moved


@settings(max_examples=50, deadline=None)
@given(layers())
def test_multiplications_leave_padding_out(layer: ConvShape) -> None:
    found = 0
    for y, x in product(range(layer.rows.outputs), range(layer.columns.outputs)):
        for i, j in product(range(layer.rows.kernel), range(layer.columns.kernel)):
            row = y * layer.rows.stride - layer.rows.pad_before + i * layer.rows.dilation
            column = x * layer.columns.stride - layer.columns.pad_before
            column += j * layer.columns.dilation
            found += 0 <= row < layer.rows.extent and 0 <= column < layer.columns.extent
    assert multiplications(layer) == found * layer.channels_in * layer.channels_out


@settings(max_examples=50, deadline=None)
@given(layers())
def test_reuse_is_the_most_windows_of_an_input(layer: ConvShape) -> None:
    for axis in (layer.rows, layer.columns):
        taps = axis.taps()
        assert max((taps.count(index) for index in set(taps)), default=0) <= axis.reuse


def test_whole_maps_are_one_run() -> None:
    """A layer that is one tile: input, kernels and biases, output, each contiguous."""
    layer = LAYERS[9]
    traffic = traffic_of(layer, Tile(6, 8, 1024, 1024))
    assert (traffic.inputs.jumps, traffic.weights.jumps) == (1, 2)
    assert (traffic.outputs_read.transfers, traffic.outputs_written.jumps) == (0, 1)
    assert traffic.total.bytes == compulsory_bytes(layer)


def test_int8_layers_count_elements_and_bytes_apart() -> None:
    window = WindowAxis(8, 3, 1, 1, 1, 1)
    layer = ConvShape("int8", window, window, 4, 4, ElementBytes(1, 1, 4, 1))
    traffic = traffic_of(layer, Tile(8, 8, 4, 4))
    assert (traffic.weights.elements, traffic.weights.bytes) == (148, 144 + 16)


def test_what_cannot_be_is_rejected() -> None:
    layer = LAYERS[9]
    with pytest.raises(TilingError, match=r"sizes must be 1 to those of .*rows=6.*got .*rows=7"):
        traffic_of(layer, Tile(7, 8, 1, 1))
    with pytest.raises(TilingError, match=r"sizes must be 1 to"):
        footprint_of(layer, Tile(0, 1, 1, 1))
    with pytest.raises(TilingError, match=r"permutation of stkz, got 'stk'"):
        traffic_of(layer, Tile(1, 1, 1, 1), "stk")
    with pytest.raises(TilingError, match=r"must not be negative"):
        DmaCosts(-1, 0, 0)
    with pytest.raises(TilingError, match=r"pads must be less than the window of 3"):
        WindowAxis(8, 3, 1, 1, 3, 0)
    with pytest.raises(TilingError, match=r"window of 9 is larger"):
        WindowAxis(8, 9)
    with pytest.raises(TilingError, match=r"must be positive"):
        WindowAxis(8, 3, 0)
    with pytest.raises(TilingError, match=r"channels must be positive"):
        ConvShape("none", WindowAxis(1), WindowAxis(1), 0, 1)
    with pytest.raises(TilingError, match=r"at least 1 byte"):
        ElementBytes(0)
