"""Matrix product of two maps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import int_array
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.epilogue import epilogue_of
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.layers.weighted import SumsOp
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.quantization import (
    QUANTISED,
    check_points,
    check_scales,
    check_zero_point,
    expect_element,
)
from npu_dialect.npu.syntax import flag_clause, ints_clause
from npu_dialect.windows import broadcast


@irdl_op_definition
class MatmulOp(SumsOp):
    """Product of two maps of matrices (ONNX MatMul), with an optional activation.

    lhs [..., M, K], rhs [..., K, N], result [..., M, N]. The axes before the last two are broadcast
    as in numpy. With `transposed_rhs`, rhs is [..., N, K], as in attention, where queries are
    multiplied by keys: both are then read along K.

    With `zero_points [lhs, rhs]` the maps are quantised integers and the sums are i32; `then
    requantize`, with one scale, makes them quantised integers again.

    ```mlir
    %y = npu.matmul %a, %b : (tensor<2x5x8xf32>, tensor<8x3xf32>) -> tensor<2x5x3xf32>
    ```
    """

    name = "npu.matmul"

    lhs = operand_def(ANY_MAP)
    rhs = operand_def(ANY_MAP)
    transposed_rhs = opt_prop_def(UnitAttr)

    STRIDED: ClassVar = True
    CLAUSES: ClassVar = (
        flag_clause("transposed_rhs"),
        ints_clause("zero_points", optional=True),
    )

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        out: SSAValue | Attribute,
        *,
        transposed_rhs: bool = False,
        zero_points: Sequence[int] | None = None,
        epilogue: Epilogue | None = None,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[lhs, rhs, operands],
            result_types=[results],
            properties={
                "transposed_rhs": UnitAttr() if transposed_rhs else None,
                "zero_points": None if zero_points is None else int_array(zero_points),
                "epilogue": epilogue_of(epilogue),
            },
        )

    @property
    def depth(self) -> int:
        """K, the number of products in a sum."""
        return shape_of(self.lhs)[-1]

    def infer_shape(self) -> tuple[int, ...]:
        """[..., M, N]."""
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        if min(len(lhs), len(rhs)) < 2:
            raise VerifyException(
                f"expected maps of at least 2 axes, got {self.lhs.type} and {self.rhs.type}"
            )
        depth, columns = rhs[-2:] if self.transposed_rhs is None else rhs[:-3:-1]
        if depth != lhs[-1]:
            raise VerifyException(
                f"expected matrices of {lhs[-1]} columns and {lhs[-1]} rows, got {depth} rows: "
                f"{self.lhs.type} and {self.rhs.type}"
            )
        batch = broadcast(lhs[:-2], rhs[:-2])
        if batch is None:
            raise VerifyException(
                f"expected matrices whose other axes broadcast, got {self.lhs.type} and "
                f"{self.rhs.type}"
            )
        return (*batch, lhs[-2], columns)

    def macs(self) -> int:
        """One multiply-accumulate for each element of the result and each k."""
        return prod(self.infer_shape()) * self.depth

    def verify_elements(self, element: Attribute) -> None:
        """Check the element types, and that nothing but scale and activation is behind the sums."""
        for part, what in ((self.pool, "pooling window"), (self.addition, "addition")):
            if part is not None:
                raise VerifyException(f"expected no {what} behind a matrix product")
        if self.zero_points is None:
            if self.requantize is not None:
                raise VerifyException("expected requantize only with zero_points [lhs, rhs]")
            LayerOp.verify_elements(self, element)
            return
        kinds = [expect_element("a matrix", value, QUANTISED) for value in (self.lhs, self.rhs)]
        check_points(self.zero_points, kinds)
        expect_element("an output", self.output, [i32] if self.requantize is None else QUANTISED)
        if self.requantize is not None:
            check_zero_point(self.requantize.offset, element)
            check_scales(self.requantize.scales, 1)
