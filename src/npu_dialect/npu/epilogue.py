"""What a layer does to its sums before it stores them: `then relu then max_pool [2, 2] by [2, 2]`.

In this order, each part left out if it is not needed:

    then requantize scales [0.5] zero_point 3 mode float    // i32 sums become i8 or ui8
    then relu                                               // or clamp [low, high]
    then max_pool [2, 2] by [2, 2] overlap accumulate       // or an addition, not both:
    then add residual first then relu                       // with an activation of its own
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TypedDict, Unpack

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.pointwise import PointwiseAttr, parse_pointwise
from npu_dialect.npu.quantization import AdditionAttr, RequantizeAttr
from npu_dialect.words import parse_word

ONE_ACTIVATION = "expected one activation behind an addition, and nothing else"
"""What is wrong with another part after an addition."""


class Parts(TypedDict, total=False):
    """The parts of an epilogue, by name; None takes a part away."""

    requantize: RequantizeAttr | None
    activation: PointwiseAttr | None
    pool: PoolAttr | None
    overlap: Overlap | None
    addition: AdditionAttr | None
    sum_activation: PointwiseAttr | None


@dataclass(frozen=True)
class Epilogue:
    """The parts of an epilogue; `sum_activation` is that behind the addition.

    `overlap` says what happens to values that several pooling windows hold.
    """

    requantize: RequantizeAttr | None = None
    activation: PointwiseAttr | None = None
    pool: PoolAttr | None = None
    overlap: Overlap | None = None
    addition: AdditionAttr | None = None
    sum_activation: PointwiseAttr | None = None

    def with_parts(self, **parts: Unpack[Parts]) -> Epilogue:
        """The same with some parts replaced."""
        return replace(self, **parts)

    def is_empty(self) -> bool:
        """Whether nothing happens to the sums."""
        return all(getattr(self, field.name) is None for field in fields(self))


@irdl_attr_definition
class EpilogueAttr(Data[Epilogue]):
    """An epilogue as one attribute: `#npu.epilogue<then relu>`."""

    name = "npu.epilogue"

    def verify(self) -> None:
        """Check that no part is without the part that it belongs to."""
        found = self.data
        if found.is_empty():
            raise VerifyException("expected an epilogue with a part, such as `then relu`")
        if found.overlap is not None and found.pool is None:
            raise VerifyException("expected overlap only behind a pooling window")
        if found.pool is not None and found.pool.is_max and not monotone(found.activation):
            raise VerifyException(
                "expected a monotone activation in front of a maximum, which is computed first"
            )
        if found.addition is not None and found.pool is not None:
            raise VerifyException("expected an addition or a pooling window, got both")
        if found.sum_activation is not None and found.addition is None:
            raise VerifyException("expected the activation of a sum only behind an addition")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Epilogue:
        """Parse `<then relu>`."""
        with parser.in_angle_brackets():
            return parse_then(parser)

    def print_parameter(self, printer: Printer) -> None:
        """Print what `parse_parameter` reads."""
        with printer.in_angle_brackets():
            print_then(printer, self.data, first="")


def monotone(activation: PointwiseAttr | None) -> bool:
    """Whether there is no activation, or one that commutes with a maximum."""
    return activation is None or activation.is_monotone


def parse_then(parser: AttrParser) -> Epilogue:
    """Parse `then requantize ... then relu then max_pool ...`; each part may be left out."""
    found = Epilogue()
    while parser.parse_optional_keyword("then"):
        if found.addition is not None:
            activation = parse_pointwise(parser)
            if activation is None or found.sum_activation is not None:
                parser.raise_error(ONE_ACTIVATION)
            found = found.with_parts(sum_activation=activation)
        elif found.pool is None and (addition := AdditionAttr.parse_clause(parser)):
            found = found.with_parts(addition=addition)
        elif found.pool is None and (pool := PoolAttr.parse_clause(parser)):
            found = found.with_parts(pool=pool, overlap=parse_overlap(parser))
        elif found.is_empty() and (requantize := RequantizeAttr.parse_clause(parser)):
            found = found.with_parts(requantize=requantize)
        elif found == Epilogue(found.requantize) and (activation := parse_pointwise(parser)):
            found = found.with_parts(activation=activation)
        else:
            parser.raise_error(
                "expected an activation, or one pooling window after it, or one addition"
            )
    return found


def parse_overlap(parser: AttrParser) -> Overlap | None:
    """Parse `overlap accumulate` if it comes next."""
    if not parser.parse_optional_keyword("overlap"):
        return None
    return parse_word(parser, Overlap, "overlap")


def print_then(printer: Printer, epilogue: Epilogue, first: str = " ") -> None:
    """Print what `parse_then` reads, with `first` in front of it."""
    before = first
    for part in (
        epilogue.requantize,
        epilogue.activation,
        epilogue.pool,
        epilogue.addition,
        epilogue.sum_activation,
    ):
        if part is not None:
            printer.print_string(f"{before}then ")
            part.print_clause(printer)
            before = " "
    if epilogue.overlap is not None:
        printer.print_string(f" overlap {epilogue.overlap}")
