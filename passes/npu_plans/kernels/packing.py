"""Packs int8 weights in the order in which an inner loop reads them: numpy arrays, no IR.

A *run* is a row of contiguous input bytes with one weight for each byte. It is multiplied in
*quads*, four bytes at a time. If four does not divide its length, the last quad overlaps the one
before. The bytes that were counted already get weights of zero, so nothing beyond the run is read.

    run of 6:   x0 x1 x2 x3 x4 x5
    quads:      0..3, 2..5         weights w0 w1 w2 w3, 0 0 w4 w5
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

QUAD = 4
"""Bytes that one load reads."""
PAIR = 2
"""Neighbouring pixels that share the loads of weights."""
FILTERS = 4
"""Filters that share the loads of a pixel: with two pixels, eight sums live in registers."""
OTHERS = 4
"""Registers for a weight, a product and two pointers."""
MOST_PIXELS = 3
"""With four pixels, gcc puts some of 16 sums on the stack, though 31 registers would hold them."""

IN_PAIRS = (0, 2, 1, 3)
"""The order of a quad's weights where a word of input holds two neighbours, (x0, x1), (x2, x3)."""

Format = Literal["wide", "mixed", "narrow", "bytes"]
"""How the four weights w0 to w3 of a quad are stored for a block of filters.

`wide`: words of two 16-bit halves: (w0, w2) of each filter, then (w1, w3) of each filter. A
dual 16-bit multiply-accumulate takes them without unpacking. `mixed`: the same, but the second word
is (w1 - 256 w0, w3 - 256 w2); see `mixes`. `narrow`: for each filter a word of
four bytes. `bytes`: w0 of each filter, then w1 of each filter, and so on."""


def pixels_of_bytes(registers: int) -> int:
    """How many neighbouring pixels share the loads of weights, a byte at a time.

    `registers`: those for integers; 0 if their number is not known. Each pixel takes one for each
    of four sums and one for its byte.
    """
    if not registers:
        return PAIR
    return min(max((registers - OTHERS) // (FILTERS + 1), 1), MOST_PIXELS)


def pixels_together(columns: int, most: int) -> int:
    """How many pixels of a row of `columns` are computed together: for the fewest loads.

    `most`: how many may be. Those that are left are computed one by one.
    """

    def loads(width: int) -> int:
        blocks, rest = divmod(columns, width)
        return blocks * (width + FILTERS) + rest * (1 + FILTERS)

    return min(range(1, most + 1), key=loads)


def quads_of(length: int) -> tuple[int, ...]:
    """The first byte of each quad of a run of `length` bytes.

    Raises: ValueError if the run is shorter than a quad.
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
    """Elements that the weights of one quad take for a block of filters.

    An element is a word, or a byte if the format is `bytes`.
    """
    return {
        "wide": 2 * filters,
        "mixed": 2 * filters,
        "narrow": filters,
        "bytes": QUAD * filters,
    }[form]


def pack_runs(
    weights: NDArray[np.int8], form: Format, order: Sequence[int] = range(QUAD)
) -> NDArray[np.int32] | NDArray[np.int8]:
    """Weights [filters, runs, length] as one row: block by block, run by run, quad by quad.

    `order` is that of the weights of a quad: w0 to w3, or with `IN_PAIRS` (w0, w2, w1, w3).
    """
    parts: list[NDArray[np.int8]] = []
    for first, count in blocks_of(weights.shape[0]):
        block = in_quads(weights[first : first + count])  # filters, runs, quads, 4
        block = block[..., list(order)]
        parts.append(block.transpose(1, 2, 0, 3).reshape(-1, count, QUAD))
    if form == "bytes":
        return np.concatenate([part.transpose(0, 2, 1).reshape(-1) for part in parts])
    if form == "narrow":
        return np.concatenate([words_of(part).reshape(-1) for part in parts])
    words = mixed_of if form == "mixed" else halves_of
    return np.concatenate([words(part).reshape(-1) for part in parts])


def mixes(weights: NDArray[np.int8]) -> bool:
    """Whether weights [..., length] can be stored as `mixed`: all differences have 16 bits.

    A word of four bytes is read as two 16-bit halves as it is: e0 + 256 x1 and e2 + 256 x3, with
    bytes e0 and e2 without a sign, x1 and x3 with one. These times (w0, w2), plus (x1, x3) times
    (w1 - 256 w0, w3 - 256 w2), are e0 w0 + x1 w1 + e2 w2 + x3 w3. So only one of two pairs of bytes
    is unpacked.
    """
    found = differences_of(in_quads(weights))
    return bool((found >= -(2**15)).all() and (found < 2**15).all())


def differences_of(quads: NDArray[np.int8]) -> NDArray[np.int32]:
    """For quads [..., 4] the differences w1 - 256 w0 and w3 - 256 w2, [..., 2]."""
    whole = quads.astype(np.int32)
    return whole[..., 1::2] - 256 * whole[..., 0::2]


def mixed_of(quads: NDArray[np.int8]) -> NDArray[np.int32]:
    """Quads [count, filters, 4] as words [count, 2, filters]: (w0, w2), then the differences."""
    first = pairs(quads[..., 0], quads[..., 2])
    differences = differences_of(quads)
    return np.stack([first, pairs(differences[..., 0], differences[..., 1])], 1)


def in_quads(weights: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights [..., length] as quads [..., quads, 4]; a weight in two quads is zero in the last."""
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


def pairs(low: NDArray[np.integer[Any]], high: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Words of two 16-bit halves: `low` in the bottom half, `high` in the top half."""
    both = np.stack([low, high], axis=-1).astype("<i2")
    return np.ascontiguousarray(both).view("<i4")[..., 0].astype(np.int32)
