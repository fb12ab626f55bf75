"""Weights in the order in which an inner loop reads them: mathematics on arrays, no IR.

A *run* is a row of bytes of the input that lie one behind the other, with a weight for each. It is
multiplied in *quads*, four bytes at a time. Where four does not divide its length the last quad
overlaps the one before, and the weights of what is counted already are zero: nothing is read from
beyond the run.

    run of 6:   x0 x1 x2 x3 x4 x5
    quads:      0..3, 2..5         weights w0 w1 w2 w3, 0 0 w4 w5
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

QUAD = 4
"""Bytes that are read at once."""
PAIR = 2
"""Neighbouring pixels that share the loads of weights."""
FILTERS = 4
"""Filters that share the loads of a pixel: with two pixels, eight sums live in registers."""

Format = Literal["wide", "narrow", "bytes"]
"""How weights are stored. `wide`: halves of 16 bits in words, (w0, w2) of each filter, then (w1,
w3), which two 16-bit multiply-accumulates take as they are. `narrow`: the four bytes of a filter in
a word. `bytes`: one weight of each filter, then the next weight."""


def quads_of(length: int) -> tuple[int, ...]:
    """Where the quads of a run begin.

    Raises: ValueError for a run that is shorter than a quad.
    """
    if length < QUAD:
        raise ValueError(f"expected a run of at least {QUAD} bytes, got {length}")
    whole = tuple(range(0, length - QUAD + 1, QUAD))
    return whole if length % QUAD == 0 else (*whole, length - QUAD)


def blocks_of(filters: int) -> Iterator[tuple[int, int]]:
    """First filter and number of filters of each block."""
    for first in range(0, filters, FILTERS):
        yield first, min(FILTERS, filters - first)


def quad_size(form: Format, filters: int) -> int:
    """Elements (words; of `bytes`, bytes) of the weights of one quad of a block of filters."""
    return {"wide": 2 * filters, "narrow": filters, "bytes": QUAD * filters}[form]


def pack_runs(weights: NDArray[np.int8], form: Format) -> NDArray[np.int32] | NDArray[np.int8]:
    """Weights [filters, runs, length] in blocks of filters, each run by run, quad by quad."""
    parts: list[NDArray[np.int8]] = []
    for first, count in blocks_of(weights.shape[0]):
        block = in_quads(weights[first : first + count])  # filters, runs, quads, 4
        parts.append(block.transpose(1, 2, 0, 3).reshape(-1, count, QUAD))
    if form == "bytes":
        return np.concatenate([part.transpose(0, 2, 1).reshape(-1) for part in parts])
    if form == "narrow":
        return np.concatenate([words_of(part).reshape(-1) for part in parts])
    return np.concatenate([halves_of(part).reshape(-1) for part in parts])


def in_quads(weights: NDArray[np.int8]) -> NDArray[np.int8]:
    """Runs [..., length] as quads [..., quads, 4], what two of them cover counted once."""
    length = weights.shape[-1]
    starts = quads_of(length)
    found = np.stack([weights[..., start : start + QUAD] for start in starts], axis=-2)
    if length % QUAD:
        found[..., -1, : QUAD - length % QUAD] = 0
    return found


def words_of(quads: NDArray[np.int8]) -> NDArray[np.int32]:
    """Quads [..., 4] as words: byte j in bits 8j to 8j + 7."""
    return np.ascontiguousarray(quads).view("<i4")[..., 0].astype(np.int32)


def halves_of(quads: NDArray[np.int8]) -> NDArray[np.int32]:
    """Quads [count, filters, 4] as words [count, 2, filters]: (w0, w2), then (w1, w3)."""
    return np.stack([pairs(quads[..., 0], quads[..., 2]), pairs(quads[..., 1], quads[..., 3])], 1)


def pairs(low: NDArray[np.int8], high: NDArray[np.int8]) -> NDArray[np.int32]:
    """Words of two halves."""
    both = np.stack([low, high], axis=-1).astype("<i2")
    return np.ascontiguousarray(both).view("<i4")[..., 0].astype(np.int32)
