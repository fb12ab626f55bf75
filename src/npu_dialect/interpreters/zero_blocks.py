"""What blocks of maps mean, in numpy: blocks of `size` x `size` elements of [N, C, H, W]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npu_dialect.interpreters.values import Array
from npu_dialect.npu.layers import PruneZeroBlocksOp


def in_blocks(flags: Array, size: int) -> Array:
    """Whether all flags of each block are set: [N, C, H, W] to [N, C, H / size, W / size].

    The blocks at the right and at the bottom hold what is left of the map.
    """
    for axis in (2, 3):
        starts = list(range(0, flags.shape[axis], size))
        flags = np.logical_and.reduceat(flags, starts, axis=axis)
    return flags


def spread(blocks: Array, size: int, shape: Sequence[int]) -> Array:
    """The flag of its block for each element of a map of a shape: the reverse of `in_blocks`."""
    wide = blocks.repeat(size, axis=2).repeat(size, axis=3)
    return wide[:, :, : shape[2], : shape[3]]


def prune_zero_blocks(op: PruneZeroBlocksOp, inputs: Sequence[Array]) -> Array:
    """Zero where all of a block is below the threshold."""
    (array,) = inputs
    if array.dtype.kind == "f":
        below = array < array.dtype.type(op.bound)
    else:
        below = array.astype(np.int32) < op.bound
    dropped = spread(in_blocks(below, op.size), op.size, array.shape)
    return np.where(dropped, array.dtype.type(op.zero), array)
