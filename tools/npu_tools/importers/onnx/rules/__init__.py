"""The importer's rules by operator: `RULES` for ONNX's own, `FOREIGN` for those of other domains.

A rule returns the value of a node's first output, or a list of those of all outputs. It raises
NodeError or VerifyException if it cannot import the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from npu_dialect.npu.enums import BinaryKind
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.recognised import WRITTEN_OUT
from npu_tools.importers.onnx.rules.activation import (
    FUNCTIONS,
    MICROSOFT_FUNCTIONS,
    WRITTEN_OUT_FUNCTIONS,
    function,
    prelu,
)
from npu_tools.importers.onnx.rules.arithmetic import ARITHMETIC, pair_of
from npu_tools.importers.onnx.rules.attention import attention
from npu_tools.importers.onnx.rules.conv import conv
from npu_tools.importers.onnx.rules.conv_transpose import conv_transpose
from npu_tools.importers.onnx.rules.edges import (
    dequantize_linear,
    dynamic_quantize_linear,
    quantize_linear,
)
from npu_tools.importers.onnx.rules.einsum import einsum
from npu_tools.importers.onnx.rules.elementwise import (
    add,
    batch_normalization,
    clip,
    lrn,
    mul,
    relu,
    sum_,
)
from npu_tools.importers.onnx.rules.linear import gemm, matmul
from npu_tools.importers.onnx.rules.lp_pool import global_lp_pool, lp_pool
from npu_tools.importers.onnx.rules.normalization import (
    group_normalization,
    instance_normalization,
    layer_normalization,
    lp_normalization,
    mean_variance_normalization,
    rms_normalization,
)
from npu_tools.importers.onnx.rules.numbered import gather_elements, numbered
from npu_tools.importers.onnx.rules.pad import center_crop_pad, pad
from npu_tools.importers.onnx.rules.picked import (
    compress,
    depth_to_space,
    expand,
    gather,
    slice_,
    space_to_depth,
    split,
    tile,
)
from npu_tools.importers.onnx.rules.pool import (
    average_pool,
    global_average_pool,
    global_max_pool,
    max_pool,
)
from npu_tools.importers.onnx.rules.qlinear import MICROSOFT, QLINEAR
from npu_tools.importers.onnx.rules.qlinear_functions import FUNCTIONS_OF_BYTES
from npu_tools.importers.onnx.rules.quantized import cast
from npu_tools.importers.onnx.rules.recurrent import recurrent
from npu_tools.importers.onnx.rules.reduce import REDUCTIONS
from npu_tools.importers.onnx.rules.resize import resize
from npu_tools.importers.onnx.rules.shape import (
    concat,
    dropout,
    flatten,
    identity,
    reshape,
    shape,
    size,
    squeeze,
    transpose,
    unsqueeze,
)
from npu_tools.importers.onnx.rules.softmax import softmax
from npu_tools.importers.onnx.rules.zero_blocks import (
    cast_or,
    dequantize_or,
    flags_or,
    mul_or,
    quantize_or,
    resize_or,
    slice_or,
)

Rule = Callable[[Node, Builder], Value | list[Value]]

RULES: Mapping[str, Rule] = {
    "Add": add,
    "Attention": attention,
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": cast_or(cast),
    "CenterCropPad": center_crop_pad,
    "Clip": clip,
    "Compress": compress,
    "Concat": concat,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DepthToSpace": depth_to_space,
    "DequantizeLinear": dequantize_or(dequantize_linear),
    "Dropout": dropout,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "Einsum": einsum,
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": numbered,
    "Gemm": gemm,
    "GRU": recurrent,
    "GlobalAveragePool": global_average_pool,
    "GlobalLpPool": global_lp_pool,
    "GlobalMaxPool": global_max_pool,
    "GreaterOrEqual": flags_or(pair_of(BinaryKind.GREATER_OR_EQUAL)),
    "GroupNormalization": group_normalization,
    "Identity": identity,
    "InstanceNormalization": instance_normalization,
    "LRN": lrn,
    "LSTM": recurrent,
    "LayerNormalization": layer_normalization,
    "LogSoftmax": softmax,
    "LpNormalization": lp_normalization,
    "LpPool": lp_pool,
    "MatMul": matmul,
    "MaxPool": max_pool,
    "MeanVarianceNormalization": mean_variance_normalization,
    "Mul": mul_or(mul),
    "PRelu": prelu,
    "Pad": pad,
    "QuantizeLinear": quantize_or(quantize_linear),
    "RMSNormalization": rms_normalization,
    "RNN": recurrent,
    "Relu": relu,
    "Reshape": reshape,
    "Resize": resize_or(resize),
    "ReverseSequence": numbered,
    "Shape": shape,
    "Size": size,
    "Slice": slice_or(slice_),
    "Softmax": softmax,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Sum": sum_,
    "Tile": tile,
    "Transpose": transpose,
    "Trilu": numbered,
    "Unsqueeze": unsqueeze,
    **ARITHMETIC,
    "Upsample": resize,
    **dict.fromkeys(FUNCTIONS, function),
    **QLINEAR,
    **REDUCTIONS,
}
"""The rules of ONNX's operators; some operators need no layer and vanish."""

EARLY: Mapping[str, int] = {"LayerNormalization": 17, "ThresholdedRelu": 10}
"""Operators that onnxruntime has in ONNX's own domain before ONNX has them: from which opset on."""

RECURRENT = ("GRU", "LSTM", "RNN")
"""Operators with integers among their operands, the lengths of sequences."""

ANY_NUMBERS = frozenset(
    (*ARITHMETIC, *RECURRENT, *REDUCTIONS, "Add", "GreaterOrEqual", "Mul", "Sum")
)
"""Operators whose rule takes maps of floats and of integers; other rules take floats only."""

ON_BYTES: Mapping[str, Rule] = {
    **MICROSOFT,
    **FUNCTIONS_OF_BYTES,
    "DequantizeLinear": dequantize_linear,
    "QuantizeLinear": quantize_linear,
}
"""The rules of onnxruntime's operators (com.microsoft) on quantised maps."""

FLOATS: Mapping[str, Rule] = {
    "SimplifiedLayerNormalization": rms_normalization,
    **dict.fromkeys(MICROSOFT_FUNCTIONS, function),
}
"""The rules of onnxruntime's operators on float32 maps."""

FOREIGN: Mapping[str, Mapping[str, Rule]] = {
    "": {"SimplifiedLayerNormalization": rms_normalization},
    "com.microsoft": {**ON_BYTES, **FLOATS},
    WRITTEN_OUT: dict.fromkeys(WRITTEN_OUT_FUNCTIONS, function),
}
"""The rules of operators that ONNX does not define, by domain; one is in ONNX's own domain."""
