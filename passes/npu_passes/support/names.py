"""Names that people gave to layers and values, when passes put layers together.

    %c = npu.conv2d ... {npu.layer = "c1", npu.value = "c1_out"}
    %r = npu.relu %c    {npu.layer = "r1", npu.value = "r1_out"}
becomes
    %r = npu.conv2d ... then relu {npu.layer = "c1", npu.value = "r1_out"}

The layer keeps the name of the first, which holds the weights; the value is what the last one
computed, and integers mean what its integers meant (`npu.scale`, `npu.zero_point`).
"""

from __future__ import annotations

from npu_dialect.attributes import SCALE, VALUE, ZERO_POINT
from npu_dialect.npu.layer import LayerOp


def take_value_name(layer: LayerOp, last: LayerOp) -> None:
    """Name the value of a layer after the value of `last`, whose place it takes; or not at all."""
    for key in (VALUE, SCALE, ZERO_POINT):
        key.drop(layer)
        key.copy(last, layer)
