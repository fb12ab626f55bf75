"""The names of layers and values in the model, and what happens to them when layers are fused.

    %c = npu.conv2d ... {npu.layer = "c1", npu.value = "c1_out"}
    %r = npu.relu %c    {npu.layer = "r1", npu.value = "r1_out"}
becomes
    %r = npu.conv2d ... then relu {npu.layer = "c1", npu.value = "r1_out"}

The fused layer keeps the layer name of the first layer, which has the weights. It takes the value
name of the last layer, whose value it computes, and that value's `npu.scale` and `npu.zero_point`.
"""

from __future__ import annotations

from npu_dialect.attributes import SCALE, VALUE, ZERO_POINT
from npu_dialect.npu.layer import LayerOp


def take_value_name(layer: LayerOp, last: LayerOp) -> None:
    """Give a layer the value name, scale and zero point of `last`, whose value it now computes.

    Those that `last` does not have are removed.
    """
    for key in (VALUE, SCALE, ZERO_POINT):
        key.drop(layer)
        key.copy(last, layer)
