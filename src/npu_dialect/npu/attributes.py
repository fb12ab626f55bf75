"""Attributes of the npu dialect: memory spaces and pooling windows.

The common memory spaces have no parameters, so the type of a memref stays short:
`memref<64xf32, #npu.sram>`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import (
    I64,
    BoolAttr,
    DenseArrayBase,
    Float32Type,
    Float64Type,
    IntegerType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.memories import EXPECTED_NAME, is_name
from npu_dialect.npu.enums import PoolKind, PoolKindAttr
from npu_dialect.windows import Axis

INT_ARRAY = DenseArrayBase.constr(i64)
"""Constraint of the integer lists of the dialect (kernels, strides, pads, ...)."""


def int_array(values: Sequence[int]) -> DenseArrayBase[I64]:
    """An `array<i64: ...>` of Python integers."""
    return DenseArrayBase.from_list(i64, values)


def int_values(attribute: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The Python integers of an `array<i64: ...>`."""
    return attribute.get_values()


def float_values(
    attribute: DenseArrayBase[Float32Type] | DenseArrayBase[Float32Type | Float64Type],
) -> tuple[float, ...]:
    """The numbers of an `array<f32: ...>` or an `array<f64: ...>`."""
    return attribute.get_values()


@irdl_attr_definition
class SramSpace(ParametrizedAttribute):
    """On-chip memory, small and fast; `npu-assign-sram-offsets` gives buffers their offsets in it.

    On a machine with several memories, it stands for all of them until `npu-assign-memories` has
    chosen one for each buffer.

    Prints as `#npu.sram`.
    """

    name = "npu.sram"


@irdl_attr_definition
class MemorySpace(ParametrizedAttribute):
    """One of several on-chip memories of a machine, by the name in its file.

    `npu-assign-memories` puts it in place of `#npu.sram`. Prints as `#npu.memory<"dtcm">`.
    """

    name = "npu.memory"

    label: StringAttr

    @staticmethod
    def of(memory: str) -> MemorySpace:
        """The space of a memory."""
        return MemorySpace(StringAttr(memory))

    @property
    def memory(self) -> str:
        """The name of the memory."""
        return self.label.data

    def verify(self) -> None:
        """Check the name, which is also one in C."""
        if not is_name(self.memory):
            raise VerifyException(f"expected a {EXPECTED_NAME}, got {self.memory!r}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<"name">`."""
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_str_literal()),)

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            printer.print_string_literal(self.memory)


@irdl_attr_definition
class DramSpace(ParametrizedAttribute):
    """Off-chip memory that can be read and written. Prints as `#npu.dram`."""

    name = "npu.dram"


@irdl_attr_definition
class FlashSpace(ParametrizedAttribute):
    """Read-only memory that holds parameters (paper 002, section 3.3). Prints as `#npu.flash`."""

    name = "npu.flash"


class ClauseAttr(ParametrizedAttribute, ABC):
    """An attribute that ops print without its name, as in `then relu`; by itself it is `<relu>`."""

    EXPECTED: ClassVar[str]
    """The possible beginnings of its text, for the error message."""

    @classmethod
    @abstractmethod
    def parse_clause(cls, parser: AttrParser) -> Self | None:
        """Parse the clause if it comes next, else return None."""

    @abstractmethod
    def print_clause(self, printer: Printer) -> None:
        """Print what `parse_clause` reads."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse the clause in angle brackets."""
        with parser.in_angle_brackets():
            found = cls.parse_clause(parser)
            if found is None:
                parser.raise_error(f"expected {cls.EXPECTED}")
        return found.parameters

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            self.print_clause(printer)


