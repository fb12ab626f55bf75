"""`tosa` as MLIR 19 and newer print it.

    %y = tosa.conv2d %x, %w, %b {pad = array<i64: 0, 0, 0, 0>, ...} : (...) -> tensor<1x8x8x4xf32>

MLIR 19 has zero points, pads and scales as attributes, later versions as operands. So an op here
takes any operands, and the attributes of all versions; whoever reads it says what it expects. The
ops print in the form that they are parsed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from xdsl.dialects import tosa
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, IntAttr, UnitAttr
from xdsl.ir import Attribute, Data, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

WORDS: Mapping[str, type[tosa.RoundingModeAttr | tosa.NanModeAttr]] = {
    "rounding_mode": tosa.RoundingModeAttr,
    "nan_mode": tosa.NanModeAttr,
}
"""Attributes whose value is one word, without a prefix."""


class ZeroPointsAttr(Data[tuple[tuple[str, int], ...]]):
    """Zero points of a layer, in the order of the text: `<input_zp = -1, weight_zp = 0>`."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[str, int], ...]:
        """Parse names and integers."""

        def entry() -> tuple[str, int]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            return name, parser.parse_integer(allow_boolean=False)

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry))

    def print_parameter(self, printer: Printer) -> None:
        """Print what `parse_parameter` reads."""
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"{name} = {value}" for name, value in self.data))


@irdl_attr_definition
class ConvQuantAttr(ZeroPointsAttr):
    """Zero points of the input and of the weight of a convolution."""

    name = "tosa.conv_quant"


@irdl_attr_definition
class MatmulQuantAttr(ZeroPointsAttr):
    """Zero points of both operands of a matrix product."""

    name = "tosa.matmul_quant"


@irdl_attr_definition
class UnaryQuantAttr(ZeroPointsAttr):
    """Zero points of the input and of the output of an average or a negation."""

    name = "tosa.unary_quant"


@irdl_attr_definition
class PadQuantAttr(ZeroPointsAttr):
    """The zero point of a padded map."""

    name = "tosa.pad_quant"


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """The type of a list of `rank` constants, `!tosa.shape<4>`."""

    name = "tosa.shape"

    rank: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        """Parse `<4>`."""
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer(allow_negative=False, allow_boolean=False))]

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            printer.print_int(self.rank.data)


class AnyOp(IRDLOperation):
    """An op of any operands and results; as it stands, it has the generic form only."""

    arguments = var_operand_def()
    outputs = var_result_def()

    traits = traits_def(Pure())


class ConstantOp(AnyOp):
    """An op whose result is its attribute."""

    def verify_(self) -> None:
        """Check that the result has the type of the attribute."""
        kinds = DenseIntOrFPElementsAttr | DenseResourceAttr
        held = [each.get_type() for each in self.properties.values() if isa(each, kinds)]
        if len(held) != 1:
            raise VerifyException("expected one attribute with elements, `value` or `values`")
        if held != [*self.result_types]:
            raise VerifyException(f"expected elements of the type of the result, got {held[0]}")


class TosaOp(AnyOp):
    """An op in the form that most ops of `tosa` have."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse operands, attributes and types."""
        start = parser.pos
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        known = cls.get_irdl_definition().properties
        return cls.create(
            operands=parser.resolve_operands(names or (), type_.inputs.data, start),
            result_types=type_.outputs.data,
            properties={key: value for key, value in attributes.items() if key in known},
            attributes={key: value for key, value in attributes.items() if key not in known},
        )

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, {**self.properties, **self.attributes})
        printer.print_string(" : ")
        printer.print_operation_type(self)


def parse_attributes(parser: Parser) -> dict[str, Attribute]:
    """Parse `{pad = array<i64: 0, 0>, rounding_mode = SINGLE_ROUND}`, or nothing."""

    def entry() -> tuple[str, Attribute]:
        name = parser.parse_optional_str_literal() or parser.parse_identifier()
        if not parser.parse_optional_punctuation("="):
            return name, UnitAttr()
        if name not in WORDS:
            return name, parser.parse_attribute()
        kind: Any = WORDS[name]
        value = parser.parse_optional_attribute()
        return name, value or kind(parser.parse_str_enum(kind.enum_type))

    if parser.parse_optional_punctuation("{") is None:
        return {}
    entries = parser.parse_optional_undelimited_comma_separated_list(
        lambda: None if parser.parse_optional_punctuation("}") else entry(), entry
    )
    if entries is None:
        return {}
    parser.parse_punctuation("}")
    return dict(entries)


