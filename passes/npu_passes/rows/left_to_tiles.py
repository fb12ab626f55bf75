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

from xdsl.ir import Operation

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp
from npu_dialect.npu.maps import bytes_of, map_type
from npu_passes.analysis.local_layers import computes_channels, computes_elements, computes_pixels

PASSES = 2
"""How often a 1x1 convolution may read its input, at most, for this to move fewer bytes for sure:
in rows, its input is stored and read."""


def are_left(layers: Sequence[LayerOp], sram: int) -> bool:
    """Whether the layers of a region, in their order, are left to `npu-tile-loops`.

    `sram`: the bytes on chip; sums may take two thirds of them.
    """
    *others, last = layers
    if not isinstance(last, Conv2dOp) or not computes_channels(last) or last.requantize is not None:
        return False
    if not all(map(computes_elements, others)):
        return False
    readers = [use.operation for use in last.results[0].uses]
    return len(readers) == 1 and holds_sums(readers[0], sram)


def holds_sums(op: Operation, sram: int) -> bool:
    """Whether an op is a 1x1 convolution of which enough sums fit on chip."""
    if not isinstance(op, Conv2dOp) or op.requantize is not None:
        return False
    sums = bytes_of(map_type(op.results[0])) / PASSES
    return computes_pixels(op) and 3 * sums <= 2 * sram
