"""Ops whose results have lanes twice as wide, of the even or of the odd ones, and half as wide."""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, VectorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npu_dialect.mve.types import F32X4, I8X16, I16X8, I32X4, Vector, as_vector, check

WIDER: dict[Vector, Vector] = {I8X16: I16X8, I16X8: I32X4}
"""The vectors of products of integers."""


class LongOp(IRDLOperation, abc.ABC):
    """An op on the even lanes (`bottom`) or on the odd lanes (`top`) of its operands."""

    top = opt_prop_def(UnitAttr)
    bottom = opt_prop_def(UnitAttr)

    traits = traits_def(Pure())

    def make(self, operands: list[SSAValue], result: Vector, *, top: bool) -> None:
        """Set all parts of the op."""
        side = {"top" if top else "bottom": UnitAttr()}
        super().__init__(operands=operands, result_types=[result], properties=side)

    def verify_(self) -> None:
        """One of the two sides is chosen."""
        if (self.top is None) == (self.bottom is None):
            raise VerifyException("expected top or bottom")


@irdl_op_definition
class WidenOp(LongOp):
    """VMOVLB, VMOVLT: the even lanes (`bottom`) or odd lanes (`top`) of halves, as words.

    ```mlir
    %even = mve.widen %h bottom : vector<8xi16> -> vector<4xi32>
    %odd = mve.widen %h top : vector<8xi16> -> vector<4xi32>
    ```
    """

    name = "mve.widen"

    x = operand_def(I16X8)
    result = result_def(I32X4)

    assembly_format = (
        "$x (`top` $top^)? (`bottom` $bottom^)? attr-dict `:` type($x) `->` type($result)"
    )

    def __init__(self, x: SSAValue, *, top: bool = False) -> None:
        self.make([x], I32X4, top=top)


@irdl_op_definition
class MulLongOp(LongOp):
    """VMULLB, VMULLT: products of bytes with signs, as halves; or of halves, as words.

    ```mlir
    %even = mve.mul_long %a, %b bottom : vector<16xi8> -> vector<8xi16>
    %odd = mve.mul_long %a, %b top : vector<16xi8> -> vector<8xi16>
    %word = mve.mul_long %c, %d top : vector<8xi16> -> vector<4xi32>
    ```
    """

    name = "mve.mul_long"

    T: ClassVar = VarConstraint("T", base(VectorType))

    a = operand_def(T)
    b = operand_def(T)
    result = result_def(VectorType)

    assembly_format = (
        "$a `,` $b (`top` $top^)? (`bottom` $bottom^)? attr-dict `:` type($a) `->` type($result)"
    )

    def __init__(self, a: SSAValue, b: SSAValue, *, top: bool = False) -> None:
        self.make([a, b], WIDER[as_vector(a.type)], top=top)

    def verify_(self) -> None:
        """One of the two sides is chosen, and the lanes of the result are twice as wide."""
        super().verify_()
        check(self.a.type, tuple(WIDER))
        check(self.result.type, (WIDER[as_vector(self.a.type)],))


@irdl_op_definition
class MlaLongOp(LongOp):
    """VMULLB or VMULLT, then VADD: acc plus products of bytes with signs; sums wrap around.

    ```mlir
    %s = mve.mla_long %a, %b, %acc bottom : vector<16xi8> -> vector<8xi16>
    %t = mve.mla_long %a, %b, %acc top : vector<16xi8> -> vector<8xi16>
    ```
    """

    name = "mve.mla_long"

    a = operand_def(I8X16)
    b = operand_def(I8X16)
    acc = operand_def(I16X8)
    result = result_def(I16X8)

    assembly_format = (
        "$a `,` $b `,` $acc (`top` $top^)? (`bottom` $bottom^)? attr-dict "
        "`:` type($a) `->` type($result)"
    )

    def __init__(self, a: SSAValue, b: SSAValue, acc: SSAValue, *, top: bool = False) -> None:
        self.make([a, b, acc], I16X8, top=top)


@irdl_op_definition
class AddLongOp(LongOp):
    """VMOVLB or VMOVLT, then VADD: words plus halves; sums wrap around.

    ```mlir
    %s = mve.add_long %acc, %h bottom : vector<8xi16> -> vector<4xi32>
    %t = mve.add_long %acc, %h top : vector<8xi16> -> vector<4xi32>
    ```
    """

    name = "mve.add_long"

    acc = operand_def(I32X4)
    x = operand_def(I16X8)
    result = result_def(I32X4)

    assembly_format = (
        "$acc `,` $x (`top` $top^)? (`bottom` $bottom^)? attr-dict `:` type($x) `->` type($result)"
    )

    def __init__(self, acc: SSAValue, x: SSAValue, *, top: bool = False) -> None:
        self.make([acc, x], I32X4, top=top)


@irdl_op_definition
class NarrowOp(IRDLOperation):
    """VQMOVNB, then VQMOVNT: words as halves, saturated; the first ones are the even lanes.

    ```mlir
    %h = mve.narrow %even, %odd : vector<4xi32> -> vector<8xi16>
    ```
    """

    name = "mve.narrow"

    even = operand_def(I32X4)
    odd = operand_def(I32X4)
    result = result_def(I16X8)

    traits = traits_def(Pure())

    assembly_format = "$even `,` $odd attr-dict `:` type($even) `->` type($result)"

    def __init__(self, even: SSAValue, odd: SSAValue) -> None:
        super().__init__(operands=[even, odd], result_types=[I16X8])


@irdl_op_definition
class LowHalvesOp(IRDLOperation):
    """VMOVNT: the low halves of the bits of floats; the first ones are the even lanes.

    Of a float from 2^23 to 2^24, which is an integer, they are that integer modulo 2^16.

    ```mlir
    %h = mve.low_halves %even, %odd : vector<4xf32> -> vector<8xi16>
    ```
    """

    name = "mve.low_halves"

    even = operand_def(F32X4)
    odd = operand_def(F32X4)
    result = result_def(I16X8)

    traits = traits_def(Pure())

    assembly_format = "$even `,` $odd attr-dict `:` type($even) `->` type($result)"

    def __init__(self, even: SSAValue, odd: SSAValue) -> None:
        super().__init__(operands=[even, odd], result_types=[I16X8])


@irdl_op_definition
class NarrowBytesOp(IRDLOperation):
    """VQMOVNB, then VQMOVNT: halves as bytes, saturated; the first ones are the even lanes.

    With `unsigned`, a VQMOVUNB and a VQMOVUNT make bytes without signs of halves that have signs.

    ```mlir
    %q = mve.narrow_bytes %even, %odd : vector<8xi16> -> vector<16xi8>
    %q = mve.narrow_bytes %even, %odd unsigned : vector<8xi16> -> vector<16xi8>
    ```
    """

    name = "mve.narrow_bytes"

    even = operand_def(I16X8)
    odd = operand_def(I16X8)
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(I8X16)

    traits = traits_def(Pure())

    assembly_format = (
        "$even `,` $odd (`unsigned` $unsigned^)? attr-dict `:` type($even) `->` type($result)"
    )

    def __init__(self, even: SSAValue, odd: SSAValue, *, unsigned: bool = False) -> None:
        super().__init__(
            operands=[even, odd],
            result_types=[I8X16],
            properties={"unsigned": UnitAttr() if unsigned else None},
        )
