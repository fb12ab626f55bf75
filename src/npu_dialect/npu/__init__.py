"""The npu dialect: layers on tensors, and the same layers in destination style on memrefs."""

from xdsl.ir import Dialect

from npu_dialect.npu.attributes import ActivationAttr, DramSpace, FlashSpace, PoolAttr, SramSpace
from npu_dialect.npu.enums import MergeAttr, ModeAttr, PolicyAttr, PoolKindAttr, SideAttr
from npu_dialect.npu.epilogue import EpilogueAttr
from npu_dialect.npu.layers import (
    AddOp,
    AvgPool2dOp,
    BatchNormOp,
    ClampOp,
    ConcatOp,
    Conv2dOp,
    ConvTranspose2dOp,
    DequantizeOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    InterleaveOp,
    LrnOp,
    MatmulOp,
    MaxPool2dOp,
    MulOp,
    NormalizeOp,
    PruneZeroBlocksOp,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizeOp,
    ReluOp,
    RequantizeOp,
    ReshapeOp,
    SoftmaxOp,
    TransposeOp,
)
from npu_dialect.npu.quantization import AdditionAttr, RequantizeAttr
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
        ConvTranspose2dOp,
        DequantizeOp,
        FullyConnectedOp,
        GlobalAvgPool2dOp,
        GlobalMaxPool2dOp,
        InterleaveOp,
        LrnOp,
        MatmulOp,
        MaxPool2dOp,
        MulOp,
        NormalizeOp,
        PruneZeroBlocksOp,
        QuantizeOp,
        QuantizedAddOp,
        QuantizedAvgPool2dOp,
        ReluOp,
        RequantizeOp,
        ReshapeOp,
        RowsOp,
        SoftmaxOp,
        TransposeOp,
        YieldOp,
    ],
    [
        ActivationAttr,
        AdditionAttr,
        DramSpace,
        EpilogueAttr,
        FlashSpace,
        MergeAttr,
        ModeAttr,
        PolicyAttr,
        PoolAttr,
        PoolKindAttr,
        RequantizeAttr,
        SideAttr,
        SramSpace,
        TargetAttr,
    ],
)
