"""The npu dialect: layers on tensors, and the same layers in destination style on memrefs."""

from xdsl.ir import Dialect

from npu_dialect.npu.attributes import (
    ActivationAttr,
    DramSpace,
    FlashSpace,
    PoolAttr,
    SramSpace,
)
from npu_dialect.npu.layers import (
    AddOp,
    AvgPool2dOp,
    BatchNormOp,
    ClampOp,
    ConcatOp,
    Conv2dOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    MaxPool2dOp,
    ReluOp,
    ReshapeOp,
    SoftmaxOp,
    TransposeOp,
)
from npu_dialect.target import TargetAttr

NPU = Dialect(
    "npu",
    [
        AddOp,
        AvgPool2dOp,
        BatchNormOp,
        ClampOp,
        ConcatOp,
        Conv2dOp,
        FullyConnectedOp,
        GlobalAvgPool2dOp,
        GlobalMaxPool2dOp,
        MaxPool2dOp,
        ReluOp,
        ReshapeOp,
        SoftmaxOp,
        TransposeOp,
    ],
    [
        ActivationAttr,
        DramSpace,
        FlashSpace,
        PoolAttr,
        SramSpace,
        TargetAttr,
    ],
)
