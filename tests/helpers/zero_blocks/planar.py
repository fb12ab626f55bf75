"""Bit planes of runs, one element at a time: an independent account of what `dma.start` says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
RUN = 16
RAW = 8


def code_of(values: Sequence[int], zero: int) -> tuple[int, int]:
    """The code of a run, and the bytes that it moves."""
    size, plane = len(values), (len(values) + 7) // 8
    plain = [(value - zero) % 256 for value in values]
    signed = [2 * d if d < 128 else 2 * (256 - d) - 1 for d in plain]
    for first, numbers in ((0, plain), (RAW, signed)):
        planes = max(number.bit_length() for number in numbers)
        if planes * plane < size:
            return first + planes, planes * plane
    return RAW, size


def planar_bytes(array: Array, zero: int, box: tuple[int, int, int, int]) -> int:
    """The bytes that a part of a map moves: bytes of the index, and each run that it meets."""
    top, left, rows, columns = box
    runs = -(-array.shape[3] // RUN)
    met, moved = set[int](), 0
    for n, c in np.ndindex(*array.shape[:2]):
        for y in range(top, top + rows):
            for run in range(left // RUN, (left + columns - 1) // RUN + 1):
                met.add((((n * array.shape[1] + c) * array.shape[2] + y) * runs + run) // 2)
                values = array[n, c, y, RUN * run : RUN * (run + 1)]
                moved += code_of([int(each) for each in values], zero)[1]
    return len(met) + moved


def runs_of(shape: Sequence[int]) -> Iterator[tuple[int, int, int, slice]]:
    """The places of all runs of a map."""
    for n, c, y in np.ndindex(*shape[:3]):
        for x in range(0, shape[3], RUN):
            yield n, c, y, slice(x, x + RUN)


def planar_array(shape: Sequence[int], dtype: np.dtype[Any], zero: int, share: float) -> Array:
    """A map of runs with differences of all widths and signs; about `share` of them are zero."""
    rng = np.random.default_rng(11)
    array = np.full(shape, zero, np.int64)
    for place in runs_of(shape):
        if rng.random() >= share:
            size = array[place].shape
            found = rng.integers(0, 2 ** rng.integers(1, 9), size)
            array[place] = zero + found * (rng.choice([-1, 1], size) if rng.random() < 0.4 else 1)
    return (array % 256).astype(np.uint8).view(dtype)
