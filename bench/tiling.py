"""How long the tile search takes: FlowNet-S, and a small layer against a sweep in plain Python.

    python bench/tiling.py

Exit code 1 if the ten layers take more than 10 seconds, or if the plain sweep of the whole space is
not at least 50 times slower or finds another optimum.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from npu_passes.tiling.layer_shape import ConvShape, WindowAxis
from npu_passes.tiling.tile_search import SearchOptions, search, search_layers

# In place of this folder, where `tiling` would be this file.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from tiling.flownet_s import DMA, LAYERS, OCM_BYTES
from tiling.plain_sweep import sweep

SECONDS = 10
RATIO = 50

WINDOW = WindowAxis(12, 3, 1, 1, 1, 1)
SMALL = ConvShape("small", WINDOW, WINDOW, 16, 24)
SMALL_OCM_BYTES = 8 * 1024


def flownet_s() -> bool:
    """The ten layers, all freedoms, bytes and cost; whether each search is fast enough."""
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
    """One small layer in both ways; whether the optimum is the same and the ratio is reached."""
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


def main() -> int:
    """Print the times; 1 if a limit is missed."""
    results = [flownet_s(), against_plain_python()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
