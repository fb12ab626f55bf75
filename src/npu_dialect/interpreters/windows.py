"""Sliding windows over numpy maps [N, C, H, W]: padding, taps, and divisors of averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from npu_dialect.interpreters.values import Array
from npu_dialect.windows import Axis


def averaged_taps(axis: Axis, include_pad: bool) -> Array:
    """For each window position of one axis the number of taps by which an average divides."""
    counts: list[int] = []
    for position in range(axis.outputs):
        low, high = axis.taps(position)
        counts.append(axis.counted(position) if include_pad else high - low)
    return np.array(counts)


def pad(image: Array, axes: tuple[Axis, Axis], value: Any) -> Array:
    """The map with its padding, long enough for a last, partial window of ceil mode."""
    widths = [(0, 0), (0, 0)]
    for axis in axes:
        end = axis.start(axis.outputs - 1) + axis.reach
        widths.append((axis.before, max(axis.after, end - axis.size)))
    return np.pad(image, widths, constant_values=value) if np.any(widths) else image


def tap(padded: Array, axes: tuple[Axis, Axis], row: int, column: int) -> Array:
    """The element at one tap of the kernel for each window, [N, C, OH, OW], as a view."""
    slices = [slice(None), slice(None)]
    for axis, index in zip(axes, (row, column), strict=True):
        first = index * axis.dilation
        slices.append(slice(first, first + (axis.outputs - 1) * axis.stride + 1, axis.stride))
    return padded[tuple(slices)]
