"""Normalisation of a map by its own mean and variance."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, FloatAttr, UnitAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import INT_ARRAY, int_array, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.quantization import expect_element
from npu_dialect.npu.syntax import flag_clause, float_clause, ints_clause
from npu_dialect.windows import broadcast


@irdl_op_definition
class NormalizeOp(LayerOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias (ONNX LayerNormalization, ...).

    Mean and variance are those of the elements that differ along `axes` only, so there is one pair
    for each index of the other axes. With `rms`, the mean counts as 0 (ONNX RMSNormalization).
    Scale and bias broadcast to the shape of the map, as in numpy; both may be left out, or only the
    bias.

    All elements along the axes are read before the first of them is written, so the output may
    overwrite the map.

    ```mlir
    %y = npu.normalize %x, %scale, %bias axes [2] epsilon 1.0e-05
        : (tensor<1x7x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x7x64xf32>
    ```
    """

    name = "npu.normalize"

    input = operand_def(ANY_MAP)
    scale = opt_operand_def(ANY_MAP)
    bias = opt_operand_def(ANY_MAP)
    axes = prop_def(INT_ARRAY)
    epsilon = prop_def(FloatAttr)
    rms = opt_prop_def(UnitAttr)

    CLAUSES: ClassVar = (ints_clause("axes"), float_clause("epsilon"), flag_clause("rms"))

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue | None,
        bias: SSAValue | None,
        out: SSAValue | Attribute,
        *,
        axes: Sequence[int],
        epsilon: float,
        rms: bool = False,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, scale, bias, operands],
            result_types=[results],
            properties={
                "axes": int_array(axes),
                "epsilon": FloatAttr(epsilon, Float64Type()),
                "rms": UnitAttr() if rms else None,
            },
        )

    @property
    def count(self) -> int:
        """The number of elements that share a mean."""
        shape = shape_of(self.input)
        return prod(shape[axis] for axis in int_values(self.axes))

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the map."""
        shape, axes = shape_of(self.input), list(int_values(self.axes))
        if not axes or axes != sorted({axis for axis in axes if 0 <= axis < len(shape)}):
            raise VerifyException(
                f"expected axes in [0, {len(shape)}), in ascending order, got {axes}"
            )
        if not self.epsilon.value.data >= 0:
            raise VerifyException(
                f"expected an epsilon of at least 0, got {self.epsilon.value.data}"
            )
        if self.bias is not None and self.scale is None:
            raise VerifyException("expected a scale beside the bias")
        for what, value in (("scale", self.scale), ("bias", self.bias)):
            if value is not None and broadcast(shape_of(value), shape) != shape:
                raise VerifyException(
                    f"expected a {what} that broadcasts to {list(shape)}, got {value.type}"
                )
        return shape

    def verify_elements(self, element: Attribute) -> None:
        """All elements are f32."""
        super().verify_elements(element)
        expect_element("a map", self.input, [f32])

    def in_place_inputs(self) -> tuple[int, ...]:
        """The position of the map."""
        return (0,)
