"""Local response normalisation."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, FloatAttr, IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.syntax import float_clause, int_clause


@irdl_op_definition
class LrnOp(LayerOp):
    """x / (bias + alpha / size * sum)^beta, across channels (ONNX LRN).

    `sum` adds up the squares of the elements at the same place in the `size` channels around the
    element's own. Channels that do not exist are left out. With an even `size`, one more channel
    comes from after the element's own than from before it. The source is Krizhevsky et al. 2012,
    section 3.3, whose alpha is alpha / size here. Input [N, C, ...].

    ```mlir
    %y = npu.lrn %x size 5 alpha 0.0001 beta 0.75 bias 1.0
        : tensor<1x96x54x54xf32> -> tensor<1x96x54x54xf32>
    ```
    """

    name = "npu.lrn"

    input = operand_def(ANY_MAP)
    size = prop_def(IntegerAttr)
    alpha = prop_def(FloatAttr)
    beta = prop_def(FloatAttr)
    bias = prop_def(FloatAttr)

    CLAUSES: ClassVar = (
        int_clause("size"),
        float_clause("alpha"),
        float_clause("beta"),
        float_clause("bias"),
    )

    def __init__(
        self,
        input: SSAValue,
        size: int,
        out: SSAValue | Attribute,
        *,
        alpha: float,
        beta: float,
        bias: float,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                "size": IntegerAttr(size, i64),
                "alpha": FloatAttr(alpha, Float64Type()),
                "beta": FloatAttr(beta, Float64Type()),
                "bias": FloatAttr(bias, Float64Type()),
            },
        )

    @property
    def reach(self) -> tuple[int, int]:
        """How many channels before and after its own an element reads."""
        others = self.size.value.data - 1
        return others // 2, others - others // 2

    @property
    def scale(self) -> float:
        """The factor of the sum of the squares."""
        return self.alpha.value.data / self.size.value.data

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        shape, size = shape_of(self.input), self.size.value.data
        if len(shape) < 2:
            raise VerifyException(f"expected an input [N, C, ...], got {self.input.type}")
        if size < 1:
            raise VerifyException(f"expected a size of at least 1 channel, got {size}")
        return shape
