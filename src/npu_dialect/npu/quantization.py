"""Quantised integers: their element types and attributes, and scales as integer multipliers.

A quantised map of i8 (int8), ui8 (uint8) or i16 (int16) elements stands for real numbers,

    real = (q - zero_point) * scale

and sums of products are i32, or i64 where those of 16-bit maps may overflow. Scales and zero points
are attributes of the layers that use them; maps carry none. docs/quantisation.md has the whole
picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, isfinite, ldexp
from typing import TypeVar

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    Signedness,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import (
    ClauseAttr,
    float_values,
    int_array,
    int_values,
    parse_floats,
    parse_ints,
    print_floats,
    print_ints,
)
from npu_dialect.npu.enums import Mode, ModeAttr, Side, SideAttr
from npu_dialect.npu.maps import map_type
from npu_dialect.words import parse_word

T = TypeVar("T")

ui8 = IntegerType(8, Signedness.UNSIGNED)
"""The element type of uint8 maps; i8 is that of int8 maps."""

BYTE_TYPES: tuple[IntegerType, ...] = (i8, ui8)
"""Element types of quantised maps of 8 bits."""
QUANTISED: tuple[IntegerType, ...] = (*BYTE_TYPES, i16)
"""Element types of quantised maps."""
SUMS: tuple[IntegerType, ...] = (i32, i64)
"""Element types of sums of products of quantised maps and weights, and of their biases."""

WIDE_BITS = 15
"""Bits of the multiplier of an i64 sum in mode `fixed`."""
EXACT = (Mode.HALF_UP, Mode.DOUBLE_ROUND)
"""The modes whose scales are multipliers given exactly, as float64 numbers."""
MODES = (Mode.FLOAT, Mode.FIXED, *EXACT)
"""The modes of an op that changes the scale of one map."""
PAIR_MODES = (Mode.FLOAT, Mode.FIXED, Mode.QLINEAR)
"""The modes of an op on two maps."""
SUM_MODES = (*PAIR_MODES, *EXACT)
"""The modes of a sum of two maps."""

DOUBLE_BITS = 31
"""TOSA rounds twice where the shift is above this number, first to this many bits less."""


def limits_of(element: Attribute) -> tuple[int, int]:
    """The least and the greatest integer of a quantised element type, or of i32."""
    if element in (i16, i32):
        half = 2**15 if element == i16 else 2**31
        return -half, half - 1
    return (0, 255) if element == ui8 else (-128, 127)


def largest_of(element: Attribute, zero_point: int) -> int:
    """The largest |q - zero_point| of the integers of a quantised element type."""
    return max(abs(limit - zero_point) for limit in limits_of(element))


@dataclass(frozen=True)
class Multiplier:
    """A positive real number as `value * 2^-shift`, with a value of 31 bits and 1 <= shift <= 62.

    A float32 has 24 bits, so the multiplier is exact unless the number is so small that its product
    with every i32 rounds to zero. For i64 sums the value has 15 bits, as in CMSIS-NN, so that the
    product with a sum of 48 bits fits into 64.
    """

    value: int
    shift: int

    @staticmethod
    def of(number: float, bits: int = 31) -> Multiplier:
        """The nearest multiplier with a value of `bits`.

        Numbers above 2^(bits - 2) become that, as their products with integers saturate anyway.
        """
        fraction, exponent = frexp(min(number, 2.0 ** (bits - 2)))
        shift = bits - exponent
        value = round(fraction * 2**bits)
        if shift > 62:
            return Multiplier(0, 62)
        return Multiplier(value, shift) if value < 2**bits else Multiplier(value // 2, shift - 1)

    @staticmethod
    def reciprocal(count: int) -> Multiplier:
        """The multiplier of `tosa.avg_pool2d` for 1 / count, a little above that."""
        bits = (count - 1).bit_length()
        return Multiplier((((1 << 30) + 1) << bits) // count, 30 + bits)

    @property
    def number(self) -> float:
        """The real number, exactly."""
        return ldexp(self.value, -self.shift)

    def scaled(self, product: int) -> int:
        """`product * 2^-shift`, rounded half to even; `product` is a multiple of `value`."""
        odd = (product >> self.shift) & 1
        return (product + (1 << (self.shift - 1)) - 1 + odd) >> self.shift


def add_multipliers(lhs: float, rhs: float, result: float) -> tuple[int, int, int]:
    """The ratios lhs / result and rhs / result of the scales of an addition, as integers.

    Returns: both integers and their common shift: a ratio is its integer times 2^-shift.
    """
    shift = Multiplier.of(max(lhs, rhs) / result).shift
    ma, mb = (round(min(scale / result, 2.0**29) * 2.0**shift) for scale in (lhs, rhs))
    return ma, mb, shift


@irdl_attr_definition
class RequantizeAttr(ClauseAttr):
    """Rescales a layer's i32 sums to quantised integers: `requantize scales [...] ...`.

    There is one scale for all channels, or one for each. The zero point is that of the result. In
    the modes `EXACT` the scales are float64 numbers, else float32.
    """

    name = "npu.requantization"
    EXPECTED = "`requantize`"

    scales: DenseArrayBase[Float32Type | Float64Type]
    zero_point: IntegerAttr
    mode: ModeAttr

    @staticmethod
    def of(scales: Sequence[float], zero_point: int, mode: str = "float") -> RequantizeAttr:
        """Build from Python values."""
        return RequantizeAttr(
            scales_array(scales, mode),
            IntegerAttr(zero_point, i64),
            ModeAttr(Mode(mode)),
        )

    @property
    def offset(self) -> int:
        """The zero point as a Python integer."""
        return self.zero_point.value.data

    def verify(self) -> None:
        """Check the scales and the mode."""
        check_scales(self.scales)
        check_mode(self.mode, MODES)
        check_exact(self.scales, self.mode)

    @classmethod
    def parse_clause(cls, parser: AttrParser) -> RequantizeAttr | None:
        """Parse `requantize scales [0.5] zero_point -3 mode float` if it comes next."""
        if not parser.parse_optional_keyword("requantize"):
            return None
        parser.parse_keyword("scales")
        scales = parse_floats(parser)
        parser.parse_keyword("zero_point")
        zero_point = parser.parse_integer()
        parser.parse_keyword("mode")
        return cls.of(scales, zero_point, parse_word(parser, MODES, "mode"))

    def print_clause(self, printer: Printer) -> None:
        """Print what `parse_clause` reads."""
        printer.print_string("requantize scales ")
        print_floats(printer, self.scales)
        printer.print_string(f" zero_point {self.offset} mode {self.mode.data}")


@irdl_attr_definition
class AdditionAttr(ClauseAttr):
    """Adds the operand `residual` to a layer's output: `add residual first ...`.

    `side` says whether the residual is the first or the second summand. For quantised integers
    there are scales and zero points of the first summand, the second summand and the sum, and a
    mode, as in `npu.quantized_add`. For floats the lists are empty.
    """

    name = "npu.addition"
    EXPECTED = "`add`"

    side: SideAttr
    scales: DenseArrayBase[Float32Type | Float64Type]
    zero_points: DenseArrayBase[I64]
    mode: ModeAttr

    @staticmethod
    def of(
        side: str,
        scales: Sequence[float] = (),
        zero_points: Sequence[int] = (),
        mode: str = "float",
    ) -> AdditionAttr:
        """Build from Python values; `side` is `first` or `second`."""
        return AdditionAttr(
            SideAttr(Side(side)),
            scales_array(scales, mode),
            int_array(zero_points),
            ModeAttr(Mode(mode)),
        )

    @property
    def residual_first(self) -> bool:
        """Whether the residual is the first summand."""
        return self.side.data == Side.FIRST

    @property
    def is_quantised(self) -> bool:
        """Whether the summands are quantised integers, each with its own scale."""
        return len(self.scales) > 0

    def ordered(self, residual: T, own: T) -> tuple[T, T]:
        """A value of the residual and one of the layer's own output, as (first, second) summand."""
        return (residual, own) if self.residual_first else (own, residual)

    def verify(self) -> None:
        """Check the scales and the zero points."""
        if self.is_quantised:
            check_scales(self.scales, 3)
            check_mode(self.mode, SUM_MODES)
            check_exact(self.scales, self.mode)
        if len(self.zero_points) != len(self.scales):
            points = list(int_values(self.zero_points))
            raise VerifyException(f"expected {len(self.scales)} zero points, got {points}")

    @classmethod
    def parse_clause(cls, parser: AttrParser) -> AdditionAttr | None:
        """Parse `add residual first [scales [..] zero_points [..] mode word]` if it is next."""
        if not parser.parse_optional_keyword("add"):
            return None
        parser.parse_keyword("residual")
        side = parse_word(parser, Side, "a residual")
        if not parser.parse_optional_keyword("scales"):
            return cls.of(side)
        scales = parse_floats(parser)
        parser.parse_keyword("zero_points")
        zero_points = parse_ints(parser)
        parser.parse_keyword("mode")
        return cls.of(side, scales, zero_points, parse_word(parser, SUM_MODES, "mode"))

    def print_clause(self, printer: Printer) -> None:
        """Print what `parse_clause` reads."""
        printer.print_string(f"add residual {self.side.data}")
        if self.is_quantised:
            printer.print_string(" scales ")
            print_floats(printer, self.scales)
            printer.print_string(" zero_points ")
            print_ints(printer, self.zero_points)
            printer.print_string(f" mode {self.mode.data}")


