"""Layers between floats and quantised integers, and arithmetic between different scales.

The docstrings define what each op computes; the interpreter and the generated code agree with them
bit for bit. `round` rounds to the nearest integer, ties to even. `sat` clamps to the range of the
element type. Every operation in `mode float` is one float32 operation. q stands for an integer, s
for a scale, z for a zero point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyOf, EqAttrConstraint, irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.npu.attributes import INT_ARRAY, float_values, int_array, int_values
from npu_dialect.npu.enums import Mode, ModeAttr
from npu_dialect.npu.layers.elementwise import BinaryOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import (
    EXACT,
    MODES,
    PAIR_MODES,
    QUANTISED,
    SUM_MODES,
    SUMS,
    check_channel_scales,
    check_exact,
    check_exact_sum,
    check_mode,
    check_points,
    check_scales,
    check_zero_point,
    expect_element,
    scales_array,
)
from npu_dialect.npu.syntax import float_clause, floats_clause, int_clause, ints_clause, mode_clause

SCALES = DenseArrayBase.constr(f32)
EXACT_SCALES = DenseArrayBase[Float32Type | Float64Type].constr(
    AnyOf((EqAttrConstraint(f32), EqAttrConstraint(f64)))
)


def float_array(values: Sequence[float]) -> DenseArrayBase[Float32Type]:
    """An `array<f32: ...>` of Python numbers."""
    return DenseArrayBase.from_list(f32, values)


def with_scales_of_mode(properties: dict[str, Attribute]) -> dict[str, Attribute]:
    """Parsed properties, with scales of the type that the mode has."""
    scales, mode = properties["scales"], properties["mode"]
    assert isa(scales, DenseArrayBase[Float64Type])
    assert isinstance(mode, ModeAttr)
    return {**properties, "scales": scales_array(scales.get_values(), mode.data)}


def channels_of(value: SSAValue) -> int:
    """The extent of a map's channel axis, the second one; 1 if there is none."""
    shape = shape_of(value)
    return shape[1] if len(shape) > 1 else 1


@irdl_op_definition
class QuantizeOp(UnaryOp):
    """sat(round(x / scale) + zero_point), element by element (ONNX QuantizeLinear).

    NaN becomes the least integer.

    ```mlir
    %q = npu.quantize %x scales [0.5] zero_point -3 : tensor<4xf32> -> tensor<4xi8>
    ```
    """

    name = "npu.quantize"

    scales = prop_def(SCALES)
    zero_point = prop_def(IntegerAttr)

    CLAUSES: ClassVar = (floats_clause("scales"), int_clause("zero_point"))

    def __init__(
        self, input: SSAValue, scale: float, zero_point: int, out: SSAValue | Attribute
    ) -> None:
        operands, results = form(out)
        super(UnaryOp, self).__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                "scales": float_array([scale]),
                "zero_point": IntegerAttr(zero_point, i64),
            },
        )

    @property
    def scale(self) -> float:
        """The scale."""
        return float_values(self.scales)[0]

    @property
    def offset(self) -> int:
        """The zero point."""
        return self.zero_point.value.data

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        check_scales(self.scales, 1)
        return shape_of(self.input)

    def verify_elements(self, element: Attribute) -> None:
        """The input is f32, the output i8, ui8 or i16."""
        expect_element("an input", self.input, [f32])
        check_zero_point(self.offset, expect_element("an output", self.output, QUANTISED))


