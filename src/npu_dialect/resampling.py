"""Which elements of an axis a resampled element is made of, and with which weights: no IR in here.

Output element i lies at position `scale * i + offset` of the input. It is the sum of the elements
around, weighted by a filter: a triangle that reaches one element far (linear), or a cubic that
reaches two. With a `width` above 1 the filter is so much wider, as for a smaller map without
aliasing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Axis:
    """How an axis is resampled to `size` elements; positions and `width` are in input elements."""

    size: int
    scale: float
    offset: float
    width: float = 1.0

    @property
    def positions(self) -> Numbers:
        """The position of each output element in the input."""
        return self.scale * np.arange(self.size) + self.offset


@dataclass(frozen=True)
class Filter:
    """The filter of all axes.

    `cubic`: the coefficient of a cubic filter; None for a linear one. `exclude_outside`: taps
    outside of the map do not count; else they are the element at the edge. `has_outside`: elements
    at positions outside of the map have no taps at all.
    """

    cubic: float | None = None
    exclude_outside: bool = False
    has_outside: bool = False

    @property
    def reach(self) -> int:
        """How far the filter reaches, in elements."""
        return 1 if self.cubic is None else 2

    def weights(self, distances: Numbers) -> Numbers:
        """The weights of elements at these distances."""
        x = np.abs(distances)
        if self.cubic is None:
            return np.maximum(1 - x, 0)
        a = self.cubic
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0))


@dataclass(frozen=True)
class Taps:
    """The taps of each output element of an axis, which are neighbours in the input.

    `first`: the index of the first one; -1 if the element lies outside of the map. `weights`: a row
    for each output element; all rows have the same length.
    """

    first: NDArray[np.int32]
    weights: NDArray[np.float32]

    @property
    def count(self) -> int:
        """How many taps each element has."""
        return self.weights.shape[1]


def taps_of(axis: Axis, extent: int, filter: Filter) -> Taps:
    """The taps of an axis whose input has `extent` elements."""
    at = axis.positions
    outside = filter.has_outside & ((at < 0) | (at > extent - 1))
    reach = filter.reach * axis.width
    at = at.clip(-reach, extent - 1 + reach)  # beyond, all taps are outside in any case
    start = np.ceil(at - reach).astype(np.int64)
    places = start[:, None] + np.arange(int(2 * np.ceil(reach)) + 1)
    weights = filter.weights((places - at[:, None]) / axis.width)
    if axis.width > 1:
        weights /= weights.sum(axis=1, keepdims=True)
    if filter.exclude_outside:
        weights = np.where((places < 0) | (places >= extent), 0, weights)
        total = weights.sum(axis=1, keepdims=True)
        weights /= np.where(total == 0, 1, total)
    return packed(places.clip(0, extent - 1), weights, outside, extent)


def packed(
    places: NDArray[np.int64], weights: Numbers, outside: NDArray[np.bool_], extent: int
) -> Taps:
    """Taps at `places`, in which one may be several times, as rows of neighbours."""
    used = weights != 0
    low = np.where(used, places, extent).min(axis=1).clip(0, extent - 1)
    high = np.where(used, places, 0).max(axis=1)
    count = int((high - low).max(initial=0)) + 1
    first = np.minimum(low, extent - count)
    rows = np.zeros((len(places), count), np.float64)
    row = np.broadcast_to(np.arange(len(places))[:, None], places.shape)
    np.add.at(rows, (row[used], (places - first[:, None])[used]), weights[used])
    return Taps(np.where(outside, -1, first).astype(np.int32), rows.astype(np.float32))
