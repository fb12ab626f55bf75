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
    LrnOp,
    MaxPool2dOp,
    MulOp,
    ReluOp,
    ReshapeOp,
    SoftmaxOp,
    TransposeOp,
)
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import BranchedModuleOp, BranchOp, YieldOp
from npu_dialect.target import TargetAttr

NPU = Dialect(
    "npu",
    [
        AddOp,
        AvgPool2dOp,
        BatchNormOp,
        BranchOp,
        BranchedModuleOp,
        ClampOp,
        ConcatOp,
        Conv2dOp,
        FullyConnectedOp,
        GlobalAvgPool2dOp,
        GlobalMaxPool2dOp,
        LrnOp,
        MaxPool2dOp,
        MulOp,
        ReluOp,
        ReshapeOp,
        RowsOp,
        SoftmaxOp,
        TransposeOp,
        YieldOp,
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
