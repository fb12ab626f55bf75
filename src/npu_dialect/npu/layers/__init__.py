"""The layers of the npu dialect. Maps are NCHW, weights OIHW, as in ONNX."""

from npu_dialect.npu.layers.computed import ComputedOp
from npu_dialect.npu.layers.elementwise import (
    AddOp,
    BatchNormOp,
    BinaryOp,
    ElementwiseOp,
    MulOp,
)
from npu_dialect.npu.layers.joining import InterleaveOp, JoinOp
from npu_dialect.npu.layers.linear import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.layers.lrn import LrnOp
from npu_dialect.npu.layers.matmul import MatmulOp
from npu_dialect.npu.layers.moving import ConcatOp, ReshapeOp, SliceOp, TransposeOp, ViewOp
from npu_dialect.npu.layers.normalize import NormalizeOp
from npu_dialect.npu.layers.pairwise import CastOp, PairwiseOp, WhereOp
from npu_dialect.npu.layers.picking import PickOp
from npu_dialect.npu.layers.pointwise import ActivationOp, ClampOp, LookupOp, MapOp, ReluOp
from npu_dialect.npu.layers.pooling import (
    AvgPool2dOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    GlobalPoolOp,
    MaxPool2dOp,
    PoolOp,
)
from npu_dialect.npu.layers.quantized import (
    DequantizeOp,
    QuantizedAddOp,
    QuantizeOp,
    RequantizeOp,
)
from npu_dialect.npu.layers.quantized_binary import QuantizedBinaryOp
from npu_dialect.npu.layers.quantized_pooling import QuantizedAvgPool2dOp
from npu_dialect.npu.layers.recurrent import RecurrentOp
from npu_dialect.npu.layers.reduce import ReduceOp
from npu_dialect.npu.layers.resampling import ResampleOp
from npu_dialect.npu.layers.softmax import SoftmaxOp
from npu_dialect.npu.layers.transposed import ConvTranspose2dOp
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.layers.weighted import SumsOp
from npu_dialect.npu.layers.zero_blocks import PruneZeroBlocksOp

__all__ = [
    "ActivationOp",
    "AddOp",
    "AvgPool2dOp",
    "BatchNormOp",
    "BinaryOp",
    "CastOp",
    "ClampOp",
    "ComputedOp",
    "ConcatOp",
    "Conv2dOp",
    "ConvTranspose2dOp",
    "DequantizeOp",
    "ElementwiseOp",
    "FullyConnectedOp",
    "GlobalAvgPool2dOp",
    "GlobalMaxPool2dOp",
    "GlobalPoolOp",
    "InterleaveOp",
    "JoinOp",
    "LookupOp",
    "LrnOp",
    "MapOp",
    "MatmulOp",
    "MaxPool2dOp",
    "MulOp",
    "NormalizeOp",
    "PairwiseOp",
    "PickOp",
    "PoolOp",
    "PruneZeroBlocksOp",
    "QuantizeOp",
    "QuantizedAddOp",
    "QuantizedAvgPool2dOp",
    "QuantizedBinaryOp",
    "RecurrentOp",
    "ReduceOp",
    "ReluOp",
    "RequantizeOp",
    "ResampleOp",
    "ReshapeOp",
    "SliceOp",
    "SoftmaxOp",
    "SumsOp",
    "TransposeOp",
    "UnaryOp",
    "ViewOp",
    "WhereOp",
]