def scales_array(scales: Sequence[float], mode: str) -> DenseArrayBase[Float32Type | Float64Type]:
    """The scales of a mode as an attribute."""
    element = f64 if Mode(mode) in EXACT else f32
    return DenseArrayBase[Float32Type | Float64Type].from_list(element, scales)


def check_exact(scales: DenseArrayBase[Float32Type | Float64Type], mode: ModeAttr) -> None:
    """Check that the scales of a mode of `EXACT` are multipliers, and those of others float32.

    Raises: VerifyException if not.
    """
    is_exact = mode.data in EXACT
    if isinstance(scales.elt_type, Float64Type) != is_exact:
        wanted = "f64" if is_exact else "f32"
        raise VerifyException(f"expected scales of {wanted} in mode {mode.data}")
    wrong = [each for each in float_values(scales) if Multiplier.of(each).number != each]
    if is_exact and wrong:
        raise VerifyException(
            f"expected scales of 31 bits above 2^-32 in mode {mode.data}, got {wrong[0]}"
        )


def check_exact_sum(
    scales: Sequence[float], points: Sequence[int], elements: Sequence[Attribute]
) -> None:
    """Check that two summands, each times its exact scale, fit into i32 together.

    Raises: VerifyException if not.
    """
    most = sum(
        largest_of(element, point) * scale + 1
        for scale, point, element in zip(scales, points, elements, strict=False)
    )
    if most >= 2**31:
        raise VerifyException(f"expected a sum below 2^31, got up to {most:.0f}")