@irdl_attr_definition
class PoolAttr(ClauseAttr):
    """A pooling window: `max_pool [2, 2] by [2, 2] padded [0, 0, 1, 1]`.

    Kernel and stride are (rows, columns), pads are (top, left, bottom, right). With `ceil_mode` a
    last, partial window counts. With `count_include_pad` the divisor of an average also counts the
    taps on padding.
    """

    name = "npu.pool"
    EXPECTED = "`max_pool` or `avg_pool`"

    kind: PoolKindAttr
    kernel: DenseArrayBase[I64]
    strides: DenseArrayBase[I64]
    pads: DenseArrayBase[I64]
    dilations: DenseArrayBase[I64]
    ceil_mode: BoolAttr
    count_include_pad: BoolAttr

    @staticmethod
    def of(
        kind: str,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Sequence[int] = (0, 0, 0, 0),
        dilations: Sequence[int] = (1, 1),
        *,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> PoolAttr:
        """Build from Python values; `kind` is `max` or `avg`."""
        return PoolAttr(
            PoolKindAttr(PoolKind(kind)),
            int_array(kernel),
            int_array(strides),
            int_array(pads),
            int_array(dilations),
            BoolAttr.from_bool(ceil_mode),
            BoolAttr.from_bool(count_include_pad),
        )

    @property
    def is_max(self) -> bool:
        """Whether this is a maximum pool; if not, it is an average pool."""
        return self.kind.data == PoolKind.MAX

    @property
    def includes_pad(self) -> bool:
        """Whether an average counts the taps on explicit padding."""
        return bool(self.count_include_pad)

    def axes(self, height: int, width: int) -> tuple[Axis, Axis]:
        """The two sliding windows (rows, columns) over a map of the given size."""
        kernel, strides = int_values(self.kernel), int_values(self.strides)
        pads, dilations = int_values(self.pads), int_values(self.dilations)
        rows, columns = (
            Axis(
                size,
                kernel[i],
                strides[i],
                pads[i],
                pads[i + 2],
                dilations[i],
                bool(self.ceil_mode),
            )
            for i, size in enumerate((height, width))
        )
        return rows, columns

    @property
    def overlaps(self) -> bool:
        """Whether two windows can share an element (a stride below the reach of the kernel)."""
        return any(axis.stride < axis.reach and axis.kernel > 1 for axis in self.axes(1, 1))

    def verify(self) -> None:
        """Check the lengths and the ranges."""
        check_window(self.kernel, self.strides, self.pads, self.dilations)

    @classmethod
    def parse_clause(cls, parser: AttrParser) -> PoolAttr | None:
        """Parse `max_pool [k, k] by [s, s] ...` or `avg_pool ...` if it comes next."""
        kind = next((k for k in PoolKind if parser.parse_optional_keyword(f"{k}_pool")), None)
        if kind is None:
            return None
        kernel = parse_ints(parser)
        parser.parse_keyword("by")
        strides = parse_ints(parser)
        pads = parse_ints(parser) if parser.parse_optional_keyword("padded") else (0, 0, 0, 0)
        dilations = parse_ints(parser) if parser.parse_optional_keyword("dilated") else (1, 1)
        ceil_mode = parser.parse_optional_keyword("ceil_mode") is not None
        include = parser.parse_optional_keyword("count_include_pad") is not None
        return cls.of(
            kind, kernel, strides, pads, dilations, ceil_mode=ceil_mode, count_include_pad=include
        )

    def print_clause(self, printer: Printer) -> None:
        """Print what `parse_clause` reads."""
        printer.print_string(f"{self.kind.data}_pool ")
        print_ints(printer, self.kernel)
        printer.print_string(" by ")
        print_ints(printer, self.strides)
        if any(int_values(self.pads)):
            printer.print_string(" padded ")
            print_ints(printer, self.pads)
        if set(int_values(self.dilations)) != {1}:
            printer.print_string(" dilated ")
            print_ints(printer, self.dilations)
        if self.ceil_mode:
            printer.print_string(" ceil_mode")
        if self.count_include_pad:
            printer.print_string(" count_include_pad")


def check_window(
    kernel: DenseArrayBase[I64],
    strides: DenseArrayBase[I64],
    pads: DenseArrayBase[I64],
    dilations: DenseArrayBase[I64],
    *,
    least_pad: float = 0,
) -> None:
    """Check the lists of a two-dimensional window.

    Raises: VerifyException if a list has a wrong length, a value is below 1, or a pad is below
        `least_pad`.
    """
    for what, attribute, length, least in (
        ("kernel", kernel, 2, 1),
        ("strides", strides, 2, 1),
        ("pads", pads, 4, least_pad),
        ("dilations", dilations, 2, 1),
    ):
        values = int_values(attribute)
        if len(values) != length:
            raise VerifyException(f"expected {length} {what}, got {list(values)}")
        if any(value < least for value in values):
            raise VerifyException(f"expected {what} of at least {least}, got {list(values)}")


def parse_ints(parser: AttrParser) -> tuple[int, ...]:
    """Parse `[1, 2]`."""
    items = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
    )
    return tuple(items)


def print_ints(printer: Printer, values: DenseArrayBase[IntegerType]) -> None:
    """Print `[1, 2]`."""
    with printer.in_square_brackets():
        printer.print_list(int_values(values), lambda value: printer.print_string(str(value)))


def parse_floats(parser: AttrParser) -> tuple[float, ...]:
    """Parse `[0.5, 0.25]`."""
    items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_float(parser))
    return tuple(items)


def print_floats(printer: Printer, values: DenseArrayBase[Float32Type | Float64Type]) -> None:
    """Print what `parse_floats` reads, as the shortest texts that give the same numbers."""
    single = isinstance(values.elt_type, Float32Type)
    with printer.in_square_brackets():
        printer.print_list(
            float_values(values),
            lambda value: print_float(printer, float(str(np.float32(value))) if single else value),
        )


def parse_float(parser: AttrParser) -> float:
    """Parse a number, `inf` or `-inf`."""
    negative = parser.parse_optional_punctuation("-") is not None
    if parser.parse_optional_keyword("inf"):
        value = float("inf")
    else:
        value = float(parser.parse_number())
    return -value if negative else value


def print_float(printer: Printer, value: float) -> None:
    """Print what `parse_float` reads, as the shortest text that gives the same double."""
    text = repr(value)
    if "e" in text and "." not in text:  # MLIR's lexer requires a point before the exponent
        text = text.replace("e", ".0e")
    printer.print_string(text)