@irdl_op_definition
class DequantizeOp(UnaryOp):
    """(q - zero_point) * scale, element by element (ONNX DequantizeLinear).

    An input of sums (i32 or i64) may have one scale for each channel (the second axis).

    ```mlir
    %x = npu.dequantize %q scales [0.5] zero_point -3 : tensor<4xi8> -> tensor<4xf32>
    ```
    """

    name = "npu.dequantize"

    scales = prop_def(SCALES)
    zero_point = prop_def(IntegerAttr)

    CLAUSES: ClassVar = (floats_clause("scales"), int_clause("zero_point"))

    def __init__(
        self, input: SSAValue, scales: Sequence[float], zero_point: int, out: SSAValue | Attribute
    ) -> None:
        operands, results = form(out)
        super(UnaryOp, self).__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                "scales": float_array(scales),
                "zero_point": IntegerAttr(zero_point, i64),
            },
        )

    @property
    def offset(self) -> int:
        """The zero point."""
        return self.zero_point.value.data

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        check_channel_scales(self.scales, channels_of(self.input))
        return shape_of(self.input)

    def verify_elements(self, element: Attribute) -> None:
        """The input is i8, ui8, i16 or sums, the output f32."""
        found = expect_element("an input", self.input, (*QUANTISED, *SUMS))
        check_zero_point(self.offset, found)
        expect_element("an output", self.output, [f32])


