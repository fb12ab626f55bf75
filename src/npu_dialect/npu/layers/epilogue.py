"""Syntax of what a layer does to its sums before it stores them: `then relu then max_pool ...`.

Integer sums get their new scale first: `then requantize ... then clamp ... then max_pool ...`. An
addition comes in place of the pooling window, with an activation of its own: `then relu then add
residual first then relu`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from npu_dialect.npu.attributes import ActivationAttr, PoolAttr
from npu_dialect.npu.quantization import AdditionAttr, RequantizeAttr


def parse_then(parser: Parser) -> dict[str, Attribute]:
    """Parse `then requantize ... then relu then max_pool ...`; each part may be left out."""
    found: dict[str, Attribute] = {}
    while parser.parse_optional_keyword("then"):
        if "addition" in found:
            parse_after_addition(parser, found, "sum_activation")
        elif "pool" not in found and (addition := AdditionAttr.parse_clause(parser)):
            found["addition"] = addition
        elif "pool" not in found and (pool := PoolAttr.parse_clause(parser)):
            found["pool"] = pool
            if parser.parse_optional_keyword("overlap"):
                found["overlap"] = StringAttr(parser.parse_identifier())
        elif not found and (requantize := RequantizeAttr.parse_clause(parser)):
            found["requantize"] = requantize
        elif not found.keys() - {"requantize"} and (
            activation := ActivationAttr.parse_clause(parser)
        ):
            found["activation"] = activation
        else:
            parser.raise_error(
                "expected an activation, or one pooling window after it, or one addition"
            )
    return found


def parse_after_addition(parser: Parser, found: dict[str, Attribute], prop: str) -> None:
    """Parse the activation of a sum, for a property that has none yet."""
    activation = ActivationAttr.parse_clause(parser)
    if activation is None or prop in found:
        parser.raise_error("expected one activation behind an addition, and nothing else")
    found[prop] = activation


def print_then(
    printer: Printer,
    activation: ActivationAttr | None,
    pool: PoolAttr | None,
    overlap: StringAttr | None,
    requantize: RequantizeAttr | None = None,
    addition: AdditionAttr | None = None,
    sum_activation: ActivationAttr | None = None,
) -> None:
    """Print what `parse_then` reads."""
    for part in (requantize, activation, pool, addition, sum_activation):
        if part is not None:
            printer.print_string(" then ")
            part.print_clause(printer)
    if overlap is not None:
        printer.print_string(f" overlap {overlap.data}")
