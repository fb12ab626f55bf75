"""The transfer that a program does: `moves 64 along [[4, 512, 4096]] source [8, 0] target [8, 0]`.

It stands in the IR because the caller of a transfer finds the program by the transfer.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, ArrayAttr, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import int_array, int_values, parse_ints, print_ints


@irdl_attr_definition
class MovesAttr(ParametrizedAttribute):
    """Runs of `run_bytes` contiguous bytes, and the known alignment of the first addresses.

    `axes`: (count, stride in the target, stride in the source), in bytes, the outermost first.
    `source` and `target`: (modulus, residue) of the first address, in bytes.
    """

    name = "pl330.moves"

    run_bytes: IntegerAttr[I64]
    axes: ArrayAttr[DenseArrayBase[I64]]
    source: DenseArrayBase[I64]
    target: DenseArrayBase[I64]

    @staticmethod
    def of(
        run_bytes: int,
        axes: Sequence[tuple[int, int, int]],
        source: tuple[int, int],
        target: tuple[int, int],
    ) -> MovesAttr:
        """Build from Python values."""
        rows = ArrayAttr([int_array(axis) for axis in axes])
        return MovesAttr(IntegerAttr(run_bytes, i64), rows, int_array(source), int_array(target))

    @property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """The axes as Python values."""
        return tuple(int_values(axis) for axis in self.axes)

    def verify(self) -> None:
        """Check the lengths of the lists and the ranges of the numbers."""
        if self.run_bytes.value.data < 1:
            raise VerifyException("expected runs of at least 1 byte")
        if any(len(axis) != 3 or axis[0] < 1 for axis in self.steps):
            raise VerifyException("expected axes [count, target bytes, source bytes], count >= 1")
        for what, place in (("source", self.source), ("target", self.target)):
            values = int_values(place)
            if len(values) != 2 or not 0 <= values[1] < values[0]:
                raise VerifyException(f"expected {what} [modulus, residue], got {list(values)}")

    @classmethod
    def parse_clause(cls, parser: AttrParser) -> MovesAttr | None:
        """Parse `moves ...` if it comes next."""
        if not parser.parse_optional_keyword("moves"):
            return None
        return cls.new(cls.parse_values(parser))

    @classmethod
    def parse_values(cls, parser: AttrParser) -> list[Attribute]:
        """Parse the numbers after `moves`."""
        run_bytes = IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
        parser.parse_keyword("along")
        axes = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: int_array(parse_ints(parser))
        )
        parser.parse_keyword("source")
        source = int_array(parse_ints(parser))
        parser.parse_keyword("target")
        return [run_bytes, ArrayAttr(axes), source, int_array(parse_ints(parser))]

    def print_values(self, printer: Printer) -> None:
        """Print what `parse_values` reads."""
        printer.print_string(f"{self.run_bytes.value.data} along ")
        with printer.in_square_brackets():
            printer.print_list(self.axes, lambda axis: print_ints(printer, axis))
        printer.print_string(" source ")
        print_ints(printer, self.source)
        printer.print_string(" target ")
        print_ints(printer, self.target)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse the numbers in angle brackets."""
        with parser.in_angle_brackets():
            return cls.parse_values(parser)

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            self.print_values(printer)
