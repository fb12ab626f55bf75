"""The meaning of bit planes, in numpy: how many planes a run of bytes has, and their bytes.

A run is up to 16 elements of a row of a map [N, C, H, W]. `dma.start` says what codes mean.
"""

from __future__ import annotations

import numpy as np

from npu_dialect.dma import RUN
from npu_dialect.interpreters.values import Array

RAW = 8
"""The code of a run whose elements move as they are; greater codes are of signed planes."""


def run_lengths(width: int) -> Array:
    """The elements of each run of a row of `width` elements."""
    return np.minimum(RUN, width - np.arange(0, width, RUN))


def widths(values: Array) -> Array:
    """The number of planes of each run of bytes: [..., W] to [..., runs], from 0 to 8."""
    found = np.bitwise_or.reduceat(values, list(range(0, values.shape[-1], RUN)), axis=-1)
    return np.frexp(found.astype(np.float64))[1]


def folded(values: Array) -> Array:
    """Signed differences without their sign in the highest bit: 0, -1, 1, -2 become 0, 1, 2, 3."""
    signed = values.view(np.int8).astype(np.int16)
    return ((signed << 1) ^ (signed >> 7)).astype(np.uint8)


def codes(array: Array, zero: int) -> Array:
    """The code of each run of a map of bytes: [N, C, H, W] to [N, C, H, runs]."""
    lengths = run_lengths(array.shape[-1])
    differences = (array.astype(np.int16) - zero).astype(np.uint8)
    plain, signed = widths(differences), widths(folded(differences))
    plane = -(-lengths // 8)
    other = np.where(signed * plane < lengths, RAW + signed, RAW)
    return np.where(plain * plane < lengths, plain, other)


def run_bytes(codes: Array, lengths: Array) -> Array:
    """The bytes of each run, by its code and its number of elements."""
    planes = np.where(codes > RAW, codes - RAW, codes)
    return np.minimum(planes * -(-lengths // 8), lengths)


def plane_bytes(array: Array, zero: int) -> int:
    """The bytes of all runs of a map of bytes, without the index."""
    return int(run_bytes(codes(array, zero), run_lengths(array.shape[-1])).sum())
