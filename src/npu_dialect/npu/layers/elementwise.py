"""Element-wise layers: each output element needs only the elements at its place in the inputs."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, FloatAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.epilogue import ONE_ACTIVATION, Epilogue, EpilogueAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.epilogue import EpilogueOp, check_activations
from npu_dialect.npu.layers.forms import expect_vector, form
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.pointwise import FunctionAttr, parse_pointwise
from npu_dialect.npu.syntax import float_clause
from npu_dialect.windows import broadcast


class ElementwiseOp(UnaryOp):
    """An element-wise layer of one map: the output has the shape of the input."""

    ELEMENTWISE: ClassVar = True

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        return shape_of(self.input)


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
    """Sum of two maps with numpy's broadcasting (ONNX Add), then a function of each sum.

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
        activation = parse_pointwise(parser)
        if activation is None or parser.parse_optional_keyword("then"):
            parser.raise_error(ONE_ACTIVATION)
        return {"epilogue": EpilogueAttr(Epilogue(activation=activation))}

    def verify_elements(self, element: Attribute) -> None:
        """Check the element types, and that nothing but an activation stands behind the sum."""
        if self.parts != Epilogue(activation=self.activation):
            raise VerifyException(ONE_ACTIVATION)
        check_activations(self)
        if isinstance(self.activation, FunctionAttr) and self.activation.has_channels:
            raise VerifyException("expected an activation that is the same for all channels")
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
