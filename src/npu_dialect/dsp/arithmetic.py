"""Arithmetic on the bytes and halves of words: an instruction or two each, without effects."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import IntegerAttr, StringAttr, f32, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

HALVES = ("bb", "bt", "tb", "tt")
"""Which half of a first and of a second word an op reads."""

SATURATIONS = (8, 16)
"""Bits that a word is held to."""

ROTATIONS = (0, 8)
"""Bits that a word is rotated to the right before its bytes 0 and 2 are taken."""


class WordOp(IRDLOperation, abc.ABC):
    """A word from other words, without effects."""

    result = result_def(i32)

    traits = traits_def(Pure())


class RotatedOp(WordOp, abc.ABC):
    """Reads bytes 0 and 2 of a word (`rotate 0`), or 1 and 3 (`rotate 8`)."""

    rotate = prop_def(IntegerAttr.constr(i64))

    def verify_(self) -> None:
        """Bytes 0 and 2, or 1 and 3."""
        if self.rotate.value.data not in ROTATIONS:
            raise VerifyException(f"expected a rotation by 0 or 8, got {self.rotate.value.data}")


class HalvesOp(WordOp, abc.ABC):
    """Reads a half of each of two words."""

    halves = prop_def(StringAttr)

    def verify_(self) -> None:
        """One half of each."""
        if self.halves.data not in HALVES:
            message = 'expected halves "bb", "bt", "tb" or "tt"'
            raise VerifyException(f'{message}, got "{self.halves.data}"')


class ExtendOp(RotatedOp, abc.ABC):
    """Two bytes of a word, extended to halves."""

    x = operand_def(i32)

    assembly_format = "$x `rotate` $rotate attr-dict `:` type($result)"

    def __init__(self, x: SSAValue, rotate: int = 0) -> None:
        super().__init__(
            operands=[x], result_types=[i32], properties={"rotate": IntegerAttr(rotate, i64)}
        )


@irdl_op_definition
class Sxtb16Op(ExtendOp):
    """SXTB16: bytes 0 and 2 (`rotate 0`) or 1 and 3 (`rotate 8`), with their signs, as halves.

    ```mlir
    %even = dsp.sxtb16 %x rotate 0 : i32
    ```
    """

    name = "dsp.sxtb16"


@irdl_op_definition
class Uxtb16Op(ExtendOp):
    """UXTB16: bytes 0 and 2 (`rotate 0`) or 1 and 3 (`rotate 8`), without sign, as halves.

    ```mlir
    %odd = dsp.uxtb16 %x rotate 8 : i32
    ```
    """

    name = "dsp.uxtb16"


class ExtendAddOp(RotatedOp, abc.ABC):
    """Two bytes of a word, extended to halves and added to those of another word."""

    z = operand_def(i32)
    x = operand_def(i32)

    assembly_format = "$z `,` $x `rotate` $rotate attr-dict `:` type($result)"

    def __init__(self, z: SSAValue, x: SSAValue, rotate: int = 0) -> None:
        super().__init__(
            operands=[z, x], result_types=[i32], properties={"rotate": IntegerAttr(rotate, i64)}
        )


@irdl_op_definition
class Sxtab16Op(ExtendAddOp):
    """SXTAB16: the halves of z plus the bytes that SXTB16 gives; each half wraps at 16 bits.

    ```mlir
    %even = dsp.sxtab16 %offsets, %x rotate 0 : i32
    ```
    """

    name = "dsp.sxtab16"


@irdl_op_definition
class Uxtab16Op(ExtendAddOp):
    """UXTAB16: the halves of z plus the bytes that UXTB16 gives; each half wraps at 16 bits.

    ```mlir
    %even = dsp.uxtab16 %offsets, %x rotate 0 : i32
    ```
    """

    name = "dsp.uxtab16"


@irdl_op_definition
class SmladOp(WordOp):
    """SMLAD: acc + a.b * b.b + a.t * b.t, products of signed halves, modulo 2^32.

    ```mlir
    %sum = dsp.smlad %x, %w, %acc : i32
    ```
    """

    name = "dsp.smlad"

    a = operand_def(i32)
    b = operand_def(i32)
    acc = operand_def(i32)

    assembly_format = "$a `,` $b `,` $acc attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue) -> None:
        super().__init__(operands=[a, b, acc], result_types=[i32])


@irdl_op_definition
class SmlaOp(HalvesOp):
    """SMLABB, SMLABT, SMLATB, SMLATT: acc + one product of signed halves, modulo 2^32.

    The first letter of `halves` is that of a, the second one that of b.

    ```mlir
    %sum = dsp.smla %x, %w, %acc halves "tb" : i32
    ```
    """

    name = "dsp.smla"

    a = operand_def(i32)
    b = operand_def(i32)
    acc = operand_def(i32)

    assembly_format = "$a `,` $b `,` $acc `halves` $halves attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue, halves: str = "bb") -> None:
        super().__init__(
            operands=[a, b, acc], result_types=[i32], properties={"halves": StringAttr(halves)}
        )


@irdl_op_definition
class PackOp(HalvesOp):
    """PKHBT, PKHTB: a half of lo as the bottom of the result, a half of hi as its top.

    The first letter of `halves` is that of lo, the second one that of hi. "tb" takes two
    instructions.

    ```mlir
    %pair = dsp.pack %lo, %hi halves "bb" : i32
    ```
    """

    name = "dsp.pack"

    lo = operand_def(i32)
    hi = operand_def(i32)

    assembly_format = "$lo `,` $hi `halves` $halves attr-dict `:` type($result)"

    def __init__(self, lo: SSAValue, hi: SSAValue, halves: str = "bb") -> None:
        super().__init__(
            operands=[lo, hi], result_types=[i32], properties={"halves": StringAttr(halves)}
        )


@irdl_op_definition
class RoundOp(WordOp):
    """VCVTR.S32.F32: the nearest integer, halves to even; beyond i32 its ends, and 0 for NaN.

    ```mlir
    %q = dsp.round %scaled : f32 -> i32
    ```
    """

    name = "dsp.round"

    x = operand_def(f32)

    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def __init__(self, x: SSAValue) -> None:
        super().__init__(operands=[x], result_types=[i32])


class SaturateOp(WordOp, abc.ABC):
    """The nearest integer that some bits can hold."""

    x = operand_def(i32)
    bits = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$x `to` $bits attr-dict `:` type($result)"

    def __init__(self, x: SSAValue, bits: int = 8) -> None:
        super().__init__(
            operands=[x], result_types=[i32], properties={"bits": IntegerAttr(bits, i64)}
        )

    def verify_(self) -> None:
        """The bits are those of a byte or a half."""
        if self.bits.value.data not in SATURATIONS:
            raise VerifyException(f"expected 8 or 16 bits, got {self.bits.value.data}")


@irdl_op_definition
class SsatOp(SaturateOp):
    """SSAT: the nearest signed integer of 8 or 16 bits.

    ```mlir
    %q = dsp.ssat %x to 8 : i32
    ```
    """

    name = "dsp.ssat"


@irdl_op_definition
class UsatOp(SaturateOp):
    """USAT: the nearest unsigned integer of 8 or 16 bits.

    ```mlir
    %q = dsp.usat %x to 8 : i32
    ```
    """

    name = "dsp.usat"
