"""What layers do to each element by itself: bounds, a function, or a table of all bytes.

npu.relu, npu.clamp, `then relu`, `then clamp [0.0, 6.0]`    // bounds: ActivationAttr
npu.map %x with silu, `then silu`                            // a function: FunctionAttr
npu.lookup %q with lookup "0001..."                          // a table: TableAttr
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerType,
    StringAttr,
    f32,
    i8,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import (
    ClauseAttr,
    float_values,
    parse_float,
    parse_floats,
    print_float,
    print_floats,
)
from npu_dialect.npu.enums import Function, FunctionNameAttr
from npu_dialect.npu.functions import FUNCTIONS, FunctionRule
from npu_dialect.npu.quantization import BYTE_TYPES, limits_of, ui8


class PointwiseAttr(ClauseAttr, ABC):
    """What happens to each element by itself."""

    @property
    @abstractmethod
    def is_monotone(self) -> bool:
        """Whether it may come after a maximum in place of before it."""

    @property
    def is_identity(self) -> bool:
        """Whether no element changes."""
        return False

    @abstractmethod
    def then(self, after: PointwiseAttr) -> PointwiseAttr | None:
        """This and another one after it as one; None if no attribute says that."""


@irdl_attr_definition
class ActivationAttr(PointwiseAttr):
    """Bounds of each element: `relu` or `clamp [low, high]`."""

    name = "npu.activation"
    EXPECTED = "`relu` or `clamp [low, high]`"

    low: FloatAttr
    high: FloatAttr

    @staticmethod
    def relu() -> ActivationAttr:
        """max(x, 0)."""
        return ActivationAttr.clamp(0.0, inf)

    @staticmethod
    def clamp(low: float, high: float) -> ActivationAttr:
        """min(max(x, low), high)."""
        return ActivationAttr(FloatAttr(low, Float64Type()), FloatAttr(high, Float64Type()))

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value after the activation; (0, inf) for `relu`."""
        return self.low.value.data, self.high.value.data

    @property
    def is_monotone(self) -> bool:
        """Always."""
        return True

    @property
    def is_identity(self) -> bool:
        """Whether there are no bounds."""
        return self.bounds == (-inf, inf)

    def then(self, after: PointwiseAttr) -> PointwiseAttr | None:
        """The bounds of this one, clamped; a table of clamped entries."""
        match after:
            case ActivationAttr():
                low, high = after.bounds
                return ActivationAttr.clamp(*(min(max(bound, low), high) for bound in self.bounds))
            case TableAttr():
                return TableAttr.identity(after.element).then(self).then(after)
            case _:
                return None

    @property
    def is_relu(self) -> bool:
        """Whether this is max(x, 0)."""
        return self.bounds == (0.0, inf)

    def verify(self) -> None:
        """The range is not empty."""
        low, high = self.bounds
        if not low <= high:
            raise VerifyException(f"expected clamp bounds low <= high, got [{low}, {high}]")

    @classmethod
    def parse_clause(cls, parser: AttrParser) -> ActivationAttr | None:
        """Parse `relu` or `clamp [low, high]` if it comes next."""
        if parser.parse_optional_keyword("relu"):
            return cls.relu()
        if not parser.parse_optional_keyword("clamp"):
            return None
        with parser.in_square_brackets():
            low = parse_float(parser)
            parser.parse_punctuation(",")
            high = parse_float(parser)
        return cls.clamp(low, high)

    def print_clause(self, printer: Printer) -> None:
        """Print what `parse_clause` reads."""
        if self.is_relu:
            printer.print_string("relu")
            return
        printer.print_string("clamp ")
        with printer.in_square_brackets():
            printer.print_list(self.bounds, lambda value: print_float(printer, value))


@irdl_attr_definition
class FunctionAttr(PointwiseAttr):
    """A function of each element: `silu`, or with parameters, `leaky_relu [0.01]`.

    `prelu` has one parameter, or one for each channel (the second axis).
    """

    name = "npu.function"
    EXPECTED = f"one of {', '.join(Function)}"

    function: FunctionNameAttr
    numbers: DenseArrayBase[Float32Type]

    @staticmethod
    def of(function: str, numbers: Sequence[float] = ()) -> FunctionAttr:
        """Build from Python values."""
        return FunctionAttr(
            FunctionNameAttr(Function(function)), DenseArrayBase.from_list(f32, numbers)
        )

    @property
    def rule(self) -> FunctionRule:
        """What the function computes."""
        return FUNCTIONS[self.function.data]

    @property
    def arguments(self) -> tuple[float, ...]:
        """The parameters."""
        return float_values(self.numbers)

    @property
    def has_channels(self) -> bool:
        """Whether each channel has a parameter of its own."""
        return len(self.numbers) > 1 and self.function.data == Function.PRELU

    @property
    def is_monotone(self) -> bool:
        """Whether the function is monotone with these parameters."""
        return self.rule.monotone(self.arguments)

    def then(self, after: PointwiseAttr) -> PointwiseAttr | None:
        """Nothing: two functions in a row are two steps."""
        return None

    def verify(self) -> None:
        """Check the number of parameters."""
        least = self.rule.parameters
        most = max(least, len(self.numbers)) if self.function.data == Function.PRELU else least
        if not least <= len(self.numbers) <= most:
            raise VerifyException(
                f"expected {least} parameters of {self.function.data}, got {len(self.numbers)}"
            )

    @classmethod
    def parse_clause(cls, parser: AttrParser) -> FunctionAttr | None:
        """Parse a function and its parameters if it comes next."""
        found = next((name for name in Function if parser.parse_optional_keyword(name)), None)
        if found is None:
            return None
        least = FUNCTIONS[found].parameters
        return cls.of(found, parse_floats(parser) if least else ())

    def print_clause(self, printer: Printer) -> None:
        """Print what `parse_clause` reads."""
        printer.print_string(self.function.data)
        if len(self.numbers):
            printer.print_string(" ")
            print_floats(printer, self.numbers)