@irdl_op_definition
class RequantizeOp(UnaryOp):
    """Rescales integers to quantised integers of another scale, element by element.

    The zero points are `zero_points [in, out]`. There is one scale for all channels (the second
    axis), or one for each.

    - `mode float`: sat(round((q - in) * scale) + out), or with a divisor, sat(round((q - in) *
      scale / divisor) + out). For sums of products, the scale is s_input * s_weight / s_output
      (ONNX QLinearConv). For a map whose scale changes, the scale is s_old and the divisor s_new
      (DequantizeLinear, then QuantizeLinear).
    - `mode fixed`: the same without floats; the product with `Multiplier.of(scale / divisor)` is
      exact and rounded once. The multiplier of i64 sums has 15 bits, else 31.
    - `mode half_up`: the product with the scale, an exact multiplier m * 2^-shift of 31 bits,
      rounded half up. This is `tosa.rescale` with single rounding.
    - `mode double_round`: the same with double rounding: for shifts above 31, 2^30 * 2^-shift is
      added to products of numbers from 0 on, and subtracted from others, before they are rounded.

    In the last two modes the result may also be i32, with zero point 0, for sums of maps.

    ```mlir
    %q = npu.requantize %sums scales [0.01, 0.02] zero_points [0, -3] mode float
        : tensor<1x2x4x4xi32> -> tensor<1x2x4x4xi8>
    ```
    """

    name = "npu.requantize"

    scales = prop_def(EXACT_SCALES)
    divisor = opt_prop_def(FloatAttr)
    zero_points = prop_def(INT_ARRAY)
    mode = prop_def(ModeAttr)

    ELEMENTWISE: ClassVar = True
    CLAUSES: ClassVar = (
        floats_clause("scales", exact=True),
        float_clause("divisor", optional=True),
        ints_clause("zero_points"),
        mode_clause(MODES),
    )

    def __init__(
        self,
        input: SSAValue,
        scales: Sequence[float],
        zero_points: Sequence[int],
        out: SSAValue | Attribute,
        *,
        divisor: float | None = None,
        mode: str = "float",
    ) -> None:
        operands, results = form(out)
        super(UnaryOp, self).__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                "scales": scales_array(scales, mode),
                "divisor": None if divisor is None else FloatAttr(divisor, Float64Type()),
                "zero_points": int_array(zero_points),
                "mode": ModeAttr(Mode(mode)),
            },
        )

    @classmethod
    def parse_clauses(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the clauses; the mode tells the type of the scales."""
        return with_scales_of_mode(super().parse_clauses(parser))

    @property
    def divided_by(self) -> float | None:
        """The divisor, if there is one."""
        return None if self.divisor is None else self.divisor.value.data

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        check_channel_scales(self.scales, channels_of(self.input))
        if self.divided_by is not None:
            check_scales(float_array([self.divided_by]))
        check_mode(self.mode, MODES)
        check_exact(self.scales, self.mode)
        return shape_of(self.input)

    def verify_elements(self, element: Attribute) -> None:
        """The input is i8, ui8, i16 or sums, the output i8, ui8 or i16."""
        exact = self.mode.data in EXACT
        wide = (*QUANTISED, i32) if exact else (*QUANTISED, *SUMS)
        found = expect_element("an input", self.input, wide)
        if exact and self.divisor is not None:
            raise VerifyException(f"expected no divisor in mode {self.mode.data}")
        results = (*QUANTISED, i32) if exact else QUANTISED
        check_points(self.zero_points, (found, expect_element("an output", self.output, results)))


class QuantizedPairOp(BinaryOp):
    """An element-wise layer of two quantised maps with numpy's broadcasting.

    Scales and zero points are those of lhs (a), rhs (b) and the result.
    """

    scales = prop_def(EXACT_SCALES)
    zero_points = prop_def(INT_ARRAY)
    mode = prop_def(ModeAttr)

    CLAUSES: ClassVar = (
        floats_clause("scales", exact=True),
        ints_clause("zero_points"),
        mode_clause(PAIR_MODES),
    )

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        scales: Sequence[float],
        zero_points: Sequence[int],
        out: SSAValue | Attribute,
        *,
        mode: str = "float",
    ) -> None:
        operands, results = form(out)
        super(BinaryOp, self).__init__(
            operands=[lhs, rhs, operands],
            result_types=[results],
            properties={
                "scales": scales_array(scales, mode),
                "zero_points": int_array(zero_points),
                "mode": ModeAttr(Mode(mode)),
            },
        )

    @classmethod
    def parse_clauses(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the clauses; the mode tells the type of the scales."""
        return with_scales_of_mode(super().parse_clauses(parser))

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that the layer can work in."""
        return PAIR_MODES

    def infer_shape(self) -> tuple[int, ...]:
        """The broadcast shape of the operands."""
        check_scales(self.scales, 3)
        check_mode(self.mode, self.modes)
        check_exact(self.scales, self.mode)
        return super().infer_shape()

    def verify_elements(self, element: Attribute) -> None:
        """Each operand and the result is i8, ui8 or i16, with a zero point in its range."""
        values = (self.lhs, self.rhs, self.output)
        check_points(self.zero_points, [expect_element("maps", v, QUANTISED) for v in values])


@irdl_op_definition
class QuantizedAddOp(QuantizedPairOp):
    """Sum of two quantised maps with numpy's broadcasting.

    Scales and zero points are those of lhs (a), rhs (b) and the sum.

    - `mode float`: sat(round(((a - za) * sa + (b - zb) * sb) / s) + z), which is Add between
      DequantizeLinear and QuantizeLinear.
    - `mode qlinear`: sat(round(fma(a, ra, fma(b, rb, c)))) with ra = sa / s, rb = sb / s and
      c = z - fma(ra, za, rb * zb), which is onnxruntime's QLinearAdd.
    - `mode fixed`: ra and rb are integers with a common shift; the sum is exact and rounded once.
    - `mode half_up`, `mode double_round`: sat(R((R((a - za) * sa) + R((b - zb) * sb)) * s) + z),
      where R rounds the product with an exact multiplier as `npu.requantize` does in that mode. s
      multiplies here, too. Sums must be below 2^31. This is `tosa.rescale` of both maps to i32,
      `tosa.add` and `tosa.rescale` of the sum.

    ```mlir
    %y = npu.quantized_add %a, %b scales [0.5, 0.25, 0.75] zero_points [0, 3, -128] mode float
        : (tensor<1x6x4x4xi8>, tensor<1x6x4x4xi8>) -> tensor<1x6x4x4xi8>
    ```
    """

    name = "npu.quantized_add"

    CLAUSES: ClassVar = (
        floats_clause("scales", exact=True),
        ints_clause("zero_points"),
        mode_clause(SUM_MODES),
    )

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that the layer can work in."""
        return SUM_MODES

    def verify_elements(self, element: Attribute) -> None:
        """Each operand and the result is i8, ui8 or i16; sums of exact scales fit into i32."""
        super().verify_elements(element)
        if self.mode.data in EXACT:
            elements = [map_type(each).get_element_type() for each in (self.lhs, self.rhs)]
            check_exact_sum(float_values(self.scales)[:2], int_values(self.zero_points), elements)
