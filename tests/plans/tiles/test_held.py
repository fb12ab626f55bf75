"""Operands that are on chip anyway move nothing and take no tile buffer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.tiles.flownet_s import DMA, square
from helpers.tiles.paper_equations import footprint_of, parameter_elements
from npu_plans.tiles.bounds import compulsory_bytes, lower_bound_bytes
from npu_plans.tiles.closed_forms import traffic_of
from npu_plans.tiles.cost_model import OperandTraffic, Tile
from npu_plans.tiles.tile_search import SearchOptions, search

LAYER = square("conv", 24, 32, 8, 16, 3, 1)
TILE = Tile(6, 32, 4, 8)
NOTHING = OperandTraffic(0, 0, 0, 0)


@pytest.mark.parametrize("held", ["input", "output", "weight"])
def test_held_operands_cost_nothing_and_the_others_the_same(held: str) -> None:
    names = frozenset({"weight", "bias"} if held == "weight" else {held})
    plain, found = (traffic_of(layer, TILE) for layer in (LAYER, replace(LAYER, held=names)))
    assert found.inputs == (NOTHING if held == "input" else plain.inputs)
    assert found.weights == (NOTHING if held == "weight" else plain.weights)
    assert found.outputs_written == (NOTHING if held == "output" else plain.outputs_written)
    assert found.outputs_read == (NOTHING if held == "output" else plain.outputs_read)


def test_a_held_bias_leaves_the_kernels() -> None:
    plain, found = (
        traffic_of(layer, TILE).weights
        for layer in (LAYER, replace(LAYER, held=frozenset({"bias"})))
    )
    assert found.transfers == plain.transfers
    assert plain.elements - found.elements == plain.transfers * TILE.channels_out
    assert plain.jumps - found.jumps == plain.transfers


def test_footprint_without_the_maps_is_that_of_the_weights() -> None:
    layer = replace(LAYER, held=frozenset({"input", "output"}))
    kernels = TILE.channels_in * TILE.channels_out * 9 + TILE.channels_out
    assert footprint_of(layer, TILE) == 2 * 4 * kernels
    assert footprint_of(layer, TILE, stationary="all-single") == 4 * kernels


def test_search_with_maps_on_chip_moves_the_weights_once() -> None:
    layer = replace(LAYER, held=frozenset({"input", "output"}))
    found = search(layer, 2048, DMA)
    assert found.bytes == compulsory_bytes(layer) == 4 * parameter_elements(LAYER)
    assert lower_bound_bytes(layer, 2048) == compulsory_bytes(layer)


def test_without_split_inputs_tiles_have_all_input_channels() -> None:
    found = search(LAYER, 8192, DMA, SearchOptions(split_inputs=False))
    assert found.tile.channels_in == LAYER.channels_in
