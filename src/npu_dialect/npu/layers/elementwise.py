"""Element-wise layers: each output element needs only the elements at its place in the inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import ActivationAttr
from npu_dialect.npu.epilogue import ONE_ACTIVATION, Epilogue, EpilogueAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.epilogue import EpilogueOp
from npu_dialect.npu.layers.forms import expect_vector, form
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.simplifying import Simplifying
from npu_dialect.npu.syntax import float_clause
from npu_dialect.windows import broadcast


class ElementwiseOp(UnaryOp):
    """An element-wise layer of one map: the output has the shape of the input."""

    ELEMENTWISE: ClassVar = True

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        return shape_of(self.input)


class ActivationOp(ElementwiseOp, Simplifying, ABC):
    """A layer that keeps each element between two bounds."""

    @abstractmethod
    def as_activation(self) -> ActivationAttr:
        """The bounds as the activation of another layer."""

    def simplified(self) -> SSAValue | Operation | None:
        """Nothing without bounds; one layer for an activation that only this one reads."""
        own, before = self.as_activation(), self.input.owner
        if own.bounds == (-inf, inf):
            return self.input
        if not isinstance(before, ActivationOp):
            return None
        both = before.as_activation().then(own)
        if both == before.as_activation():
            return self.input
        return activation_layer(both, before, self) if self.input.has_one_use() else None


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


def activation_layer(
    activation: ActivationAttr, first: ActivationOp, last: ActivationOp
) -> ReluOp | ClampOp:
    """One layer for two in a row, with the names of the last one."""
    type_ = last.results[0].type
    if activation.is_relu:
        layer = ReluOp(first.input, type_)
    else:
        layer = ClampOp(first.input, *activation.bounds, type_)
    layer.attributes |= last.attributes
    return layer


class BinaryOp(LayerOp):
    """An element-wise layer of two maps, with numpy's broadcasting."""

    lhs = operand_def(ANY_MAP)
    rhs = operand_def(ANY_MAP)

    ELEMENTWISE: ClassVar = True

    def __init__(self, lhs: SSAValue, rhs: SSAValue, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(operands=[lhs, rhs, operands], result_types=[results])

    def infer_shape(self) -> tuple[int, ...]:
        """The broadcast shape of the operands."""
        shape = broadcast(shape_of(self.lhs), shape_of(self.rhs))
        if shape is None:
            raise VerifyException(
                f"expected operands that broadcast, got {self.lhs.type} and {self.rhs.type}"
            )
        return shape


@irdl_op_definition
class AddOp(BinaryOp, EpilogueOp):
    """Sum of two maps with numpy's broadcasting (ONNX Add) and an optional activation.

    ```mlir
    %y = npu.add %a, %b then relu
        : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
    ```
    """

    name = "npu.add"

    @classmethod
    def parse_epilogue(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse `then relu`."""
        if not parser.parse_optional_keyword("then"):
            return {}
        activation = ActivationAttr.parse_clause(parser)
        if activation is None or parser.parse_optional_keyword("then"):
            parser.raise_error(ONE_ACTIVATION)
        return {"epilogue": EpilogueAttr(Epilogue(activation=activation))}

    def verify_elements(self, element: Attribute) -> None:
        """Check the element types, and that nothing but an activation stands behind the sum."""
        if self.parts != Epilogue(activation=self.activation):
            raise VerifyException(ONE_ACTIVATION)
        super().verify_elements(element)


@irdl_op_definition
class MulOp(BinaryOp):
    """Product of two maps, element by element, with numpy's broadcasting (ONNX Mul).

    ```mlir
    %y = npu.mul %a, %b : (tensor<1x6x4x4xf32>, tensor<1x6x1x1xf32>) -> tensor<1x6x4x4xf32>
    ```
    """

    name = "npu.mul"


@irdl_op_definition
class BatchNormOp(LayerOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias (ONNX BatchNormalization).

    The input is [N, C, ...], the other operands are [C], one number per channel.
    `npu-fold-batch-norm` folds the op into the layer before it.

    ```mlir
    %y = npu.batch_norm %x, %scale, %bias, %mean, %variance epsilon 1.0e-05
        : (tensor<1x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
        -> tensor<1x6x4x4xf32>
    ```
    """

    name = "npu.batch_norm"

    input = operand_def(ANY_MAP)
    scale = operand_def(ANY_MAP)
    bias = operand_def(ANY_MAP)
    mean = operand_def(ANY_MAP)
    variance = operand_def(ANY_MAP)
    epsilon = prop_def(FloatAttr)

    PARAMETERS: ClassVar = ("scale", "bias", "mean", "variance")
    ELEMENTWISE: ClassVar = True
    CLAUSES: ClassVar = (float_clause("epsilon"),)

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue,
        bias: SSAValue,
        mean: SSAValue,
        variance: SSAValue,
        epsilon: float,
        out: SSAValue | Attribute,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, scale, bias, mean, variance, operands],
            result_types=[results],
            properties={"epsilon": FloatAttr(epsilon, Float64Type())},
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        shape = shape_of(self.input)
        if len(shape) < 2:
            raise VerifyException(f"expected an input [N, C, ...], got {self.input.type}")
        for name in self.PARAMETERS:
            expect_vector(f"a {name}", getattr(self, name), shape[1])
        return shape
