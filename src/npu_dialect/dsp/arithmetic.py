"""Arithmetic on the bytes and halves of words: ops of one or two instructions, without effects."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, f32, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from npu_dialect.fixed_point import (
    LEAST_SHIFT,
    MOST_EXPONENT,
    MOST_RESULT,
    MOST_SHIFT,
    WORD_BITS,
    limit_near_half,
    near_half,
)


class Halves(StrEnum):
    """The half that an op reads of its first and of its second word: b is bottom, t is top."""

    BB = "bb"
    BT = "bt"
    TB = "tb"
    TT = "tt"


@irdl_attr_definition
class HalvesAttr(EnumAttribute[Halves], SpacedOpaqueSyntaxAttribute):
    """`#dsp<halves tb>`."""

    name = "dsp.halves"


SATURATIONS = (8, 16)
"""The widths in bits to which a word can be saturated."""

ROTATIONS = (0, 8)
"""How many bits a word is rotated to the right before its bytes 0 and 2 are read."""


class WordOp(IRDLOperation, abc.ABC):
    """An op that computes a word and has no effects."""

    result = result_def(i32)

    traits = traits_def(Pure())


class RotatedOp(WordOp, abc.ABC):
    """An op that reads bytes 0 and 2 of a word (`rotate 0`), or 1 and 3 (`rotate 8`)."""

    rotate = prop_def(IntegerAttr.constr(i64))

    def verify_(self) -> None:
        """The rotation is 0 or 8 bits."""
        if self.rotate.value.data not in ROTATIONS:
            raise VerifyException(f"expected a rotation by 0 or 8, got {self.rotate.value.data}")


class HalvesOp(WordOp, abc.ABC):
    """An op that reads one half of each of two words."""

    halves = prop_def(HalvesAttr)


class ExtendOp(RotatedOp, abc.ABC):
    """Extends two bytes of a word to halves."""

    x = operand_def(i32)

    assembly_format = "$x `rotate` $rotate attr-dict `:` type($result)"

    def __init__(self, x: SSAValue, rotate: int = 0) -> None:
        super().__init__(
            operands=[x], result_types=[i32], properties={"rotate": IntegerAttr(rotate, i64)}
        )


@irdl_op_definition
class Sxtb16Op(ExtendOp):
    """SXTB16: bytes 0 and 2 (`rotate 0`) or 1 and 3 (`rotate 8`), sign-extended to halves.

    ```mlir
    %even = dsp.sxtb16 %x rotate 0 : i32
    ```
    """

    name = "dsp.sxtb16"


@irdl_op_definition
class Uxtb16Op(ExtendOp):
    """UXTB16: bytes 0 and 2 (`rotate 0`) or 1 and 3 (`rotate 8`), zero-extended to halves.

    ```mlir
    %odd = dsp.uxtb16 %x rotate 8 : i32
    ```
    """

    name = "dsp.uxtb16"


class ExtendAddOp(RotatedOp, abc.ABC):
    """Extends two bytes of x to halves and adds them to the halves of z."""

    z = operand_def(i32)
    x = operand_def(i32)

    assembly_format = "$z `,` $x `rotate` $rotate attr-dict `:` type($result)"

    def __init__(self, z: SSAValue, x: SSAValue, rotate: int = 0) -> None:
        super().__init__(
            operands=[z, x], result_types=[i32], properties={"rotate": IntegerAttr(rotate, i64)}
        )


@irdl_op_definition
class Sxtab16Op(ExtendAddOp):
    """SXTAB16: the halves of z plus the halves that SXTB16 gives for x, each modulo 2^16.

    ```mlir
    %even = dsp.sxtab16 %offsets, %x rotate 0 : i32
    ```
    """

    name = "dsp.sxtab16"


@irdl_op_definition
class Uxtab16Op(ExtendAddOp):
    """UXTAB16: the halves of z plus the halves that UXTB16 gives for x, each modulo 2^16.

    ```mlir
    %even = dsp.uxtab16 %offsets, %x rotate 0 : i32
    ```
    """

    name = "dsp.uxtab16"


@irdl_op_definition
class SmladOp(WordOp):
    """SMLAD: acc + a.bottom * b.bottom + a.top * b.top, with signed halves, modulo 2^32.

    `in_place`: the sum stays in the register of `acc`. A loop of many sums then needs no moves
    between registers, but a compiler cannot choose how it computes the sum.

    ```mlir
    %sum = dsp.smlad %x, %w, %acc in_place : i32
    ```
    """

    name = "dsp.smlad"

    a = operand_def(i32)
    b = operand_def(i32)
    acc = operand_def(i32)

    in_place = opt_prop_def(UnitAttr)

    assembly_format = "$a `,` $b `,` $acc (`in_place` $in_place^)? attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue, *, in_place: bool = False) -> None:
        super().__init__(
            operands=[a, b, acc],
            result_types=[i32],
            properties={"in_place": UnitAttr() if in_place else None},
        )


@irdl_op_definition
class SmlaOp(HalvesOp):
    """SMLABB, SMLABT, SMLATB, SMLATT: acc + one product of signed halves, modulo 2^32.

    The first letter of `halves` is the half of a, the second one that of b.

    ```mlir
    %sum = dsp.smla %x, %w, %acc halves tb : i32
    ```
    """

    name = "dsp.smla"

    a = operand_def(i32)
    b = operand_def(i32)
    acc = operand_def(i32)

    assembly_format = "$a `,` $b `,` $acc `halves` $halves attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue, halves: str = "bb") -> None:
        super().__init__(
            operands=[a, b, acc],
            result_types=[i32],
            properties={"halves": HalvesAttr(Halves(halves))},
        )


@irdl_op_definition
class PackOp(HalvesOp):
    """PKHBT, PKHTB: a half of lo becomes the bottom of the result, a half of hi its top.

    The first letter of `halves` is the half of lo, the second one that of hi. "tb" takes two
    instructions.

    ```mlir
    %pair = dsp.pack %lo, %hi halves bb : i32
    ```
    """

    name = "dsp.pack"

    lo = operand_def(i32)
    hi = operand_def(i32)

    assembly_format = "$lo `,` $hi `halves` $halves attr-dict `:` type($result)"

    def __init__(self, lo: SSAValue, hi: SSAValue, halves: str = "bb") -> None:
        super().__init__(
            operands=[lo, hi], result_types=[i32], properties={"halves": HalvesAttr(Halves(halves))}
        )


@irdl_op_definition
class RoundOp(WordOp):
    """VCVTR.S32.F32: the nearest integer, ties to even, saturated to i32; 0 for NaN.

    ```mlir
    %q = dsp.round %scaled : f32 -> i32
    ```
    """

    name = "dsp.round"

    x = operand_def(f32)

    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def __init__(self, x: SSAValue) -> None:
        super().__init__(operands=[x], result_types=[i32])


@irdl_op_definition
class ScalePairOp(IRDLOperation):
    """VMOV, then VCVT, VMUL and VCVTR for each of two words, VMOV: integers times their scales.

    The low word of the result is `dsp.round` of the float32 product of a and x, the high word that
    of b and y. One VMOV moves two words to the registers for floats, and one moves two back.

    ```mlir
    %both = dsp.scale_pair %a, %b by %x, %y : i64
    ```
    """

    name = "dsp.scale_pair"

    a = operand_def(i32)
    b = operand_def(i32)
    x = operand_def(f32)
    y = operand_def(f32)
    result = result_def(i64)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b `by` $x `,` $y attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, x: SSAValue, y: SSAValue) -> None:
        super().__init__(operands=[a, b, x, y], result_types=[i64])


@irdl_op_definition
class ScaleBytesOp(WordOp):
    """As `dsp.scale_pair`, then USAT to 8 bits for each of both, and ORR: two bytes as halves.

    The bottom half of the result is `dsp.usat` of `dsp.round` of the float32 product of a and x,
    the top half that of b and y. As the bytes are joined at once, they take one register.

    ```mlir
    %both = dsp.scale_bytes %a, %b by %x, %y : i32
    ```
    """

    name = "dsp.scale_bytes"

    a = operand_def(i32)
    b = operand_def(i32)
    x = operand_def(f32)
    y = operand_def(f32)

    assembly_format = "$a `,` $b `by` $x `,` $y attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, x: SSAValue, y: SSAValue) -> None:
        super().__init__(operands=[a, b, x, y], result_types=[i32])


@irdl_op_definition
class RescaleOp(WordOp):
    """A sum times its scale, rounded and held between two bounds: float32, computed in integers.

    The result is the integer next to float32(x) * (float32(factor) * 2^-exponent), ties to even, or
    the bound that is nearest to it. A core without an FPU computes a fixed-point number:

        high_word(x * 2^left * factor) >> shift        shift = exponent + left - 32

    Its fraction has `shift` bits. Where it is so near to a half that float32 may fall to the other
    side, once in some thousand times, floats are computed by functions. `x * 2^left` must fit into
    a word. The factor is positive.

    ```mlir
    %q = dsp.rescale %sum by %factor exponent 38 left 11 between 0 and 255 : i32
    ```
    """

    name = "dsp.rescale"

    x = operand_def(i32)
    factor = operand_def(i32)
    exponent = prop_def(IntegerAttr.constr(i64))
    left = prop_def(IntegerAttr.constr(i64))
    low = prop_def(IntegerAttr.constr(i64))
    high = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$x `by` $factor `exponent` $exponent `left` $left `between` $low `and` $high attr-dict"
        " `:` type($result)"
    )

    def __init__(
        self, x: SSAValue, factor: SSAValue, exponent: int, left: int, bounds: tuple[int, int]
    ) -> None:
        names = ("exponent", "left", "low", "high")
        super().__init__(
            operands=[x, factor],
            result_types=[i32],
            properties={
                name: IntegerAttr(number, i64)
                for name, number in zip(names, (exponent, left, *bounds), strict=True)
            },
        )

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest result."""
        return self.low.value.data, self.high.value.data

    @property
    def unit(self) -> float:
        """What a factor of 1 is: a power of two, which float32 has."""
        return 2.0**-self.exponent.value.data

    @property
    def shift(self) -> int:
        """The bits of the fraction."""
        return self.exponent.value.data + self.left.value.data - WORD_BITS

    @property
    def near(self) -> int:
        """How near to a half the fraction, in its last bits, may be off by rounding."""
        return near_half(max(map(abs, self.bounds)) + 1, self.shift)

    @property
    def limit(self) -> int:
        """Fractions, as the upper bits of a word, that are near a half: those up to this word."""
        return limit_near_half(self.near, self.shift)

    @property
    def start(self) -> int:
        """What is added to the upper word: a half, and what may be off."""
        return (1 << (self.shift - 1)) + self.near

    def verify_(self) -> None:
        """All numbers are in their ranges."""
        exponent, left = self.exponent.value.data, self.left.value.data
        if not 0 <= left < WORD_BITS - 1:
            raise VerifyException(f"expected left from 0 to {WORD_BITS - 2}, got {left}")
        if not (exponent <= MOST_EXPONENT and LEAST_SHIFT <= self.shift <= MOST_SHIFT):
            raise VerifyException(
                f"expected an exponent of at most {MOST_EXPONENT}, {LEAST_SHIFT} to {MOST_SHIFT} "
                f"more than 32 less left, got {exponent} with left {left}"
            )
        low, high = self.bounds
        if not -MOST_RESULT <= low <= high <= MOST_RESULT:
            raise VerifyException(
                f"expected bounds in order, from -{MOST_RESULT} to {MOST_RESULT}, "
                f"got {low} and {high}"
            )


class SaturateOp(WordOp, abc.ABC):
    """Saturates a signed word to `bits` bits: the nearest integer in their range."""

    x = operand_def(i32)
    bits = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$x `to` $bits attr-dict `:` type($result)"

    def __init__(self, x: SSAValue, bits: int = 8) -> None:
        super().__init__(
            operands=[x], result_types=[i32], properties={"bits": IntegerAttr(bits, i64)}
        )

    def verify_(self) -> None:
        """The width is 8 or 16 bits."""
        if self.bits.value.data not in SATURATIONS:
            raise VerifyException(f"expected 8 or 16 bits, got {self.bits.value.data}")


@irdl_op_definition
class SsatOp(SaturateOp):
    """SSAT: saturates to a signed integer of 8 or 16 bits.

    ```mlir
    %q = dsp.ssat %x to 8 : i32
    ```
    """

    name = "dsp.ssat"


@irdl_op_definition
class UsatOp(SaturateOp):
    """USAT: saturates to an unsigned integer of 8 or 16 bits.

    ```mlir
    %q = dsp.usat %x to 8 : i32
    ```
    """

    name = "dsp.usat"