def check_scales(
    scales: DenseArrayBase[Float32Type | Float64Type], count: int | None = None
) -> None:
    """Check that scales are positive and finite, and that there are `count` of them if given.

    Raises: VerifyException if they are not.
    """
    values = float_values(scales)
    if count is not None and len(values) != count:
        raise VerifyException(f"expected {count} scales, got {len(values)}")
    if not values or any(not (isfinite(value) and value > 0) for value in values):
        raise VerifyException(f"expected positive, finite scales, got {list(values)}")


def check_channel_scales(scales: DenseArrayBase[Float32Type | Float64Type], channels: int) -> None:
    """Check that there is one positive scale for all channels, or one for each.

    Raises: VerifyException if not.
    """
    check_scales(scales)
    if len(scales) not in (1, channels):
        raise VerifyException(f"expected 1 or {channels} scales, got {len(scales)}")


def check_mode(mode: ModeAttr, modes: Sequence[Mode]) -> None:
    """Check that a mode is one of `modes`, those that an op can work in.

    Raises: VerifyException if it is not.
    """
    if mode.data not in modes:
        raise VerifyException(f"expected mode {' or '.join(modes)}, got {mode.data}")


def check_zero_point(zero_point: int, element: Attribute) -> None:
    """Check that a zero point is in the range of its element type; it is 0 for i32 and floats.

    Raises: VerifyException if it is not.
    """
    low, high = limits_of(element) if element in QUANTISED else (0, 0)
    if not low <= zero_point <= high:
        raise VerifyException(
            f"expected a zero point of {element} in [{low}, {high}], got {zero_point}"
        )


def check_points(points: DenseArrayBase[IntegerType], elements: Sequence[Attribute]) -> None:
    """Check that there is one zero point in range for each element type.

    Raises: VerifyException if not.
    """
    values = int_values(points)
    if len(values) != len(elements):
        raise VerifyException(f"expected {len(elements)} zero points, got {list(values)}")
    for value, element in zip(values, elements, strict=True):
        check_zero_point(value, element)


def expect_element(what: str, value: SSAValue, types: Sequence[Attribute]) -> Attribute:
    """The element type of a map, which must be one of `types`; messages call the map `what`.

    Raises: VerifyException if it is another type.
    """
    element = map_type(value).get_element_type()
    if element not in types:
        names = " or ".join(map(str, types))
        raise VerifyException(f"expected {what} with elements of type {names}, got {value.type}")
    return element
