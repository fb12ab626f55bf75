"""Arithmetic on vectors: ops of one instruction, without effects."""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, IntegerType, VectorType, f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npu_dialect.mve.types import F32X4, I32X4, INTEGERS, VECTORS, Vector, check


@irdl_op_definition
class MlaAcrossOp(IRDLOperation):
    """VMLADAVA: acc plus the products of all lanes of two vectors of integers, modulo 2^32.

    ```mlir
    %sum = mve.mla_across %x, %w, %acc : vector<16xi8>
    ```
    """

    name = "mve.mla_across"

    T: ClassVar = VarConstraint("T", base(VectorType))

    a = operand_def(T)
    b = operand_def(T)
    acc = operand_def(i32)
    result = result_def(i32)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b `,` $acc attr-dict `:` type($a)"

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue) -> None:
        super().__init__(operands=[a, b, acc], result_types=[i32])

    def verify_(self) -> None:
        """The vectors have integers."""
        check(self.a.type, INTEGERS)


@irdl_op_definition
class MlaScalarOp(IRDLOperation):
    """VMLA (vector by scalar): acc + a * b of integers, with one `b` for all lanes.

    Of `b` the lowest bits count, as many as a lane has. Sums wrap around.

    ```mlir
    %s = mve.mla_scalar %a, %b, %acc : vector<4xi32>
    ```
    """

    name = "mve.mla_scalar"

    T: ClassVar = VarConstraint("T", base(VectorType))

    a = operand_def(T)
    b = operand_def(i32)
    acc = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b `,` $acc attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue) -> None:
        super().__init__(operands=[a, b, acc], result_types=[a.type])

    def verify_(self) -> None:
        """The vectors have integers."""
        check(self.result.type, INTEGERS)


@irdl_op_definition
class SplatOp(IRDLOperation):
    """VDUP: a vector of which every lane is a number; of an i32, the lowest bits.

    ```mlir
    %v = mve.splat %x : i32 -> vector<16xi8>
    %s = mve.splat %scale : f32 -> vector<4xf32>
    ```
    """

    name = "mve.splat"

    x = operand_def(IntegerType | Float32Type)
    result = result_def(VectorType)

    traits = traits_def(Pure())

    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def __init__(self, x: SSAValue, type_: Attribute) -> None:
        super().__init__(operands=[x], result_types=[type_])

    def verify_(self) -> None:
        """The number is an f32 for lanes of f32, else an i32."""
        check(self.result.type)
        wanted = f32 if self.result.type == F32X4 else i32
        if self.x.type != wanted:
            raise VerifyException(f"expected {wanted} for {self.result.type}, got {self.x.type}")


@irdl_op_definition
class JoinOp(IRDLOperation):
    """VMOV, twice: a vector of four words; the first one is lane 0.

    ```mlir
    %v = mve.join %a, %b, %c, %d : vector<4xi32>
    ```
    """

    name = "mve.join"

    a = operand_def(i32)
    b = operand_def(i32)
    c = operand_def(i32)
    d = operand_def(i32)
    result = result_def(I32X4)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b `,` $c `,` $d attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue, d: SSAValue) -> None:
        super().__init__(operands=[a, b, c, d], result_types=[I32X4])


@irdl_op_definition
class ToFloatOp(IRDLOperation):
    """VCVT.F32.S32: each integer as the nearest float, ties to even.

    ```mlir
    %f = mve.to_float %v : vector<4xi32> -> vector<4xf32>
    ```
    """

    name = "mve.to_float"

    x = operand_def(I32X4)
    result = result_def(F32X4)

    traits = traits_def(Pure())

    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def __init__(self, x: SSAValue) -> None:
        super().__init__(operands=[x], result_types=[F32X4])


