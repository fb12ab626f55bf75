"""Average pooling of quantised maps; `quantized.py` explains the symbols of the docstrings."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import (
    INT_ARRAY,
    PoolAttr,
    check_window,
    float_values,
    int_array,
    int_values,
)
from npu_dialect.npu.enums import Mode, ModeAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import expect_pooled, expect_rank, form
from npu_dialect.npu.layers.pooling import pool_properties
from npu_dialect.npu.layers.quantized import SCALES, float_array
from npu_dialect.npu.maps import ANY_MAP, map_type, shape_of
from npu_dialect.npu.quantization import (
    QUANTISED,
    check_mode,
    check_points,
    check_scales,
    expect_element,
    largest_of,
)
from npu_dialect.npu.syntax import flag_clause, floats_clause, ints_clause, mode_clause

AVERAGING = (Mode.FLOAT, Mode.FIXED, Mode.QLINEAR, Mode.HALF_UP)
"""The modes of averages."""


@irdl_op_definition
class QuantizedAvgPool2dOp(LayerOp):
    """Average of a quantised map over a sliding window.

    Scales and zero points are those of the input (si, zi) and the output (so, zo). With n counted
    taps (see `npu.avg_pool2d`), the modes compute, in this order:

    - `mode float`: the float32 sum of (q - zi) * si over each column of the window; these sums
      added up from left to right; / n, / so, round, + zo, sat. This is AveragePool between
      DequantizeLinear and QuantizeLinear. A window that is the whole map has four partial sums
      instead, each of every fourth element. They are added up as (0 + 2) + (1 + 3), then the
      remaining elements are added.
    - `mode qlinear`: one float32 sum, row by row; / n, / so, + zo, round, sat. This is
      onnxruntime's QLinearAveragePool. For a window that is the whole map, it is sat(round(sum(q -
      zi) * (si / (so * n))) + zo) with an integer sum: QLinearGlobalAveragePool.
    - `mode fixed`: the integer sum times `Multiplier.of(si / (so * n))`, rounded once.
    - `mode half_up`: the integer sum times `Multiplier.reciprocal(n)`, rounded half up; both scales
      are equal. This is `tosa.avg_pool2d`.

    Windows of an i16 map whose sums may not fit into 32 bits have `mode float` only.

    ```mlir
    %y = npu.quantized_avg_pool2d %x kernel [2, 2] strides [2, 2] scales [0.5, 0.5]
        zero_points [-128, -128] mode float : tensor<1x6x28x28xi8> -> tensor<1x6x14x14xi8>
    ```
    """

    name = "npu.quantized_avg_pool2d"

    input = operand_def(ANY_MAP)

    kernel = prop_def(INT_ARRAY)
    strides = prop_def(INT_ARRAY)
    pads = prop_def(INT_ARRAY)
    dilations = prop_def(INT_ARRAY)
    ceil_mode = opt_prop_def(UnitAttr)
    count_include_pad = opt_prop_def(UnitAttr)
    scales = prop_def(SCALES)
    zero_points = prop_def(INT_ARRAY)
    mode = prop_def(ModeAttr)

    CLAUSES: ClassVar = (
        ints_clause("kernel"),
        ints_clause("strides", (1, 1), always=True),
        ints_clause("pads", (0, 0, 0, 0)),
        ints_clause("dilations", (1, 1)),
        flag_clause("ceil_mode"),
        flag_clause("count_include_pad"),
        floats_clause("scales"),
        ints_clause("zero_points"),
        mode_clause(AVERAGING),
    )

    def __init__(
        self,
        input: SSAValue,
        pool: PoolAttr,
        scales: Sequence[float],
        zero_points: Sequence[int],
        out: SSAValue | Attribute,
        *,
        mode: str = "float",
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                **pool_properties(pool),
                "count_include_pad": UnitAttr() if pool.includes_pad else None,
                "scales": float_array(scales),
                "zero_points": int_array(zero_points),
                "mode": ModeAttr(Mode(mode)),
            },
        )

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

    @property
    def is_global(self) -> bool:
        """Whether the window is the whole map."""
        whole = shape_of(self.input)[2:] == int_values(self.kernel)
        return whole and not any(int_values(self.pads)) and set(int_values(self.dilations)) == {1}

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that the layer can work in."""
        element = map_type(self.input).get_element_type()
        largest = largest_of(element, int_values(self.zero_points)[0])
        return (Mode.FLOAT,) if largest * prod(int_values(self.kernel)) >= 2**31 else AVERAGING

    def infer_shape(self) -> tuple[int, ...]:
        """[N, C, PH, PW]."""
        batch, channels, height, width = expect_rank("an input", self.input, 4)
        check_window(self.kernel, self.strides, self.pads, self.dilations)
        check_scales(self.scales, 2)
        if self.mode.data == Mode.HALF_UP and len(set(float_values(self.scales))) > 1:
            raise VerifyException("expected equal scales in mode half_up")
        return (batch, channels, *expect_pooled(self.window().axes(height, width)))

    def verify_elements(self, element: Attribute) -> None:
        """Input and output are each i8, ui8 or i16, with a zero point in its range."""
        values = (self.input, self.output)
        check_points(self.zero_points, [expect_element("maps", v, QUANTISED) for v in values])
        check_mode(self.mode, self.modes)
