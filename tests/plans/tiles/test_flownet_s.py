"""The ten layers of FlowNet-S in 256 KB: sizes, bytes and costs as recomputed from paper 004."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.tiles.flownet_s import (
    BY_ROWS,
    DMA,
    FREEDOMS,
    LAYERS,
    OCM_BYTES,
    USAGE,
    bytes_with_stored_halo,
    usage_with_stored_halo,
)
from helpers.tiles.paper_equations import footprint_of, parameter_elements
from helpers.tiles.tables import column
from helpers.tiles.tables import megabytes as page_megabytes
from npu_plans.tiles.cost_model import PAPER
from npu_plans.tiles.tile_search import AS_PAPER, SearchOptions, Tiling, search_layers

MEGABYTES = (445.56, 416.06, 405.52, 331.11, 322.51, 261.53)
COSTS = (265.95, 249.99, 241.80, 178.33, 162.86, 122.46)
"""The least cost with each freedom, in millions of t."""

PER_LAYER = {
    "conv1": (34.16, 18.91, 17.38),
    "conv2": (90.86, 46.05, 19.69),
    "conv3": (83.56, 40.83, 12.72),
    "conv3_1": (47.66, 26.00, 8.65),
    "conv4": (47.37, 24.31, 9.44),
    "conv4_1": (45.74, 22.54, 12.58),
    "conv5": (23.63, 13.50, 11.41),
    "conv5_1": (12.98, 10.97, 10.23),
    "conv6": (20.86, 19.87, 19.47),
    "conv6_1": (38.74, 38.54, 38.15),
}
"""Megabytes of each layer: the paper's optimum, with every freedom, compulsory."""


def tilings(options: SearchOptions, minimize: str = "bytes") -> list[Tiling]:
    least = "bytes" if minimize == "bytes" else "cost"
    chosen = SearchOptions(
        options.model,
        options.divisors_only,
        options.loop_order,
        options.stationary,
        least,
        options.physical,
    )
    return search_layers(LAYERS, OCM_BYTES, DMA, chosen, jobs=2)


def megabytes(found: list[Tiling]) -> list[float]:
    return [round(tiling.bytes / 1e6, 2) for tiling in found]


def test_sizes() -> None:
    assert sum(map(parameter_elements, LAYERS)) == 24_050_752
    maps = LAYERS[0].input_elements + sum(layer.output_elements for layer in LAYERS)
    assert round(maps * 4 / 1e6, 2) == 34.21


@pytest.mark.parametrize("line", range(len(FREEDOMS)))
def test_least_bytes_of_each_freedom(line: int) -> None:
    found = tilings(FREEDOMS[line])
    assert round(sum(tiling.bytes for tiling in found) / 1e6, 2) == MEGABYTES[line]
    assert all(tiling.footprint <= OCM_BYTES for tiling in found)
    assert all(t.compulsory_bytes <= t.lower_bound_bytes <= t.bytes for t in found)
    column = {0: 0, len(FREEDOMS) - 1: 1}.get(line)
    if column is not None:
        assert megabytes(found) == [values[column] for values in PER_LAYER.values()]


@pytest.mark.parametrize("line", range(len(FREEDOMS)))
def test_least_cost_of_each_freedom(line: int) -> None:
    found = tilings(FREEDOMS[line], "cost")
    assert round(sum(tiling.cost for tiling in found) / 1e6, 2) == COSTS[line]


def test_merged_runs_cost_less_and_move_the_same() -> None:
    options = SearchOptions("physical", True)
    assert sum(t.cost for t in tilings(options, "cost")) < sum(
        t.cost for t in tilings(SearchOptions("physical", True, physical=BY_ROWS), "cost")
    )
    by_rows = SearchOptions("physical", True, physical=BY_ROWS)
    assert megabytes(tilings(options)) == megabytes(tilings(by_rows))


def test_compulsory_bytes() -> None:
    found = tilings(AS_PAPER)
    assert round(sum(t.compulsory_bytes for t in found) / 1e6, 2) == 159.71
    each = [round(t.compulsory_bytes / 1e6, 2) for t in found]
    assert each == [values[2] for values in PER_LAYER.values()]
    assert round(sum(t.lower_bound_bytes for t in found) / 1e6, 2) == 168.75


def test_usage_of_the_printed_model_is_not_the_papers_row() -> None:
    """Without a halo, as printed, larger tiles fit than the paper's table shows."""
    found = tilings(AS_PAPER, "cost")
    used = [round(100 * tiling.footprint / OCM_BYTES) for tiling in found]
    assert used == [94, 95, 95, 91, 91, 91, 98, 75, 99, 95]
    assert sum(abs(u - paper) <= 1 for u, paper in zip(used, USAGE, strict=True)) == 0


def test_tiles_of_the_printed_model_overflow_with_their_halo() -> None:
    """Six of the ten tiles of least bytes do not fit once their inputs are stored with the halo."""
    assert AS_PAPER.conventions == PAPER
    stored = [footprint_of(found.layer, found.tile) for found in tilings(AS_PAPER)]
    assert sum(footprint > OCM_BYTES for footprint in stored) == 6


def test_usage_with_a_stored_halo_is_the_papers_in_six_layers() -> None:
    used = [usage_with_stored_halo(layer) for layer in LAYERS]
    assert used == [88, 98, 98, 98, 97, 86, 76, 86, 90, 89]
    assert sum(u == paper for u, paper in zip(used, USAGE, strict=True)) == 6


def test_naive_tilings_move_five_times_as_much() -> None:
    """The best, median and worst tiles that fill the on-chip memory, as the paper's naive ones."""
    found = [bytes_with_stored_halo(layer) for layer in LAYERS]
    best, median, worst = (
        sum(float(pick([*naive])) for _, naive in found) / 1e6 for pick in (min, np.median, max)
    )
    assert (round(best, 1), round(median, 1), round(worst)) == (457.8, 2286.4, 30594)
    assert round(median / (sum(least for least, _ in found) / 1e6), 2) == 5.03
    physical = sum(tiling.bytes for tiling in tilings(FREEDOMS[0])) / 1e6
    assert round(median / physical, 2) == 5.13


def test_the_tables_of_the_page_are_these() -> None:
    """The columns of docs/tiling.md that come from the search are right."""
    for index, name in enumerate(("paper's order", "search", "compulsory")):
        assert page_megabytes(name) == [values[index] for values in PER_LAYER.values()]
    assert tuple(map(float, column("least MB").values())) == MEGABYTES
    costs = (cell.split()[0] for cell in column("least cost").values())
    assert tuple(map(float, costs)) == COSTS
    assert tuple(map(int, column("paper").values())) == USAGE
    found = tilings(AS_PAPER, "cost")
    used = [f"{100 * tiling.footprint / OCM_BYTES:.0f}" for tiling in found]
    assert list(column("OCM %").values()) == used
    halo = [usage_with_stored_halo(layer) for layer in LAYERS]
    assert list(map(int, column("halo").values())) == halo
    assert page_megabytes("million t") == [round(tiling.cost / 1e6, 2) for tiling in found]
    assert page_megabytes("MB") == megabytes(found)
