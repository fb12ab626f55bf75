"""Pooling layers over sliding windows, and over whole maps."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import INT_ARRAY, PoolAttr, check_window, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import expect_pooled, expect_rank, form
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import ANY_MAP
from npu_dialect.npu.syntax import flag_clause, ints_clause


class PoolOp(LayerOp):
    """The base of the two pooling layers with sliding windows."""

    input = operand_def(ANY_MAP)

    kernel = prop_def(INT_ARRAY)
    strides = prop_def(INT_ARRAY)
    pads = prop_def(INT_ARRAY)
    dilations = prop_def(INT_ARRAY)
    ceil_mode = opt_prop_def(UnitAttr)

    CLAUSES: ClassVar = (
        ints_clause("kernel"),
        ints_clause("strides", (1, 1), always=True),
        ints_clause("pads", (0, 0, 0, 0)),
        ints_clause("dilations", (1, 1)),
        flag_clause("ceil_mode"),
    )

    def window(self) -> PoolAttr:
        """The pooling window as an attribute."""
        raise NotImplementedError

    def infer_shape(self) -> tuple[int, ...]:
        """[N, C, PH, PW]."""
        batch, channels, height, width = expect_rank("an input", self.input, 4)
        check_window(self.kernel, self.strides, self.pads, self.dilations)
        return (batch, channels, *expect_pooled(self.window().axes(height, width)))


@irdl_op_definition
class MaxPool2dOp(PoolOp):
    """Maximum over a sliding window (ONNX MaxPool); padding is ignored.

    ```mlir
    %y = npu.max_pool2d %x kernel [2, 2] strides [2, 2]
        : tensor<1x6x28x28xf32> -> tensor<1x6x14x14xf32>
    ```
    """

    name = "npu.max_pool2d"

    def __init__(self, input: SSAValue, pool: PoolAttr, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, operands],
            result_types=[results],
            properties=pool_properties(pool),
        )

    def window(self) -> PoolAttr:
        """The pooling window as an attribute."""
        return PoolAttr.of(
            "max",
            int_values(self.kernel),
            int_values(self.strides),
            int_values(self.pads),
            int_values(self.dilations),
            ceil_mode=self.ceil_mode is not None,
        )


@irdl_op_definition
class AvgPool2dOp(PoolOp):
    """Average over a sliding window (ONNX AveragePool).

    With `count_include_pad` the divisor also counts taps on explicit padding. Taps beyond it, which
    a partial window of `ceil_mode` has, never count.

    ```mlir
    %y = npu.avg_pool2d %x kernel [2, 2] strides [2, 2]
        : tensor<1x6x28x28xf32> -> tensor<1x6x14x14xf32>
    ```
    """

    name = "npu.avg_pool2d"

    count_include_pad = opt_prop_def(UnitAttr)

    CLAUSES: ClassVar = (*PoolOp.CLAUSES, flag_clause("count_include_pad"))

    def __init__(self, input: SSAValue, pool: PoolAttr, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        properties = pool_properties(pool)
        properties["count_include_pad"] = UnitAttr() if pool.includes_pad else None
        super().__init__(operands=[input, operands], result_types=[results], properties=properties)

    def window(self) -> PoolAttr:
        """The pooling window as an attribute."""
        return PoolAttr.of(
            "avg",
            int_values(self.kernel),
            int_values(self.strides),
            int_values(self.pads),
            int_values(self.dilations),
            ceil_mode=self.ceil_mode is not None,
            count_include_pad=self.count_include_pad is not None,
        )


class GlobalPoolOp(UnaryOp):
    """The base of the two global pooling layers."""

    def infer_shape(self) -> tuple[int, ...]:
        """[N, C, 1, 1]."""
        batch, channels, height, width = expect_rank("an input", self.input, 4)
        if height * width == 0:
            raise VerifyException(f"expected a map with elements, got {self.input.type}")
        return batch, channels, 1, 1


@irdl_op_definition
class GlobalMaxPool2dOp(GlobalPoolOp):
    """Maximum of each channel (ONNX GlobalMaxPool).

    ```mlir
    %y = npu.global_max_pool2d %x : tensor<1x6x28x28xf32> -> tensor<1x6x1x1xf32>
    ```
    """

    name = "npu.global_max_pool2d"


@irdl_op_definition
class GlobalAvgPool2dOp(GlobalPoolOp):
    """Average of each channel (ONNX GlobalAveragePool).

    ```mlir
    %y = npu.global_avg_pool2d %x : tensor<1x6x28x28xf32> -> tensor<1x6x1x1xf32>
    ```
    """

    name = "npu.global_avg_pool2d"


def pool_properties(pool: PoolAttr) -> dict[str, Attribute | None]:
    """The properties of a pooling layer with this window."""
    return {
        "kernel": pool.kernel,
        "strides": pool.strides,
        "pads": pool.pads,
        "dilations": pool.dilations,
        "ceil_mode": UnitAttr() if pool.ceil_mode else None,
    }
