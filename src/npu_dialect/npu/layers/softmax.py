"""Softmax."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.syntax import flag_clause, int_clause


@irdl_op_definition
class SoftmaxOp(LayerOp):
    """exp(x - max) / sum(exp(x - max)) along one axis (ONNX Softmax, opset 13).

    With `log` it is the logarithm of that, x - max - log(sum(exp(x - max))) (ONNX LogSoftmax).

    The maximum is known before the first element is written, so the output may overwrite the map.

    ```mlir
    %y = npu.softmax %x axis 1 : tensor<1x10xf32> -> tensor<1x10xf32>
    ```
    """

    name = "npu.softmax"

    input = operand_def(ANY_MAP)
    axis = prop_def(IntegerAttr)
    log = opt_prop_def(UnitAttr)

    CLAUSES: ClassVar = (int_clause("axis"), flag_clause("log"))

    def __init__(
        self, input: SSAValue, axis: int, out: SSAValue | Attribute, *, log: bool = False
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, operands],
            result_types=[results],
            properties={"axis": IntegerAttr(axis, i64), "log": UnitAttr() if log else None},
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        shape, axis = shape_of(self.input), self.axis.value.data
        if not 0 <= axis < len(shape):
            raise VerifyException(f"expected an axis in [0, {len(shape)}), got {axis}")
        return shape

    def in_place_inputs(self) -> tuple[int, ...]:
        """The map; see the class."""
        return (0,)
