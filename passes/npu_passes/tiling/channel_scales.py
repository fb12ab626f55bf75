"""Per-channel scales of quantised layers: a tile of channels keeps the scales of its channels.

Level of IR: quantised layers, `npu.dequantize` and the like. Scales are numbers in the op, not
operands, so tiles of different channels need different ops.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, Float32Type
from xdsl.utils.hints import isa

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import DequantizeOp, RequantizeOp
from npu_dialect.npu.layers.epilogue import EpilogueOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import RequantizeAttr

SCALES = "scales"


def has_channel_scales(op: LayerOp) -> bool:
    """Whether an op has one scale for each of several channels."""
    if isinstance(op, EpilogueOp) and op.requantize is not None:
        return len(op.requantize.scales) > 1
    scales = op.properties.get(SCALES)
    return (
        isinstance(op, DequantizeOp | RequantizeOp)
        and isa(scales, DenseArrayBase[Float32Type])
        and len(scales) > 1
    )


def take_channels(op: LayerOp, first: int) -> None:
    """Keep only the scales of the channels that a tile's op computes: those from `first` on."""
    if not has_channel_scales(op):
        return
    channels = shape_of(op.output)[1]
    if isinstance(op, EpilogueOp) and (requantize := op.requantize) is not None:
        some = requantize.scales.get_values()[first : first + channels]
        op.change_epilogue(
            requantize=RequantizeAttr.of(some, requantize.offset, requantize.mode.data)
        )
    elif isa(scales := op.properties.get(SCALES), DenseArrayBase[Float32Type]):
        some = scales.get_values()[first : first + channels]
        op.properties[SCALES] = DenseArrayBase.from_list(scales.elt_type, some)
