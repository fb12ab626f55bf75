"""Regions that `npu-tile-loops` runs with fewer bytes on the tiles of the layer behind them.

    %r = npu.relu %x
    %y = npu.conv2d %r, %w groups 728       // depthwise
    %z = npu.conv2d %y, %v                  // 1x1, the only reader of %y

Level of IR: layers on tensors. In rows, %r stays on chip, and %y leaves it; on tiles of %x that
have some channels, neither is there as a whole (`tiling/fused_producers.py`). The sums of the 1x1
convolution, which holds some kernels at a time, need most of the memory then.
"""

from __future__ import annotations

from collections.abc import Sequence

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp
from npu_dialect.npu.maps import bytes_of, map_type, shape_of

PASSES = 2
"""How often a 1x1 convolution may read its input, at most, for this to move fewer bytes for sure:
in rows, its input is stored and read."""


def are_left(layers: Sequence[LayerOp], sram: int) -> bool:
    """Whether the layers of a region, in their order, are left to `npu-tile-loops`.

    `sram`: the bytes on chip; sums may take two thirds of them.
    """
    *others, last = layers
    if not isinstance(last, Conv2dOp) or not is_depthwise(last):
        return False
    if not all(op.ELEMENTWISE and len(op.inputs) == 1 for op in others):
        return False
    readers = [use.operation for use in last.results[0].uses]
    return len(readers) == 1 and is_pointwise(readers[0], sram)


def is_depthwise(op: Conv2dOp) -> bool:
    """Whether a convolution has one kernel for each channel, and keeps the size of its map."""
    whole = op.group_count == shape_of(op.weight)[0] and shape_of(op.weight)[1] == 1
    same = map_type(op.input) == map_type(op.results[0])
    return whole and same and set(int_values(op.strides)) == {1} and op.requantize is None


def is_pointwise(op: object, sram: int) -> bool:
    """Whether an op is a 1x1 convolution of which enough sums fit on chip."""
    if not isinstance(op, Conv2dOp) or op.group_count != 1 or op.requantize is not None:
        return False
    plain = not any(int_values(op.pads)) and set(int_values(op.strides)) == {1}
    sums = bytes_of(map_type(op.results[0])) / PASSES
    pixel = tuple(shape_of(op.weight)[2:]) == (1, 1) and op.pool is None
    return plain and pixel and 3 * sums <= 2 * sram