@irdl_op_definition
class RoundOp(IRDLOperation):
    """VCVTN.S32.F32: each float as the nearest integer, as `dsp.round` does.

    Ties go to even, results are saturated to i32, and NaN becomes 0.

    ```mlir
    %q = mve.round %f : vector<4xf32> -> vector<4xi32>
    ```
    """

    name = "mve.round"

    x = operand_def(F32X4)
    result = result_def(I32X4)

    traits = traits_def(Pure())

    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def __init__(self, x: SSAValue) -> None:
        super().__init__(operands=[x], result_types=[I32X4])


class BinaryOp(IRDLOperation, abc.ABC):
    """An op on the lanes of two vectors, lane by lane."""

    T: ClassVar = VarConstraint("T", base(VectorType))
    KNOWN: ClassVar[tuple[Vector, ...]] = VECTORS

    a = operand_def(T)
    b = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue) -> None:
        super().__init__(operands=[a, b], result_types=[a.type])

    def verify_(self) -> None:
        """The vectors have lanes that the instruction computes with."""
        check(self.result.type, self.KNOWN)


@irdl_op_definition
class AddOp(BinaryOp):
    """VADD: sums; those of integers wrap around, and a subnormal float counts as zero.

    ```mlir
    %s = mve.add %a, %b : vector<4xi32>
    ```
    """

    name = "mve.add"


@irdl_op_definition
class MulOp(BinaryOp):
    """VMUL: products; those of integers wrap around, and a subnormal float counts as zero.

    ```mlir
    %p = mve.mul %a, %b : vector<4xf32>
    ```
    """

    name = "mve.mul"


@irdl_op_definition
class XorOp(BinaryOp):
    """VEOR: the bits that differ, of integers.

    ```mlir
    %x = mve.xor %a, %b : vector<16xi8>
    ```
    """

    name = "mve.xor"
    KNOWN: ClassVar[tuple[Vector, ...]] = INTEGERS


@irdl_op_definition
class MaxOp(BinaryOp):
    """VMAX: the greater one of two signed integers; of floats, VCMP and VPSEL.

    Of floats it is `a` if a > b, else `b`: a NaN in `b` stays, one in `a` does not. Subnormal
    floats are compared as zeros.

    ```mlir
    %m = mve.max %a, %b : vector<4xi32>
    ```
    """

    name = "mve.max"


@irdl_op_definition
class MinOp(BinaryOp):
    """VMIN: the smaller one of two signed integers; of floats, VCMP and VPSEL.

    Of floats it is `a` if a < b, else `b`, as for `mve.max`.

    ```mlir
    %m = mve.min %a, %b : vector<4xi32>
    ```
    """

    name = "mve.min"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """VCMP and VPSEL, twice: the greater one of two floats; NaN if one of them is.

    Subnormal floats are compared as zeros.

    ```mlir
    %m = mve.maximum %a, %b : vector<4xf32>
    ```
    """

    name = "mve.maximum"
    KNOWN: ClassVar[tuple[Vector, ...]] = (F32X4,)


@irdl_op_definition
class FmaOp(IRDLOperation):
    """VFMA: acc + a * b of floats, rounded once; a subnormal float counts as zero.

    ```mlir
    %s = mve.fma %a, %b, %acc : vector<4xf32>
    ```
    """

    name = "mve.fma"

    a = operand_def(F32X4)
    b = operand_def(F32X4)
    acc = operand_def(F32X4)
    result = result_def(F32X4)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b `,` $acc attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue) -> None:
        super().__init__(operands=[a, b, acc], result_types=[F32X4])


@irdl_op_definition
class FmaScalarOp(IRDLOperation):
    """VFMA (vector by scalar): acc + a * b of floats, rounded once, with one `b` for all lanes.

    A subnormal float counts as zero.

    ```mlir
    %s = mve.fma_scalar %a, %b, %acc : vector<4xf32>
    ```
    """

    name = "mve.fma_scalar"

    a = operand_def(F32X4)
    b = operand_def(f32)
    acc = operand_def(F32X4)
    result = result_def(F32X4)

    traits = traits_def(Pure())

    assembly_format = "$a `,` $b `,` $acc attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue) -> None:
        super().__init__(operands=[a, b, acc], result_types=[F32X4])
