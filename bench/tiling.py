"""The off-chip traffic of FlowNet-S with tiles in 256 KB, and the time of the search for tiles.

    python bench/tiling.py [times] [paper] [freedoms] [layers]

- `times`: the time of the search for all ten layers, and for a small one in comparison with a sweep
  in plain Python.
- `paper`: the cost model as printed in paper 004, layer by layer, beside the paper's table of
  memory usage; and the traffic of tiles that fill the memory, which the paper calls naive.
- `freedoms`: the traffic that each further freedom of the search saves.
- `layers`: the bytes of each layer: compulsory, by the paper's loop order, by the search, and
  counted in the IR. The IR is once each layer alone with all maps off chip, once the network.

Without arguments, all sections run. The exit code is 1 if a search takes more than 10 seconds, if
the plain sweep is not 50 times slower or finds another optimum, if the median naive tiling does not
move 5 times as much as the best one, or if the IR moves more than the search predicts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.pipelines import OFF_CHIP, PIPELINES
from npu_plans.tiles.layer_shape import ConvShape, WindowAxis
from npu_plans.tiles.tile_search import AS_PAPER, SearchOptions, search, search_layers
from npu_tools.importers.frontends import load
from npu_tools.reports.off_chip import TransferTotal, off_chip

# The folder of the tests replaces this one, whose modules could hide others of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.networks.zoo import build
from helpers.tiles.chain import PLACES, chain, function_of, predicted, through
from helpers.tiles.flownet_s import (
    DMA,
    FREEDOMS,
    LAYERS,
    OCM_BYTES,
    USAGE,
    bytes_with_stored_halo,
    usage_with_stored_halo,
)
from helpers.tiles.plain_sweep import sweep

SECONDS, RATIO, NAIVE = 10, 50, 5
"""Limits: seconds of a search, its speed over plain Python, traffic of naive over best tiles."""

WINDOW = WindowAxis(12, 3, 1, 1, 1, 1)
SMALL = ConvShape("small", WINDOW, WINDOW, 16, 24)
SMALL_OCM_BYTES = 8 * 1024

STEPS = (
    "the paper's loop order and divisors",
    "no read of outputs on the first pass",
    "only what changed is reloaded",
    "any loop order",
    "sizes that do not divide",
    "one buffer for the stationary operand",
)
"""The freedom that each of FREEDOMS adds to the one before."""


def flownet_s() -> bool:
    """Time the search for all ten layers, for least bytes and for least cost.

    Returns whether each search is fast enough.
    """
    fast = True
    for options in (SearchOptions(), SearchOptions(minimize="cost")):
        start = time.perf_counter()
        found = search_layers(LAYERS, OCM_BYTES, DMA, options, jobs=2)
        seconds = time.perf_counter() - start
        moved = sum(tiling.bytes for tiling in found) / 1e6
        cost = sum(tiling.cost for tiling in found) / 1e6
        what = f"FlowNet-S, least {options.minimize}"
        print(f"{what:28} {seconds:7.2f} s  {moved:.2f} MB  cost {cost:.2f} million t")
        fast = fast and seconds < SECONDS
    return fast


def against_plain_python() -> bool:
    """Search one small layer with the search and with plain Python.

    Returns whether both find the same optimum and the search is fast enough.
    """
    start = time.perf_counter()
    tiling = search(SMALL, SMALL_OCM_BYTES, DMA)
    vectorised = time.perf_counter() - start
    start = time.perf_counter()
    best = sweep(
        SMALL,
        SMALL_OCM_BYTES,
        DMA,
        divisors_only=False,
        any_order=True,
        single=True,
        minimize_bytes=True,
    )
    plain = time.perf_counter() - start
    same = best is not None and (best.key[:3], best.tile) == (
        (tiling.bytes, tiling.cost, tiling.footprint),
        tiling.tile,
    )
    print(f"{'small layer, vectorised':28} {vectorised:7.4f} s  {tiling.candidates} candidates")
    whole = best.candidates if best is not None else 0
    print(f"{'small layer, plain Python':28} {plain:7.2f} s  {whole} candidates")
    verdict = "the same optimum" if same else "another optimum"
    print(f"{'ratio':28} {plain / vectorised:7.0f}    {verdict}")
    return same and plain / vectorised >= RATIO


def times() -> bool:
    """The section `times`; returns whether its limits are met."""
    results = [flownet_s(), against_plain_python()]
    return all(results)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in Markdown; all columns but the first are flush right."""
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def megabytes(*sizes: float) -> list[str]:
    """Sizes in bytes as MB of 10^6 bytes."""
    return [f"{size / 1e6:.2f}" for size in sizes]


