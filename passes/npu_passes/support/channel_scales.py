"""Per-channel numbers of layers: a tile of channels keeps the numbers of its channels.

Level of IR: quantised layers, `npu.dequantize` and the like with their scales, and layers with the
slopes of `prelu`. They are numbers in the op, not operands, so tiles of different channels need
different ops.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, Float32Type, Float64Type
from xdsl.utils.hints import isa

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import DequantizeOp, MapOp, RequantizeOp
from npu_dialect.npu.layers.epilogue import EpilogueOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr, PointwiseAttr
from npu_dialect.npu.quantization import RequantizeAttr

SCALES = "scales"


def has_channel_scales(op: LayerOp) -> bool:
    """Whether an op has one scale or slope for each of several channels."""
    if any(function.has_channels for function in functions_of(op)):
        return True
    if isinstance(op, EpilogueOp) and op.requantize is not None:
        return len(op.requantize.scales) > 1
    scales = op.properties.get(SCALES)
    return (
        isinstance(op, DequantizeOp | RequantizeOp)
        and isa(scales, DenseArrayBase[Float32Type | Float64Type])
        and len(scales) > 1
    )


def functions_of(op: LayerOp) -> list[FunctionAttr]:
    """The functions that an op applies to its elements."""
    found: tuple[PointwiseAttr | None, ...] = ()
    if isinstance(op, EpilogueOp):
        found = (op.activation, op.sum_activation)
    elif isinstance(op, MapOp):
        found = (op.function,)
    return [each for each in found if isinstance(each, FunctionAttr)]


def take_channels(op: LayerOp, first: int) -> None:
    """Keep only the numbers of the channels that a tile's op computes: those from `first` on."""
    if not has_channel_scales(op):
        return
    channels = shape_of(op.output)[1]
    some = slice(first, first + channels)
    if isinstance(op, MapOp):
        function = taken(op.function, some)
        assert isinstance(function, FunctionAttr)
        op.function = function
    elif isinstance(op, EpilogueOp):
        requantize = op.requantize
        if requantize is not None and len(requantize.scales) > 1:
            scales = requantize.scales.get_values()[some]
            requantize = RequantizeAttr.of(scales, requantize.offset, requantize.mode.data)
        op.change_epilogue(
            requantize=requantize,
            activation=taken(op.activation, some),
            sum_activation=taken(op.sum_activation, some),
        )
    elif isa(scales := op.properties.get(SCALES), DenseArrayBase[Float32Type | Float64Type]):
        op.properties[SCALES] = DenseArrayBase.from_list(scales.elt_type, scales.get_values()[some])


def taken(function: PointwiseAttr | None, some: slice) -> PointwiseAttr | None:
    """A function with the parameters of some channels only; anything else as it is."""
    if not isinstance(function, FunctionAttr) or not function.has_channels:
        return function
    return FunctionAttr.of(function.function.data, function.arguments[some])