Bytes: TypeAlias = NDArray[np.int8 | np.uint8]
"""The entries of a table."""

BYTES = 256
"""How many values a byte has, and a table entries."""


@irdl_attr_definition
class TableAttr(PointwiseAttr):
    """A byte for each byte: `lookup signed "80817f..."`, from that of the least element on.

    The elements are i8 (`signed`, from -128 on) or ui8 (`unsigned`, from 0 on), before and after.
    The text holds two hexadecimal digits for each entry.
    """

    name = "npu.table"
    EXPECTED = "`lookup`"

    element: IntegerType
    digits: StringAttr

    @staticmethod
    def of(element: IntegerType, entries: Bytes) -> TableAttr:
        """Build from the entries, int8 or uint8 as the elements are."""
        return TableAttr(element, StringAttr(entries.tobytes().hex()))

    @staticmethod
    def identity(element: IntegerType) -> TableAttr:
        """The table that changes nothing."""
        least, most = limits_of(element)
        return TableAttr.of(element, np.arange(least, most + 1).astype(kind_of(element)))

    @property
    def least(self) -> int:
        """The element that the first entry is for."""
        return limits_of(self.element)[0]

    @property
    def entries(self) -> Bytes:
        """The entries, from that of the least element on."""
        return np.frombuffer(bytes.fromhex(self.digits.data), kind_of(self.element))

    @property
    def is_identity(self) -> bool:
        """Whether each entry is the byte that it is for."""
        return self == TableAttr.identity(self.element)

    @property
    def is_monotone(self) -> bool:
        """Whether no entry is below the one before it."""
        return bool((np.diff(self.entries.astype(np.int16)) >= 0).all())

    def then(self, after: PointwiseAttr) -> TableAttr:
        """The other one applied to each entry.

        Raises: ValueError for a function, whose elements are floats.
        """
        entries = self.entries
        match after:
            case TableAttr():
                found = after.entries[entries.astype(np.int16) - after.least]
            case ActivationAttr():
                limits = limits_of(self.element)
                low, high = np.clip(after.bounds, *limits)
                found = np.clip(entries, np.ceil(low), np.floor(high))
            case _:
                raise ValueError(f"expected bounds or a table, got {after}")
        return TableAttr.of(self.element, found.astype(kind_of(self.element)))

    def verify(self) -> None:
        """Check the element type and the number of digits."""
        if self.element not in BYTE_TYPES:
            raise VerifyException(f"expected a table of i8 or ui8, got {self.element}")
        text = self.digits.data
        if len(text) != 2 * BYTES or not set(text) <= set("0123456789abcdef"):
            raise VerifyException(
                f"expected {2 * BYTES} hexadecimal digits in a table, two for each byte, "
                f"got {len(text)} characters"
            )

    @classmethod
    def parse_clause(cls, parser: AttrParser) -> TableAttr | None:
        """Parse `lookup signed "..."` if it comes next."""
        if not parser.parse_optional_keyword("lookup"):
            return None
        if parser.parse_optional_keyword("unsigned"):
            element = ui8
        else:
            parser.parse_keyword("signed")
            element = i8
        return cls(element, StringAttr(parser.parse_str_literal()))

    def print_clause(self, printer: Printer) -> None:
        """Print what `parse_clause` reads."""
        printer.print_string("lookup unsigned " if self.element == ui8 else "lookup signed ")
        printer.print_string(f'"{self.digits.data}"')


def kind_of(element: Attribute) -> type[np.int8 | np.uint8]:
    """The numpy type of bytes."""
    return np.uint8 if element == ui8 else np.int8


def parse_pointwise(parser: AttrParser) -> PointwiseAttr | None:
    """Parse what happens to each element if it comes next."""
    kinds = (ActivationAttr, FunctionAttr, TableAttr)
    return next((found for kind in kinds if (found := kind.parse_clause(parser))), None)


def check_channels(function: PointwiseAttr, shape: Sequence[int]) -> None:
    """Check that a function with parameters by channel has one for each channel of a map.

    Raises: VerifyException if it has not.
    """
    if not isinstance(function, FunctionAttr) or not function.has_channels:
        return
    count = len(function.arguments)
    if len(shape) < 2 or shape[1] != count:
        raise VerifyException(
            f"expected a map of {count} channels, as many as there are parameters of "
            f"{function.function.data}, got one of shape {list(shape)}"
        )
