"""Tile sizes along each axis, and numbers that depend on one axis only, as arrays. No IR in here.

The closed forms in `closed_forms.py` take these arrays, so one formula serves a single tile and a
whole search space.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npu_plans.tiles.cost_model import LOOPS, Conventions, Tile
from npu_plans.tiles.layer_shape import ConvShape, TilingError, WindowAxis

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]


class Size(NamedTuple):
    """A tile size along one axis, in outputs (rows, columns) or channels."""

    size: int
    tiles: int
    """How many tiles there are along the axis."""
    covered: int
    """Sum of the sizes of the tiles; more than the axis if each tile counts as a whole one."""
    loaded: int
    """Sum of the inputs that the tiles read, halo included."""
    stored: int
    """The most inputs that one tile reads; they must fit on chip."""
    parts: int
    """How many tiles do not read the whole axis."""


@dataclass(frozen=True)
class TileAxis:
    """Fields of `Size` as arrays along one of the four dimensions, with one entry per candidate."""

    size: Ints
    tiles: Ints
    covered: Ints
    loaded: Ints
    stored: Ints
    parts: Ints

    def at(self, picked: slice | Indices) -> TileAxis:
        """Some of the candidates, by their index along the first dimension."""
        arrays = (self.size, self.tiles, self.covered, self.loaded, self.stored, self.parts)
        return TileAxis(*(array[picked] for array in arrays))

    @property
    def flat(self) -> TileAxis:
        """The same candidates as arrays of one dimension."""
        arrays = (self.size, self.tiles, self.covered, self.loaded, self.stored, self.parts)
        return TileAxis(*(array.reshape(-1) for array in arrays))


@dataclass(frozen=True)
class Axes:
    """The four axes; the candidates of axis i lie along dimension i, so the arrays broadcast."""

    rows: TileAxis
    columns: TileAxis
    channels_in: TileAxis
    channels_out: TileAxis

    @property
    def all(self) -> tuple[TileAxis, ...]:
        """The axes in the order of the dimensions."""
        return (self.rows, self.columns, self.channels_in, self.channels_out)

    @property
    def counts(self) -> dict[str, Ints]:
        """For each tile loop its trip counts."""
        return {loop: axis.tiles for loop, axis in zip(LOOPS, self.all, strict=True)}

    def pick(self, where: tuple[Indices, ...]) -> Axes:
        """Some candidates of the space, as arrays of one dimension.

        `where` gives their indices along each of the four dimensions.
        """
        return Axes(*(axis.flat.at(index) for axis, index in zip(self.all, where, strict=True)))


def channel_size(channels: int, size: int, conventions: Conventions) -> Size:
    """The `Size` of channels, which are cut without overlap."""
    count = -(-channels // size)
    covered = channels if conventions.halo else count * size
    return Size(size, count, covered, covered, size, 0 if size == channels else count)


def window_size(axis: WindowAxis, size: int, conventions: Conventions) -> Size:
    """The `Size` of rows or columns, for tiles of `size` outputs.

    Without a halo (the paper), each output reads `stride` inputs.
    """
    if not conventions.halo:
        inputs = size * axis.stride
        count = -(-axis.extent // inputs)
        return Size(size, count, count * size, count * inputs, inputs, 0 if count == 1 else count)
    outputs = axis.outputs
    firsts = range(0, outputs, size)
    reads = [len(axis.reads(first, min(outputs, first + size))) for first in firsts]
    parts = sum(read < axis.extent for read in reads)
    return Size(size, len(reads), outputs, sum(reads), max(reads), parts)


def candidates(extent: int, divisors_only: bool, multiple_of: int = 1) -> list[int]:
    """The tile sizes up to `extent` that are multiples of `multiple_of`, divided by it.

    With `divisors_only`, only sizes that divide the extent.
    """
    multiples = range(multiple_of, extent + 1, multiple_of)
    return [size // multiple_of for size in multiples if not divisors_only or extent % size == 0]


def undominated(sizes: Iterable[Size]) -> list[Size]:
    """The sizes that can be optimal.

    At a fixed tile count, no cost falls when a field of `Size` grows. So of the sizes with the same
    tile count, one is dropped if a smaller one is at least as good in every field.
    """
    kept: dict[int, list[Size]] = {}
    for new in sorted(sizes):
        same_count = kept.setdefault(new.tiles, [])
        if not any(all(o <= n for o, n in zip(old, new, strict=True)) for old in same_count):
            same_count.append(new)
    return sorted(size for sizes in kept.values() for size in sizes)


def stack(sizes: list[Size], dimension: int) -> TileAxis:
    """The candidates as arrays along one of the four dimensions."""
    shape = tuple(-1 if d == dimension else 1 for d in range(len(LOOPS)))
    table: Ints = np.array(sizes, dtype=np.int64)
    return TileAxis(*(table[:, field].reshape(shape) for field in range(len(Size._fields))))


def axes_of(
    layer: ConvShape,
    conventions: Conventions,
    divisors_only: bool,
    prune: bool,
    split_inputs: bool = True,
    split_rows: bool = True,
) -> Axes:
    """The search space of a layer.

    `prune`: whether to drop sizes that cannot be optimal. Without `split_inputs`, tiles have all
    input channels; without `split_rows`, all columns. Without a halo (the paper), sigma_s and
    sigma_t are multiples of the stride, so that tiles have whole outputs. With `divisors_only`,
    sizes divide the inputs then; with a halo, they divide the outputs.

    Raises: TilingError if no size is allowed along an axis.
    """

    def window(axis: WindowAxis) -> list[Size]:
        if conventions.halo:
            sizes = candidates(axis.outputs, divisors_only)
        else:
            sizes = candidates(axis.extent, divisors_only, axis.stride)
        if not sizes:
            what = f"no divisor of {axis.extent} is a multiple of the stride {axis.stride}"
            raise TilingError(f"{layer.name}: {what}, so the paper's model has no tile")
        return [window_size(axis, size, conventions) for size in sizes]

    def channel(channels: int, split: bool) -> list[Size]:
        sizes = candidates(channels, divisors_only) if split else [channels]
        return [channel_size(channels, size, conventions) for size in sizes]

    columns = window(layer.columns)
    spaces = [
        window(layer.rows),
        columns if split_rows else columns[-1:],
        channel(layer.channels_in, split_inputs),
        channel(layer.channels_out, True),
    ]
    return Axes(*(stack(undominated(s) if prune else s, d) for d, s in enumerate(spaces)))


def axes_of_tile(layer: ConvShape, tile: Tile, conventions: Conventions) -> Axes:
    """The space with a single tile.

    Raises: TilingError if a size is less than 1 or larger than the layer.
    """
    rows, columns = layer.rows, layer.columns
    if conventions.halo:
        most = Tile(rows.outputs, columns.outputs, layer.channels_in, layer.channels_out)
    else:
        s, t = -(-rows.extent // rows.stride), -(-columns.extent // columns.stride)
        most = Tile(s, t, layer.channels_in, layer.channels_out)
    if any(
        not 1 <= size <= limit for size, limit in zip(astuple(tile), astuple(most), strict=True)
    ):
        raise TilingError(f"{layer.name}: sizes must be 1 to those of {most}, got {tile}")
    sizes = [
        window_size(layer.rows, tile.rows, conventions),
        window_size(layer.columns, tile.columns, conventions),
        channel_size(layer.channels_in, tile.channels_in, conventions),
        channel_size(layer.channels_out, tile.channels_out, conventions),
    ]
    return Axes(*(stack([size], d) for d, size in enumerate(sizes)))
