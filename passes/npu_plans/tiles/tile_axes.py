"""Tile sizes along each axis, and what depends on one axis only, as numpy arrays. No IR in here.

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
    """Tiles along the axis."""
    covered: int
    """Sum of the tiles' sizes: the axis, or more where each tile is charged as a whole one."""
    loaded: int
    """Sum of the inputs that the tiles read, halo included."""
    stored: int
    """The most inputs that one tile reads: what has to fit."""
    parts: int
    """Tiles that do not read the whole axis."""


@dataclass(frozen=True)
class TileAxis:
    """`Size` as arrays, one entry a candidate, along one of the four dimensions of the space."""

    size: Ints
    tiles: Ints
    covered: Ints
    loaded: Ints
    stored: Ints
    parts: Ints

    def at(self, picked: slice | Indices) -> TileAxis:
        """Some of the candidates of the outermost axis."""
        arrays = (self.size, self.tiles, self.covered, self.loaded, self.stored, self.parts)
        return TileAxis(*(array[picked] for array in arrays))

    @property
    def flat(self) -> TileAxis:
        """With one dimension."""
        arrays = (self.size, self.tiles, self.covered, self.loaded, self.stored, self.parts)
        return TileAxis(*(array.reshape(-1) for array in arrays))


@dataclass(frozen=True)
class Axes:
    """The four axes; those of axis i have their candidates along dimension i: they broadcast."""

    rows: TileAxis
    columns: TileAxis
    channels_in: TileAxis
    channels_out: TileAxis

    @property
    def all(self) -> tuple[TileAxis, ...]:
        """In the order of the dimensions."""
        return (self.rows, self.columns, self.channels_in, self.channels_out)

    @property
    def counts(self) -> dict[str, Ints]:
        """The trip counts of the loops."""
        return {loop: axis.tiles for loop, axis in zip(LOOPS, self.all, strict=True)}

    def pick(self, where: tuple[Indices, ...]) -> Axes:
        """Some candidates of the space, one behind the other: an index along each dimension."""
        return Axes(*(axis.flat.at(index) for axis, index in zip(self.all, where, strict=True)))


def channel_size(channels: int, size: int, conventions: Conventions) -> Size:
    """Channels are cut without overlap."""
    count = -(-channels // size)
    covered = channels if conventions.halo else count * size
    return Size(size, count, covered, covered, size, 0 if size == channels else count)


def window_size(axis: WindowAxis, size: int, conventions: Conventions) -> Size:
    """Rows or columns: with their halo, or (the paper) stride inputs for each output."""
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
    """The sizes from 1 to extent that are allowed along an axis, divided by `multiple_of`."""
    multiples = range(multiple_of, extent + 1, multiple_of)
    return [size // multiple_of for size in multiples if not divisors_only or extent % size == 0]


def undominated(sizes: Iterable[Size]) -> list[Size]:
    """The sizes that can be optimal.

    No formula falls when a field grows and the tile count stays. So of the sizes of one tile count,
    those cannot be optimal that a smaller one, which takes less memory, equals or betters in all
    fields.
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
) -> Axes:
    """The search space of a layer; without `split_inputs`, tiles have all input channels.

    Without a halo (the paper), sigma_s is a multiple of the stride, so that tiles have whole
    outputs, and divides the input; with it, tiles of outputs divide the output.
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

    spaces = [
        window(layer.rows),
        window(layer.columns),
        channel(layer.channels_in, split_inputs),
        channel(layer.channels_out, True),
    ]
    return Axes(*(stack(undominated(s) if prune else s, d) for d, s in enumerate(spaces)))


def axes_of_tile(layer: ConvShape, tile: Tile, conventions: Conventions) -> Axes:
    """The space that has one tile in it."""
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
