"""Syntax of what a layer does to its sums before it stores them: `then relu then max_pool ...`.

Integer sums get their new scale first: `then requantize ... then clamp ... then max_pool ...`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from npu_dialect.npu.attributes import ActivationAttr, PoolAttr
from npu_dialect.npu.quantization import RequantizeAttr


def parse_then(parser: Parser) -> dict[str, Attribute]:
    """Parse `then requantize ... then relu then max_pool ...`; each part may be left out."""
    found: dict[str, Attribute] = {}
    while parser.parse_optional_keyword("then"):
        if "pool" not in found and (pool := PoolAttr.parse_clause(parser)):
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
            parser.raise_error("expected an activation, or one pooling window after it")
    return found


def print_then(
    printer: Printer,
    activation: ActivationAttr | None,
    pool: PoolAttr | None,
    overlap: StringAttr | None,
    requantize: RequantizeAttr | None = None,
) -> None:
    """Print what `parse_then` reads."""
    for part in (requantize, activation, pool):
        if part is not None:
            printer.print_string(" then ")
            part.print_clause(printer)
    if overlap is not None:
        printer.print_string(f" overlap {overlap.data}")
