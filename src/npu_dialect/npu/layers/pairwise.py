"""Arithmetic, comparisons and selection of maps, element by element, with numpy's broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import ClassVar

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.npu.enums import COMPARISONS, LOGICAL, BinaryKind, BinaryKindAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.elementwise import BinaryOp, ElementwiseOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.maps import ANY_MAP, ELEMENT, map_type, shape_of
from npu_dialect.npu.quantization import QUANTISED, expect_element, ui8
from npu_dialect.npu.syntax import word_clause
from npu_dialect.windows import broadcast

INTEGERS = (i32, *QUANTISED)
"""Element types of maps of integers; sums, differences and products of them wrap around."""
NUMBERS = (f32, *INTEGERS)
"""Element types of maps that can be computed; maps of others can be planned only."""

KINDS = tuple(kind for kind in BinaryKind if kind != BinaryKind.MUL)
"""The kinds of `npu.binary`; products have an op of their own, `npu.mul`."""


@irdl_op_definition
class PairwiseOp(BinaryOp):
    """A function of two maps, element by element, with numpy's broadcasting.

    `sub`, `div`, `max`, `min`, `pow`, `mod`, `rem`, a comparison (`equal`, `not_equal`, `less`,
    `less_or_equal`, `greater`, `greater_or_equal`) or `and`, `or`, `xor`; `BinaryKind` defines
    them. A comparison gives ui8 elements 0 or 1; with NaN only `not_equal` holds. `pow` works on
    floats only, `and`, `or` and `xor` on integers only.

    ```mlir
    %y = npu.binary %a, %b with sub
        : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
    ```
    """

    name = "npu.binary"

    kind = prop_def(BinaryKindAttr)

    CLAUSES: ClassVar = (word_clause("with", "kind", KINDS, BinaryKindAttr),)

    def __init__(
        self, lhs: SSAValue, rhs: SSAValue, kind: BinaryKind, out: SSAValue | Attribute
    ) -> None:
        operands, results = form(out)
        super(BinaryOp, self).__init__(
            operands=[lhs, rhs, operands],
            result_types=[results],
            properties={"kind": BinaryKindAttr(kind)},
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The broadcast shape of the operands."""
        if self.kind.data not in KINDS:
            raise VerifyException(f"expected {' or '.join(KINDS)}, got {self.kind.data}")
        return super().infer_shape()

    @property
    def computable(self) -> Sequence[Attribute]:
        """The element types of operands that the function can be computed for."""
        kind = self.kind.data
        if kind == BinaryKind.POW:
            return (f32,)
        return INTEGERS if kind in LOGICAL else NUMBERS

    def verify_elements(self, element: Attribute) -> None:
        """Operands and result have one element type; the result of a comparison is ui8."""
        kind, found = self.kind.data, map_type(self.lhs).get_element_type()
        if kind in LOGICAL:
            expect_element(f"operands of {kind}", self.lhs, INTEGERS)
        expect_element(f"two operands of {kind}", self.rhs, [found])
        result = ui8 if kind in COMPARISONS else found
        expect_element(f"a result of {kind}", self.output, [result])


@irdl_op_definition
class WhereOp(LayerOp):
    """lhs where the condition is not 0, rhs elsewhere, with numpy's broadcasting (ONNX Where).

    ```mlir
    %y = npu.where %c, %a, %b
        : (tensor<4xui8>, tensor<2x4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "npu.where"

    condition = operand_def(ANY_MAP)
    lhs = operand_def(ANY_MAP)
    rhs = operand_def(ANY_MAP)

    ELEMENTWISE: ClassVar = True

    def __init__(
        self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue, out: SSAValue | Attribute
    ) -> None:
        operands, results = form(out)
        super().__init__(operands=[condition, lhs, rhs, operands], result_types=[results])

    def infer_shape(self) -> tuple[int, ...]:
        """The broadcast shape of the operands."""

        def both(one: tuple[int, ...] | None, two: tuple[int, ...]) -> tuple[int, ...] | None:
            return None if one is None else broadcast(one, two)

        shapes = [shape_of(value) for value in (self.lhs, self.rhs)]
        shape = reduce(both, shapes, shape_of(self.condition))
        if shape is None:
            types = ", ".join(str(value.type) for value in self.inputs)
            raise VerifyException(f"expected operands that broadcast, got {types}")
        return shape

    def verify_elements(self, element: Attribute) -> None:
        """The condition is ui8; both other operands have the elements of the result."""
        expect_element("a condition", self.condition, [ui8])
        found = map_type(self.lhs).get_element_type()
        expect_element("a second map to choose from", self.rhs, [found])
        expect_element("a result", self.output, [found])


@irdl_op_definition
class CastOp(ElementwiseOp):
    """The same numbers with another element type (ONNX Cast).

    A float becomes the next integer towards zero. It saturates at the limits of the type, and NaN
    becomes 0. An integer that the new type cannot hold keeps its lowest bits.

    ```mlir
    %y = npu.cast %x : tensor<4xf32> -> tensor<4xi32>
    ```
    """

    name = "npu.cast"

    def verify_elements(self, element: Attribute) -> None:
        """The input and the output hold any numbers."""
        for value in (self.input, self.output):
            if not isa(map_type(value).get_element_type(), ELEMENT):
                raise VerifyException(f"expected float or integer elements, got {value.type}")


__all__ = ["CastOp", "PairwiseOp", "WhereOp"]
