"""The meaning of zero blocks, in numpy: blocks of `size` x `size` elements of maps [N, C, H, W]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npu_dialect.interpreters.values import Array
from npu_dialect.npu.layers import PruneZeroBlocksOp


def in_blocks(flags: Array, size: int) -> Array:
    """For each block whether all its flags are set: [N, C, H, W] to [N, C, rows, columns].

    There are ceil(H / size) rows and ceil(W / size) columns of blocks; the last ones may be
    smaller.
    """
    for axis in (2, 3):
        starts = list(range(0, flags.shape[axis], size))
        flags = np.logical_and.reduceat(flags, starts, axis=axis)
    return flags


def spread(blocks: Array, size: int, shape: Sequence[int]) -> Array:
    """For each element of a map of this shape the flag of its block: the reverse of `in_blocks`."""
    wide = blocks.repeat(size, axis=2).repeat(size, axis=3)
    return wide[:, :, : shape[2], : shape[3]]


def prune_zero_blocks(op: PruneZeroBlocksOp, inputs: Sequence[Array]) -> Array:
    """The map with blocks set to zero if all their elements are below the threshold."""
    (array,) = inputs
    if array.dtype.kind == "f":
        below = array < array.dtype.type(op.bound)
    else:
        below = array.astype(np.int32) < op.bound
    dropped = spread(in_blocks(below, op.size), op.size, array.shape)
    return np.where(dropped, array.dtype.type(op.zero), array)