def print_attributes(printer: Printer, attributes: Mapping[str, Attribute]) -> None:
    """Print what `parse_attributes` reads."""
    if not attributes:
        return
    printer.print_string(" {")
    for index, (name, value) in enumerate(sorted(attributes.items())):
        printer.print_string(f"{', ' if index else ''}{name}")
        if isinstance(value, UnitAttr):
            continue
        printer.print_string(" = ")
        if isinstance(value, tosa.RoundingModeAttr | tosa.NanModeAttr):
            printer.print_string(value.data)
        else:
            printer.print_attribute(value)
    printer.print_string("}")


SLIDING = ("pad", "stride", "dilation", "quantization_info", "acc_type", "local_bound")
POOLING = ("kernel", "stride", "pad", "quantization_info", "acc_type", "nan_mode")
SCALING = ("input_zp", "output_zp", "multiplier", "shift", "scale32", "double_round")

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "abs": (),
    "apply_scale": ("double_round", "rounding_mode"),
    "avg_pool2d": POOLING,
    "cast": (),
    "ceil": (),
    "clamp": ("min_int", "max_int", "min_fp", "max_fp", "min_val", "max_val", "nan_mode"),
    "const_shape": ("value", "values"),
    "conv2d": SLIDING,
    "depthwise_conv2d": SLIDING,
    "erf": (),
    "exp": (),
    "floor": (),
    "fully_connected": ("quantization_info",),
    "identity": (),
    "log": (),
    "matmul": ("quantization_info",),
    "max_pool2d": POOLING,
    "maximum": ("nan_mode",),
    "minimum": ("nan_mode",),
    "mul": ("shift",),
    "negate": ("quantization_info",),
    "pad": ("quantization_info",),
    "rescale": (
        *SCALING,
        *("rounding_mode", "per_channel", "input_unsigned", "output_unsigned"),
    ),
    "reshape": ("new_shape",),
    "rsqrt": (),
    "sigmoid": (),
    "slice": ("start", "size"),
    "table": (),
    "tanh": (),
    "tile": ("multiples",),
    **{
        name: ()
        for name in (
            *("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "logical_and"),
            *("logical_left_shift", "logical_not", "logical_or", "logical_right_shift"),
            *("logical_xor", "clz", "equal", "gather", "greater", "greater_equal", "int_div"),
            *("intdiv", "pow", "scatter", "select"),
        )
    },
    "argmax": ("axis", "nan_mode"),
    "arithmetic_right_shift": ("round",),
    "conv3d": SLIDING,
    "custom": ("operator_name", "domain_name", "implementation_attrs"),
    "fft2d": ("inverse", "local_bound"),
    "resize": ("scale", "offset", "border", "mode"),
    "reverse": ("axis",),
    "rfft2d": ("local_bound",),
    "transpose": ("perms",),
    "transpose_conv2d": ("out_pad", "stride", "out_shape", "quantization_info", "acc_type"),
}
"""The ops that xDSL lacks or knows in one version only, and the attributes of all versions."""


def definition(
    name: str, attributes: tuple[str, ...], base: type[AnyOp] = TosaOp
) -> type[Operation]:
    """The op of a name, with optional attributes."""
    fields: dict[str, Any] = {each: opt_prop_def(Attribute) for each in attributes}
    title = "".join(word.capitalize() for word in name.split("_"))
    made: Any = type(f"{title}Op", (base,), {"name": f"tosa.{name}", **fields})
    made.__doc__ = f"`tosa.{name}` of any version."
    return irdl_op_definition(made)


CONST = definition("const", ("value", "values"), ConstantOp)
"""MLIR prints `tosa.const` in generic form."""
OPS = (CONST, *(definition(name, attributes) for name, attributes in ATTRIBUTES.items()))

TOSA = Dialect(
    "tosa",
    [*(op for op in tosa.TOSA.operations if op.name not in {o.name for o in OPS}), *OPS],
    [
        *tosa.TOSA.attributes,
        ConvQuantAttr,
        MatmulQuantAttr,
        UnaryQuantAttr,
        PadQuantAttr,
        ShapeType,
    ],
)
"""xDSL's dialect, with the ops and attributes of this file."""
