"""The pieces of a layer's syntax: `keyword value` clauses, and operands with their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    f32,
    f64,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from npu_dialect.npu.attributes import (
    ClauseAttr,
    int_array,
    parse_float,
    parse_floats,
    parse_ints,
    print_float,
    print_floats,
    print_ints,
)
from npu_dialect.npu.enums import Mode, ModeAttr
from npu_dialect.words import WordT, parse_word


@dataclass(frozen=True)
class Clause:
    """One `keyword value` of a layer's syntax, stored in a property."""

    keyword: str
    prop: str
    parse: Callable[[Parser], Attribute | None]
    print: Callable[[Printer, Attribute], None]
    default: Attribute | None = None
    """The value of an absent clause; a clause with this value is not printed, unless `always`."""
    required: bool = False
    always: bool = False
    """Whether the clause is printed even with the default value."""


def ints_clause(
    keyword: str,
    default: Sequence[int] | None = None,
    *,
    always: bool = False,
    optional: bool = False,
) -> Clause:
    """The clause `keyword [1, 2]`; it is required if it has no default and is not optional."""

    def write(printer: Printer, attribute: Attribute) -> None:
        assert isa(attribute, DenseArrayBase[IntegerType])
        printer.print_string(" ")
        print_ints(printer, attribute)

    return Clause(
        keyword,
        keyword,
        lambda parser: int_array(parse_ints(parser)),
        write,
        None if default is None else int_array(default),
        required=default is None and not optional,
        always=always,
    )


def int_clause(keyword: str, default: int | None = None) -> Clause:
    """The clause `keyword 1`; it is required if it has no default."""

    def write(printer: Printer, attribute: Attribute) -> None:
        assert isinstance(attribute, IntegerAttr)
        printer.print_string(f" {attribute.value.data}")

    return Clause(
        keyword,
        keyword,
        lambda parser: IntegerAttr(parser.parse_integer(), i64),
        write,
        None if default is None else IntegerAttr(default, i64),
        required=default is None,
    )


def floats_clause(keyword: str, *, exact: bool = False) -> Clause:
    """The required clause `keyword [0.5, 0.25]`, of float32 numbers, or if `exact` of float64."""

    def write(printer: Printer, attribute: Attribute) -> None:
        assert isa(attribute, DenseArrayBase[Float32Type | Float64Type])
        printer.print_string(" ")
        print_floats(printer, attribute)

    return Clause(
        keyword,
        keyword,
        lambda parser: DenseArrayBase.from_list(f64 if exact else f32, parse_floats(parser)),
        write,
        required=True,
    )


def mode_clause(modes: Sequence[Mode]) -> Clause:
    """The required clause `mode float`; `modes` are the words that it takes."""
    return word_clause("mode", "mode", modes, ModeAttr)


def word_clause(
    keyword: str, prop: str, words: Sequence[WordT], kind: Callable[[WordT], Attribute]
) -> Clause:
    """The required clause `keyword word`; `kind` makes the enum attribute of one of `words`."""

    def write(printer: Printer, attribute: Attribute) -> None:
        printer.print_string(f" {cast('EnumAttribute[StrEnum]', attribute).data}")

    return Clause(
        keyword,
        prop,
        lambda parser: kind(parse_word(parser, words, keyword)),
        write,
        required=True,
    )


def float_clause(keyword: str, *, optional: bool = False) -> Clause:
    """The clause `keyword 0.5`; it is required unless it is optional."""

    def write(printer: Printer, attribute: Attribute) -> None:
        assert isinstance(attribute, FloatAttr)
        printer.print_string(" ")
        print_float(printer, attribute.value.data)

    return Clause(
        keyword,
        keyword,
        lambda parser: FloatAttr(parse_float(parser), Float64Type()),
        write,
        required=not optional,
    )


def attribute_clause(keyword: str, prop: str, kind: type[ClauseAttr]) -> Clause:
    """The required clause `keyword ...`, of an attribute that ops print without its name."""

    def read(parser: Parser) -> Attribute:
        found = kind.parse_clause(parser)
        if found is None:
            parser.raise_error(f"expected {kind.EXPECTED}")
        return found

    def write(printer: Printer, attribute: Attribute) -> None:
        assert isinstance(attribute, ClauseAttr)
        printer.print_string(" ")
        attribute.print_clause(printer)

    return Clause(keyword, prop, read, write, required=True)


def flag_clause(keyword: str) -> Clause:
    """The clause `keyword`: a flag that is set if the clause is there."""
    return Clause(keyword, keyword, lambda _: UnitAttr(), lambda _p, _a: None)


def parse_typed_operands(parser: Parser) -> Sequence[SSAValue]:
    """Parse `(%a, %b : type, type)`."""
    with parser.in_parens():
        names = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return parser.resolve_operands(names, types, parser.pos)


def print_typed_operands(printer: Printer, keyword: str, values: Sequence[SSAValue]) -> None:
    """Print `keyword(%a, %b : type, type)`."""
    printer.print_string(keyword)
    with printer.in_parens():
        printer.print_list(values, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list([value.type for value in values], printer.print_attribute)