def paper() -> bool:
    """The section `paper`; returns whether naive tiles move at least `NAIVE` times the best."""
    rows: list[list[str]] = []
    for found, usage in zip(search_layers(LAYERS, OCM_BYTES, DMA, AS_PAPER), USAGE, strict=True):
        tile, layer = found.tile, found.layer
        sizes = (tile.rows, tile.columns, tile.channels_in, tile.channels_out)
        used = round(100 * found.footprint / OCM_BYTES)
        rows.append(
            [
                layer.name,
                " ".join(map(str, sizes)),
                *megabytes(found.cost, found.bytes),
                *map(str, (used, usage, usage_with_stored_halo(layer))),
            ]
        )
    head = ("layer", "tile: rows columns in out", "million t", "MB", "OCM %", "paper", "halo")
    table(head, rows)
    sizes = [bytes_with_stored_halo(layer) for layer in LAYERS]
    least = sum(best for best, _ in sizes)
    pick: Mapping[str, Callable[[list[int]], float]]
    pick = {"best": min, "median": lambda all: float(np.median(all)), "worst": max}
    sums = {name: sum(choose(naive) for _, naive in sizes) for name, choose in pick.items()}
    print(f"\nbest tiles: {least / 1e6:.1f} MB; of those that fill 80 % of the OCM or more:")
    for name, size in sums.items():
        print(f"  {name:6} {size / 1e6:8.1f} MB, {size / least:.2f} times as much")
    return sums["median"] >= NAIVE * least


def freedoms() -> bool:
    """The section `freedoms`: least bytes and least cost for each; returns True.

    The cost is once that of transfers by rows, and in parentheses that with merged runs.
    """
    rows: list[list[str]] = []
    for what, options in zip(STEPS, FREEDOMS, strict=True):
        cost = replace(options, minimize="cost")
        merged = replace(cost, physical=replace(cost.physical, merge_runs=True))
        all_found = [search_layers(LAYERS, OCM_BYTES, DMA, o, jobs=2) for o in (cost, merged)]
        by_rows, runs = (sum(tiling.cost for tiling in found) for found in all_found)
        least = sum(each.bytes for each in search_layers(LAYERS, OCM_BYTES, DMA, options, jobs=2))
        cells = megabytes(least, by_rows, runs)
        rows.append([what, cells[0], f"{cells[1]} ({cells[2]})"])
    table(("", "least MB", "least cost"), rows)
    return True


def moved_in_network() -> Mapping[str, TransferTotal]:
    """The bytes and transfers of each layer in the whole network, as npu-compile compiles it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flownet_s.onnx"
        path.write_bytes(build("flownet_s").SerializeToString())
        module = load(path, {}).module
    TARGET.set(module, TargetAttr.of(Machine.load("zynq7020")))
    passes, _, _ = PIPELINES[OFF_CHIP].text.partition(",npu-outline-layers")
    through(module, passes)
    found = off_chip(function_of(module))
    assert found is not None
    return found.layers


def layers() -> bool:
    """The section `layers`; returns whether the IR moves no more than the search predicts."""
    alone = off_chip(
        function_of(chain(LAYERS, Machine.load("zynq7020"), f"npu-tile-loops,{PLACES}"))
    )
    assert alone is not None
    inside = moved_in_network()
    order, ours = (search_layers(LAYERS, OCM_BYTES, DMA, FREEDOMS[line]) for line in (0, -1))
    sizes = [
        (
            best.compulsory_bytes,
            best.lower_bound_bytes,
            first.bytes,
            best.bytes,
            alone.layers[best.layer.name].bytes,
            inside[best.layer.name].bytes,
        )
        for first, best in zip(order, ours, strict=True)
    ]
    names = [layer.name for layer in LAYERS]
    sums = [sum(column) for column in zip(*sizes, strict=True)]
    rows = [[name, *megabytes(*line)] for name, line in zip(names, sizes, strict=True)]
    head = (
        "layer, MB",
        "compulsory",
        "bound",
        "paper's order",
        "search",
        "in the IR",
        "in the network",
    )
    table(head, [*rows, ["total", *megabytes(*sums)]])
    compulsory, _, printed, searched, in_ir, network = sums
    for what, size in (("in the IR", in_ir), ("in the network", network)):
        above, share = (size - compulsory) / 1e6, 100 * size / printed
        print(f"{what}: {above:.2f} MB above the compulsory, {share:.1f} % of the paper's order")
    single = chain(LAYERS, Machine.load("zynq7020"), "npu-tile-loops{double-buffer=false}")
    least = sum(moved.bytes for moved in predicted(single).values())
    print(f"in the IR, without double buffers: {least / 1e6:.2f} MB")
    return max(in_ir, network) <= searched


SECTIONS = {"times": times, "paper": paper, "freedoms": freedoms, "layers": layers}


def main() -> int:
    """Print the sections on the command line, or all; returns the exit code."""
    parser = argparse.ArgumentParser("tiling.py", description="Tiles of FlowNet-S in 256 KB.")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    names = parser.parse_args().sections or list(SECTIONS)
    if unknown := [name for name in names if name not in SECTIONS]:
        parser.error(f"unknown section {unknown[0]}: expected {', '.join(SECTIONS)}")
    good = True
    for index, name in enumerate(names):
        print("\n" * (index > 0) + f"== {name}", flush=True)
        good = SECTIONS[name]() and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
