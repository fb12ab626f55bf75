"""The best tile of a layer by exhaustive search, exact and vectorised. No IR in here.

The space is the product of all sizes along the four axes and of the loop orders. `undominated`
drops sizes that cannot be optimal; all others are evaluated. Ties are broken by the other
objective, then by on-chip bytes, loop order and sizes, so the result is unique.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Literal

import numpy as np

from npu_plans.tiles.bounds import compulsory_bytes, lower_bound_bytes
from npu_plans.tiles.closed_forms import (
    PHYSICAL,
    Stationary,
    bytes_arrays,
    footprint_arrays,
    traffic_arrays,
    traffic_of,
)
from npu_plans.tiles.cost_model import LOOPS, PAPER, Conventions, DmaCosts, Tile, TileTraffic
from npu_plans.tiles.layer_shape import ConvShape, TilingError
from npu_plans.tiles.tile_axes import Axes, Ints, axes_of

CHUNK = 1 << 18
"""Candidates evaluated in one numpy call: few enough for the cache, enough to hide call costs."""


@dataclass(frozen=True)
class SearchOptions:
    """The space, the model and the objective of a search. The defaults minimise bytes moved."""

    model: Literal["paper", "physical"] = "physical"
    """Equations (1) to (6) as printed, or what a DMA engine has to move."""
    divisors_only: bool = False
    """Tile sizes must divide the map, as in the paper."""
    loop_order: Literal["paper", "any"] = "any"
    """The order of listing 1.1 only, or all 24 orders."""
    stationary: Stationary = "single"
    """One buffer for the operand that the innermost loop keeps; the paper has two for all."""
    minimize: Literal["cost", "bytes"] = "bytes"
    """The objective: T of equation (1), or bytes moved."""
    physical: Conventions = PHYSICAL
    """The conventions of the physical model."""
    split_inputs: bool = True
    """Whether a tile may have only some of the input channels."""
    split_rows: bool = True
    """Whether a tile may have only some of the columns."""

    @property
    def conventions(self) -> Conventions:
        """The conventions of the model."""
        return PAPER if self.model == "paper" else self.physical

    @property
    def orders(self) -> tuple[str, ...]:
        """The loop orders, the paper's first."""
        if self.loop_order == "paper":
            return (LOOPS,)
        return tuple("".join(order) for order in permutations(LOOPS))


AS_PAPER = SearchOptions("paper", True, "paper", "double-buffered", "cost")
"""The search of section 4.3 of paper 004."""


@dataclass(frozen=True)
class Tiling:
    """The best tile of a layer, its traffic and on-chip bytes, and lower bounds on the traffic."""

    layer: ConvShape
    tile: Tile
    order: str
    """The tile loops, outermost first: a permutation of `LOOPS`."""
    traffic: TileTraffic
    cost: float
    footprint: int
    """Bytes on chip of all tile buffers."""
    compulsory_bytes: int
    lower_bound_bytes: int
    candidates: int
    """How many tilings were evaluated."""

    @property
    def bytes(self) -> int:
        """Bytes moved."""
        return self.traffic.total.bytes


Key = tuple[float, float, int, int, int, int, int, int]
"""Objective, other objective, footprint, index of the order, sizes: the smallest is the best."""


def chunks(axes: Axes) -> Iterator[Axes]:
    """The space in slices of about `CHUNK` candidates, along the row sizes."""
    inner = axes.columns.size.size * axes.channels_in.size.size * axes.channels_out.size.size
    step = max(1, CHUNK // inner)
    for first in range(0, axes.rows.size.size, step):
        rows = axes.rows.at(slice(first, first + step))
        yield Axes(rows, axes.columns, axes.channels_in, axes.channels_out)


def best_of(
    layer: ConvShape, axes: Axes, index: int, ocm_bytes: int, dma: DmaCosts, options: SearchOptions
) -> Key | None:
    """The best candidate under one loop order, or None if none fits into `ocm_bytes`.

    `index` is the position of the loop order in `options.orders`.
    """
    order = options.orders[index]
    footprint = footprint_arrays(layer, axes, order, options.stationary)
    fits = footprint <= ocm_bytes
    if not fits.any():
        return None
    if options.minimize == "bytes":
        objective = bytes_arrays(layer, axes, order, options.conventions)
    else:
        objective = traffic_arrays(layer, axes, order, options.conventions).cost(dma)
    objective = np.broadcast_to(objective, fits.shape)
    where = np.nonzero(fits & (objective == objective[fits].min()))
    best = axes.pick(where)
    traffic = traffic_arrays(layer, best, order, options.conventions)
    other = traffic.cost(dma) if options.minimize == "bytes" else traffic.bytes()
    other = np.broadcast_to(other.reshape(-1), where[0].shape)
    tie = int(np.lexsort((footprint[where], other))[0])
    at = tuple(int(axis[tie]) for axis in where)
    row, column, k, z = (int(axis.size[tie]) for axis in best.all)
    return objective[at].item(), other[tie].item(), int(footprint[at]), index, row, column, k, z


def search(
    layer: ConvShape, ocm_bytes: int, dma: DmaCosts, options: SearchOptions = SearchOptions()
) -> Tiling:
    """The best tiling of a layer for `ocm_bytes` of on-chip memory.

    Raises: TilingError if no tile fits.
    """
    splits = (options.split_inputs, options.split_rows)
    axes = axes_of(layer, options.conventions, options.divisors_only, True, *splits)
    tried = [
        best_of(layer, chunk, index, ocm_bytes, dma, options)
        for chunk in chunks(axes)
        for index in range(len(options.orders))
    ]
    found = [key for key in tried if key is not None]
    if not found:
        need = smallest_footprint(layer, axes, options)
        what = f"the smallest tile needs {need} bytes on chip, there are {ocm_bytes}"
        raise TilingError(f"{layer.name}: {what}")
    _, _, footprint, index, *sizes = min(found)
    tile, order = Tile(*sizes), options.orders[index]
    traffic = traffic_of(layer, tile, order, options.conventions)
    return Tiling(
        layer=layer,
        tile=tile,
        order=order,
        traffic=traffic,
        cost=traffic.cost(dma),
        footprint=footprint,
        compulsory_bytes=compulsory_bytes(layer),
        lower_bound_bytes=lower_bound_bytes(layer, ocm_bytes),
        candidates=size_of(axes) * len(options.orders),
    )


def smallest_footprint(layer: ConvShape, axes: Axes, options: SearchOptions) -> int:
    """The fewest bytes on chip that any candidate takes."""
    footprints: list[Ints] = [
        footprint_arrays(layer, chunk, order, options.stationary)
        for chunk in chunks(axes)
        for order in options.orders
    ]
    return min(int(footprint.min()) for footprint in footprints)


def size_of(axes: Axes) -> int:
    """The number of tiles in a space."""
    inner = axes.columns.size.size * axes.channels_in.size.size * axes.channels_out.size.size
    return axes.rows.size.size * inner


def search_layers(
    layers: Sequence[ConvShape],
    ocm_bytes: int,
    dma: DmaCosts,
    options: SearchOptions = SearchOptions(),
    jobs: int = 1,
    progress: Callable[[Tiling], None] | None = None,
) -> list[Tiling]:
    """The best tilings of some layers, in their order.

    `jobs` threads search in parallel. `progress` is called with each tiling, in the same order.

    Raises: TilingError if no tile of some layer fits.
    """
    results: list[Tiling] = []
    one = partial(search, ocm_bytes=ocm_bytes, dma=dma, options=options)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for tiling in pool.map(one, layers):
            results.append(tiling)
            if progress is not None:
                progress(tiling)
    return results
