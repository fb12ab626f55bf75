"""Arithmetic on words of packed bytes and halves: Arm's DSP instructions, with equal results on all
machines.

    %x = dsp.load_word %image[%i] : memref<64xi8, #npu.sram> -> i32      // bytes 0 to 3
    %even = dsp.sxtb16 %x rotate 0 : i32                                 // bytes 0 and 2, as halves
    %odd = dsp.sxtb16 %x rotate 8 : i32                                  // bytes 1 and 3
    %t = dsp.smlad %even, %w0, %acc : i32                                // two products at once
    %u = dsp.smlad %odd, %w1, %t : i32

All values are i32 words. A word holds four bytes, byte j in bits 8j to 8j + 7, or two 16-bit
halves: "b" (bottom) in bits 15 to 0 and "t" (top) in bits 31 to 16. Each op below names its
instruction, whose operation is defined in chapter A7.7 of the Armv7-M Architecture Reference Manual
(ARM DDI 0403). Only the resulting word counts; flags that an instruction sets are never read.

Every op has a version in portable C besides the instruction, so a module with these ops runs on any
machine.
"""

from xdsl.ir import Dialect

from npu_dialect.dsp.arithmetic import (
    ROTATIONS,
    SATURATIONS,
    ExtendAddOp,
    ExtendOp,
    Halves,
    HalvesAttr,
    PackOp,
    RescaleOp,
    RoundOp,
    SaturateOp,
    ScaleBytesOp,
    ScalePairOp,
    SmladOp,
    SmlaOp,
    SsatOp,
    Sxtab16Op,
    Sxtb16Op,
    UsatOp,
    Uxtab16Op,
    Uxtb16Op,
)
from npu_dialect.dsp.memory import (
    FLOAT_REGISTERS,
    MOST_COPIED,
    MOST_FLOATS,
    MOST_KEPT,
    PAIR,
    WORD_BYTES,
    CopyWordsOp,
    KeepOrderOp,
    LoadFloatsOp,
    LoadPairOp,
    LoadWordOp,
    OpaqueOp,
    StoreFloatsOp,
    StoreWordOp,
    WordsOp,
)

__all__ = [
    "DSP",
    "FLOAT_REGISTERS",
    "MOST_COPIED",
    "MOST_FLOATS",
    "MOST_KEPT",
    "PAIR",
    "ROTATIONS",
    "SATURATIONS",
    "WORD_BYTES",
    "CopyWordsOp",
    "ExtendAddOp",
    "ExtendOp",
    "Halves",
    "HalvesAttr",
    "KeepOrderOp",
    "LoadFloatsOp",
    "LoadPairOp",
    "LoadWordOp",
    "OpaqueOp",
    "PackOp",
    "RescaleOp",
    "RoundOp",
    "SaturateOp",
    "ScaleBytesOp",
    "ScalePairOp",
    "SmlaOp",
    "SmladOp",
    "SsatOp",
    "StoreFloatsOp",
    "StoreWordOp",
    "Sxtab16Op",
    "Sxtb16Op",
    "UsatOp",
    "Uxtab16Op",
    "Uxtb16Op",
    "WordsOp",
]

DSP = Dialect(
    "dsp",
    [
        LoadWordOp,
        LoadPairOp,
        LoadFloatsOp,
        StoreWordOp,
        StoreFloatsOp,
        CopyWordsOp,
        Sxtb16Op,
        Uxtb16Op,
        Sxtab16Op,
        Uxtab16Op,
        SmladOp,
        SmlaOp,
        PackOp,
        RescaleOp,
        RoundOp,
        ScaleBytesOp,
        ScalePairOp,
        SsatOp,
        UsatOp,
        KeepOrderOp,
        OpaqueOp,
    ],
    [HalvesAttr],
)
