"""Arithmetic on vectors of 16 bytes: Arm's Helium instructions (MVE), with equal results elsewhere.

    %x = mve.load %image[%i] : memref<64xi8, #npu.sram> -> vector<16xi8>
    %w = mve.load %taps[%j] first 9 : memref<288xi8, #npu.flash> -> vector<16xi8>
    %sum = mve.mla_across %x, %w, %acc : vector<16xi8>

A vector has 16 lanes of 8 bits, 8 of 16 bits, or 4 of 32 bits, integers or f32. Lane 0 is the one
with the lowest address in memory. Each op below names its instruction, whose operation is defined
in chapter C2.4 of the Armv8-M Architecture Reference Manual (ARM DDI 0553). An op with `first`
takes a VCTP besides, which makes the predicate.

Every op has a version in portable C besides the instruction, so a module with these ops runs on any
machine.
"""

from xdsl.ir import Dialect

from npu_dialect.mve.arithmetic import (
    AddOp,
    BinaryOp,
    FmaOp,
    FmaScalarOp,
    JoinOp,
    MaximumOp,
    MaxOp,
    MinOp,
    MlaAcrossOp,
    MlaScalarOp,
    MulOp,
    RoundOp,
    SplatOp,
    ToFloatOp,
    XorOp,
)
from npu_dialect.mve.long import (
    AddLongOp,
    LongOp,
    LowHalvesOp,
    MlaLongOp,
    MulLongOp,
    NarrowBytesOp,
    NarrowOp,
    WidenOp,
)
from npu_dialect.mve.memory import LoadOp, StoreOp
from npu_dialect.mve.places import (
    ALL_LANES,
    EightPlacesOp,
    GatherBytesOp,
    GatherOp,
    PlacesOp,
    ScatterOp,
)
from npu_dialect.mve.scalars import (
    AddSaturatedOp,
    AddScalarOp,
    AsBytesOp,
    MoveUpOp,
    MulAcrossOp,
    MulScalarOp,
    PushBytesOp,
    PushThreeOp,
    ScalarOp,
    ShiftInOp,
)
from npu_dialect.mve.types import (
    F32X4,
    I8X16,
    I16X8,
    I32X4,
    VECTOR_BYTES,
    VECTORS,
    Vector,
    lanes_of,
)

__all__ = [
    "ALL_LANES",
    "F32X4",
    "I8X16",
    "I16X8",
    "I32X4",
    "MVE",
    "VECTORS",
    "VECTOR_BYTES",
    "AddLongOp",
    "AddOp",
    "AddSaturatedOp",
    "AddScalarOp",
    "AsBytesOp",
    "BinaryOp",
    "EightPlacesOp",
    "FmaOp",
    "FmaScalarOp",
    "GatherBytesOp",
    "GatherOp",
    "JoinOp",
    "LoadOp",
    "LongOp",
    "LowHalvesOp",
    "MaxOp",
    "MaximumOp",
    "MinOp",
    "MlaAcrossOp",
    "MlaLongOp",
    "MlaScalarOp",
    "MoveUpOp",
    "MulAcrossOp",
    "MulLongOp",
    "MulOp",
    "MulScalarOp",
    "NarrowBytesOp",
    "NarrowOp",
    "PlacesOp",
    "PushBytesOp",
    "PushThreeOp",
    "RoundOp",
    "ScalarOp",
    "ScatterOp",
    "ShiftInOp",
    "SplatOp",
    "StoreOp",
    "ToFloatOp",
    "Vector",
    "WidenOp",
    "XorOp",
    "lanes_of",
]

MVE = Dialect(
    "mve",
    [
        LoadOp,
        StoreOp,
        MlaAcrossOp,
        MlaScalarOp,
        SplatOp,
        JoinOp,
        ToFloatOp,
        RoundOp,
        AddOp,
        MulOp,
        XorOp,
        MaxOp,
        MinOp,
        MaximumOp,
        FmaOp,
        FmaScalarOp,
        WidenOp,
        NarrowOp,
        LowHalvesOp,
        MulLongOp,
        MlaLongOp,
        AddLongOp,
        NarrowBytesOp,
        GatherOp,
        GatherBytesOp,
        ScatterOp,
        MulAcrossOp,
        AddScalarOp,
        MulScalarOp,
        AddSaturatedOp,
        PushBytesOp,
        PushThreeOp,
        ShiftInOp,
        AsBytesOp,
        MoveUpOp,
    ],
    [],
)
