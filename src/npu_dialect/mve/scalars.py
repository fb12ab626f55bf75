"""Arithmetic of a vector and one number, bytes in pairs, and sums across the lanes."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    Float32Type,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    VectorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npu_dialect.mve.types import F32X4, I8X16, I16X8, I32X4, INTEGERS, VECTORS, Vector, check

WORD = 4
"""Bytes of a word."""


@irdl_op_definition
class MulAcrossOp(IRDLOperation):
    """VMLADAV: the sum of the products of all lanes of two vectors of integers, modulo 2^32.

    ```mlir
    %sum = mve.mul_across %x, %w : vector<16xi8>
    ```
    """

    name = "mve.mul_across"

    T: ClassVar = VarConstraint("T", base(VectorType))

    a = operand_def(T)
    b = operand_def(T)
    result = result_def(i32)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b attr-dict `:` type($a)"

    def __init__(self, a: SSAValue, b: SSAValue) -> None:
        super().__init__(operands=[a, b], result_types=[i32])

    def verify_(self) -> None:
        """The vectors have integers."""
        check(self.a.type, INTEGERS)


@irdl_op_definition
class MulLanesOp(IRDLOperation):
    """VMLADAV four times, and VMOV twice: each of four vectors of bytes times the same weights.

    A lane is the sum of the products of all bytes of its vector. It is one piece of assembly, so
    that two registers with even numbers are enough for all sums. With `in_place`, the sums take the
    register of the weights, in place of another one, and need four registers with even numbers.

    ```mlir
    %sums = mve.mul_lanes %a, %b, %c, %d by %w : vector<4xi32>
    %sums = mve.mul_lanes %a, %b, %c, %d by %w in_place : vector<4xi32>
    ```
    """

    name = "mve.mul_lanes"

    a = operand_def(I8X16)
    b = operand_def(I8X16)
    c = operand_def(I8X16)
    d = operand_def(I8X16)
    weights = operand_def(I8X16)
    in_place = opt_prop_def(UnitAttr)
    result = result_def(I32X4)

    traits = traits_def(Pure())

    assembly_format = (
        "$a `,` $b `,` $c `,` $d `by` $weights (`in_place` $in_place^)? attr-dict `:` type($result)"
    )

    def __init__(self, x: Sequence[SSAValue], weights: SSAValue, *, in_place: bool = False) -> None:
        super().__init__(
            operands=[*x, weights],
            result_types=[I32X4],
            properties={"in_place": UnitAttr() if in_place else None},
        )


class ScalarOp(IRDLOperation, abc.ABC):
    """An op on the lanes of a vector and one number; of an i32 the lowest bits count."""

    T: ClassVar = VarConstraint("T", base(VectorType))
    KNOWN: ClassVar[tuple[Vector, ...]] = VECTORS

    a = operand_def(T)
    b = operand_def(IntegerType | Float32Type)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b attr-dict `:` type($result) `,` type($b)"

    def __init__(self, a: SSAValue, b: SSAValue) -> None:
        super().__init__(operands=[a, b], result_types=[a.type])

    def verify_(self) -> None:
        """The vector has known lanes; the number is an f32 for lanes of f32, else an i32."""
        check(self.result.type, self.KNOWN)
        wanted = f32 if self.result.type == F32X4 else i32
        if self.b.type != wanted:
            raise VerifyException(f"expected {wanted} for {self.result.type}, got {self.b.type}")


@irdl_op_definition
class AddScalarOp(ScalarOp):
    """VADD (vector by scalar): a + b; sums of integers wrap around.

    ```mlir
    %s = mve.add_scalar %a, %b : vector<4xi32>, i32
    ```
    """

    name = "mve.add_scalar"


@irdl_op_definition
class MulScalarOp(ScalarOp):
    """VMUL (vector by scalar): a * b; products of integers wrap around.

    ```mlir
    %p = mve.mul_scalar %a, %b : vector<4xf32>, f32
    ```
    """

    name = "mve.mul_scalar"


@irdl_op_definition
class AddSaturatedOp(ScalarOp):
    """VQADD (vector by scalar): a + b of signed integers, saturated to the range of a lane.

    ```mlir
    %s = mve.add_saturated %a, %b : vector<8xi16>, i32
    ```
    """

    name = "mve.add_saturated"
    KNOWN: ClassVar[tuple[Vector, ...]] = INTEGERS


@irdl_op_definition
class PushBytesOp(IRDLOperation):
    """VSLI by 8: the low byte of each half moves up, and the low byte of `new` takes its place.

    The high byte is lost. So a half holds the last two bytes that were pushed, the newest one low.

    ```mlir
    %x = mve.push_bytes %old, %new : vector<8xi16>
    ```
    """

    name = "mve.push_bytes"

    old = operand_def(I16X8)
    new = operand_def(I16X8)
    result = result_def(I16X8)

    traits = traits_def(Pure())

    assembly_format = "$old `,` $new attr-dict `:` type($result)"

    def __init__(self, old: SSAValue, new: SSAValue) -> None:
        super().__init__(operands=[old, new], result_types=[I16X8])


@irdl_op_definition
class PushThreeOp(IRDLOperation):
    """VSHLC by 24 bits: bytes move up by three; the low bytes of a number become the first three.

    The last three are lost.

    ```mlir
    %y = mve.push_three %x, %n : vector<16xi8>
    ```
    """

    name = "mve.push_three"

    x = operand_def(I8X16)
    first = operand_def(i32)
    result = result_def(I8X16)

    traits = traits_def(Pure())

    assembly_format = "$x `,` $first attr-dict `:` type($result)"

    def __init__(self, x: SSAValue, first: SSAValue) -> None:
        super().__init__(operands=[x, first], result_types=[I8X16])


@irdl_op_definition
class SetWordOp(IRDLOperation):
    """VMOV of a word to a lane: four bytes of a vector become those of a number, the lowest first.

    ```mlir
    %y = mve.set_word %x[3], %n : vector<16xi8>
    ```
    """

    name = "mve.set_word"

    x = operand_def(I8X16)
    lane = prop_def(IntegerAttr[I64])
    word = operand_def(i32)
    result = result_def(I8X16)

    traits = traits_def(Pure())

    assembly_format = "$x `[` $lane `]` `,` $word attr-dict `:` type($result)"

    def __init__(self, x: SSAValue, lane: int, word: SSAValue) -> None:
        properties = {"lane": IntegerAttr(lane, i64)}
        super().__init__(operands=[x, word], properties=properties, result_types=[I8X16])

    def verify_(self) -> None:
        """The vector has the lane."""
        if not 0 <= self.lane.value.data < WORD:
            raise VerifyException(f"expected lane 0 to {WORD - 1}, got {self.lane.value.data}")


@irdl_op_definition
class ShiftInOp(IRDLOperation):
    """VSLI, VSRI: in each word of four bytes, bytes move up by some, or down if `by` is negative.

    The bytes of `fill` stay where none comes.

    ```mlir
    %y = mve.shift_in %fill, %x by -1 : vector<16xi8>
    ```
    """

    name = "mve.shift_in"

    fill = operand_def(I8X16)
    x = operand_def(I8X16)
    by = prop_def(IntegerAttr[I64])
    result = result_def(I8X16)

    traits = traits_def(Pure())

    assembly_format = "$fill `,` $x `by` $by attr-dict `:` type($result)"

    def __init__(self, fill: SSAValue, x: SSAValue, by: int) -> None:
        properties = {"by": IntegerAttr(by, i64)}
        super().__init__(operands=[fill, x], properties=properties, result_types=[I8X16])

    @property
    def bytes(self) -> int:
        """By how many bytes the others move up."""
        return self.by.value.data

    def verify_(self) -> None:
        """Some bytes move, and some do not leave their word."""
        if not 1 <= abs(self.bytes) < WORD:
            raise VerifyException(f"expected bytes to move by 1 to {WORD - 1}, got {self.bytes}")


@irdl_op_definition
class AsBytesOp(IRDLOperation):
    """No instruction: the halves or words of a vector as bytes, the lowest one of each first.

    ```mlir
    %b = mve.as_bytes %x : vector<8xi16> -> vector<16xi8>
    ```
    """

    name = "mve.as_bytes"

    x = operand_def(VectorType)
    result = result_def(I8X16)

    traits = traits_def(Pure())

    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def __init__(self, x: SSAValue) -> None:
        super().__init__(operands=[x], result_types=[I8X16])

    def verify_(self) -> None:
        """The vector has halves or words."""
        check(self.x.type, (I16X8, I32X4))


@irdl_op_definition
class MoveUpOp(IRDLOperation):
    """VSHLC by 32 bits: each lane moves up by one, and lane 0 becomes zero; the last one is lost.

    ```mlir
    %u = mve.move_up %x : vector<4xf32>
    ```
    """

    name = "mve.move_up"

    x = operand_def(F32X4)
    result = result_def(F32X4)

    traits = traits_def(Pure())

    assembly_format = "$x attr-dict `:` type($result)"

    def __init__(self, x: SSAValue) -> None:
        super().__init__(operands=[x], result_types=[F32X4])
