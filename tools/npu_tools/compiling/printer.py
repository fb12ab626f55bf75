"""A fast printer for modules that hold megabytes of weights.

xDSL's printer unpacks every element of a constant to find out whether all are equal. For 25 MB of
int8 this takes two seconds and a gigabyte. This printer compares the bytes instead. Its text equals
that of xDSL, character by character.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO
from typing import IO, Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.printer import Printer
from xdsl.syntax_printer import SyntaxPrinter
from xdsl.targets.mlir import MLIRTarget

Constant: TypeAlias = DenseIntOrFPElementsAttr[Any]

LISTED = 100
"""Constants of at most this many elements are printed as lists (xDSL's rule)."""
ELIDE_ABOVE = 16
"""With elided weights, constants of more elements than this are left out."""
ELIDED = "dense_resource<__elided__>"
"""Printed in place of an elided constant, as MLIR does. Such text parses but cannot be compiled."""


def hides_splat(attribute: Constant) -> bool:
    """Whether all elements may be float zeros of both signs: equal numbers with other bytes."""
    element = attribute.get_element_type()
    return isinstance(element, AnyFloat) and not attribute.data.data.strip(b"\x00\x80")


def quick_text(attribute: Constant) -> str | Constant | None:
    """A quick way to print a long constant: its text, or a short constant with the same text.

    None if xDSL's printer must do it: for constants of at most `LISTED` elements, for unusual
    element types, and if only the values tell whether all elements are equal.
    """
    element: Attribute = attribute.get_element_type()
    count, data = len(attribute), attribute.data.data
    if count <= LISTED or not isinstance(element, AnyFloat | IntegerType | IndexType):
        return None
    width = len(data) // count
    if data != data[:width] * count:
        return None if hides_splat(attribute) else f'dense<"0x{data.hex().upper()}">'
    pair = Constant(TensorType[Any](element, [2]), BytesAttr(data[: 2 * width]))
    return pair if pair.is_splat() else f'dense<"0x{data.hex().upper()}">'  # NaN differs from NaN


@dataclass(eq=False, repr=False)
class WeightPrinter(Printer):
    """A printer that is fast with large constants, or leaves them out with `elide_weights`."""

    elide_weights: bool = field(default=False)

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute; a large constant is not unpacked."""
        if not isinstance(attribute, DenseIntOrFPElementsAttr):
            super().print_attribute(attribute)
            return
        constant = cast(Constant, attribute)
        elide = self.elide_weights and len(constant) > ELIDE_ABOVE
        short = ELIDED if elide else quick_text(constant)
        if short is None:
            super().print_attribute(constant)
            return
        if isinstance(short, str):
            self.print_string(short)
        else:
            short.print_without_type(self)
        self.print_string(" : ")
        super().print_attribute(constant.get_type())


@dataclass(frozen=True)
class WeightTarget(MLIRTarget):
    """xDSL's target `mlir`, with `WeightPrinter`."""

    name = "mlir"

    elide_weights: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Print the module, then its resources."""
        if self.syntax_highlight:
            printer: Printer = SyntaxPrinter(
                stream=output,
                print_generic_format=self.print_generic_format,
                print_properties_as_attributes=self.print_properties_as_attributes,
                print_debuginfo=self.print_debuginfo,
            )
        else:
            printer = WeightPrinter(
                stream=output,
                print_generic_format=self.print_generic_format,
                print_properties_as_attributes=self.print_properties_as_attributes,
                print_debuginfo=self.print_debuginfo,
                elide_weights=self.elide_weights,
            )
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)
        print("\n", file=output)


@dataclass(frozen=True)
class ElidingTarget(WeightTarget):
    """The target `mlir` that leaves large constants out: `npu-opt --elide-weights`."""

    elide_weights: bool = True


def ir_text(module: ModuleOp, *, elide_weights: bool = False) -> str:
    """The IR of a module as npu-opt prints it."""
    output = StringIO()
    printer = WeightPrinter(stream=output, elide_weights=elide_weights)
    printer.print_op(module)
    return output.getvalue() + "\n"
