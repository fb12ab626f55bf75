"""Transposed convolution in numpy: the kernel times each input is added to the output."""

from __future__ import annotations

import numpy as np

from npu_dialect.interpreters.values import Array
from npu_dialect.npu.layers.transposed import TransposedAxis


def scattered(
    image: Array, weight: Array, axes: tuple[TransposedAxis, TransposedAxis], groups: int
) -> Array:
    """The sums [N, O, OH, OW] of a map [N, C, H, W] and weights [O, C / groups, KH, KW]."""
    batch, channels, *extents = image.shape
    filters, depth, *kernel = weight.shape
    maps = image.reshape(batch, groups, channels // groups, -1)
    weights = weight.reshape(groups, filters // groups, depth, *kernel)
    whole = [axis.outputs + axis.before + axis.after for axis in axes]
    sums = np.zeros((batch, filters, *whole), image.dtype)
    for taps in np.ndindex(*kernel):
        found = np.matmul(weights[..., taps[0], taps[1]], maps)
        rows, columns = (
            tap * axis.dilation + axis.stride * np.arange(axis.size)
            for tap, axis in zip(taps, axes, strict=True)
        )
        sums[:, :, rows[:, None], columns] += found.reshape(batch, filters, *extents)
    return cut(sums, axes)


def cut(sums: Array, axes: tuple[TransposedAxis, TransposedAxis]) -> Array:
    """The sums without what the pads take away, and with zeros where pads are negative."""
    around = [(max(0, -axis.before), max(0, -axis.after)) for axis in axes]
    longer = np.pad(sums, [(0, 0), (0, 0), *around])
    rows, columns = (
        slice(max(0, axis.before), max(0, axis.before) + axis.outputs) for axis in axes
    )
    return longer[:, :, rows, columns]
