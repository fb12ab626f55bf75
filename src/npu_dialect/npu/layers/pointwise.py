"""Layers that do the same to each element by itself: bounds, functions, tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.layers.elementwise import ElementwiseOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import (
    ActivationAttr,
    FunctionAttr,
    PointwiseAttr,
    TableAttr,
    check_channels,
)
from npu_dialect.npu.simplifying import Simplifying
from npu_dialect.npu.syntax import attribute_clause, float_clause


class ActivationOp(ElementwiseOp, Simplifying, ABC):
    """A layer that does the same to each element, as other layers can in their epilogue."""

    @abstractmethod
    def as_activation(self) -> PointwiseAttr:
        """What happens to an element, for the epilogue of another layer."""

    def simplified(self) -> SSAValue | Operation | None:
        """Nothing if no element changes; one layer for an activation that only this one reads."""
        own, before = self.as_activation(), self.input.owner
        if own.is_identity:
            return self.input
        if not isinstance(before, ActivationOp):
            return None
        both = before.as_activation().then(own)
        if both == before.as_activation():
            return self.input
        if both is None or not self.input.has_one_use():
            return None
        return activation_layer(both, before, self)


@irdl_op_definition
class ReluOp(ActivationOp):
    """max(x, 0), element by element.

    ```mlir
    %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    name = "npu.relu"

    def as_activation(self) -> ActivationAttr:
        """max(x, 0)."""
        return ActivationAttr.relu()


@irdl_op_definition
class ClampOp(ActivationOp):
    """min(max(x, low), high), element by element (ONNX Clip).

    ```mlir
    %y = npu.clamp %x low 0.0 high 6.0 : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    name = "npu.clamp"

    low = prop_def(FloatAttr)
    high = prop_def(FloatAttr)

    CLAUSES: ClassVar = (float_clause("low"), float_clause("high"))

    def __init__(self, input: SSAValue, low: float, high: float, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super(UnaryOp, self).__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                "low": FloatAttr(low, Float64Type()),
                "high": FloatAttr(high, Float64Type()),
            },
        )

    def as_activation(self) -> ActivationAttr:
        """The bounds as an activation attribute."""
        return ActivationAttr(self.low, self.high)

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        low, high = self.low.value.data, self.high.value.data
        if not low <= high:
            raise VerifyException(f"expected clamp bounds low <= high, got [{low}, {high}]")
        return shape_of(self.input)


@irdl_op_definition
class MapOp(ActivationOp):
    """A function of each element, with the formula of `npu_dialect.npu.functions`.

    The functions are those of ONNX's operators of the same names: `sigmoid`, `tanh`, `silu`,
    `hard_swish`, `gelu`, `exp`, ... Parameters stand in brackets, `leaky_relu [0.01]`. `prelu` has
    one slope, or one for each channel (the second axis).

    ```mlir
    %y = npu.map %x with silu : tensor<1x8x4x4xf32> -> tensor<1x8x4x4xf32>
    ```
    """

    name = "npu.map"

    function = prop_def(FunctionAttr)

    CLAUSES: ClassVar = (attribute_clause("with", "function", FunctionAttr),)

    def __init__(self, input: SSAValue, function: FunctionAttr, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super(UnaryOp, self).__init__(
            operands=[input, operands],
            result_types=[results],
            properties={"function": function},
        )

    def as_activation(self) -> FunctionAttr:
        """The function."""
        return self.function

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        check_channels(self.function, shape_of(self.input))
        return shape_of(self.input)


@irdl_op_definition
class LookupOp(ActivationOp):
    """A byte from a table for each byte: any function of a quantised map.

    Input and output have the element type of the table, i8 (`signed`) or ui8 (`unsigned`). Its 256
    entries are two hexadecimal digits each, that of the least element first.

    ```mlir
    %y = npu.lookup %x with lookup signed "..." : tensor<1x8x4x4xi8> -> tensor<1x8x4x4xi8>
    ```
    """

    name = "npu.lookup"

    table = prop_def(TableAttr)

    CLAUSES: ClassVar = (attribute_clause("with", "table", TableAttr),)

    def __init__(self, input: SSAValue, table: TableAttr, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super(UnaryOp, self).__init__(
            operands=[input, operands],
            result_types=[results],
            properties={"table": table},
        )

    def as_activation(self) -> TableAttr:
        """The table."""
        return self.table

    def verify_elements(self, element: Attribute) -> None:
        """Check that the elements are those of the table."""
        if element != self.table.element:
            raise VerifyException(f"expected {self.table.element} elements, got {element}")
        super().verify_elements(element)


def activation_layer(
    activation: PointwiseAttr, first: ActivationOp, last: ActivationOp
) -> ActivationOp:
    """One layer for two in a row, with the names of the last one."""
    type_ = last.results[0].type
    match activation:
        case TableAttr():
            layer = LookupOp(first.input, activation, type_)
        case FunctionAttr():
            layer = MapOp(first.input, activation, type_)
        case ActivationAttr() if activation.is_relu:
            layer = ReluOp(first.input, type_)
        case _:
            assert isinstance(activation, ActivationAttr)
            layer = ClampOp(first.input, *activation.bounds, type_)
    layer.attributes |= last.attributes
    return layer
