"""Programs of the PL-330, each for a channel or for the manager thread that starts channels.

pl330.program @load_ifm channel 0 {
  pl330.ld
  pl330.st
  pl330.end
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolNameConstraint, i64
from xdsl.ir import Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from npu_dialect.pl330.events import GoOp, SevOp, WfeOp
from npu_dialect.pl330.instruction import HoldsInstructions, InstructionOp, check_range, number
from npu_dialect.pl330.loops import LoopForeverOp, instructions_of, region_of
from npu_dialect.pl330.moves import MovesAttr
from npu_dialect.pl330.plain import EndOp, KillOp, NopOp

MANAGER: tuple[type[InstructionOp], ...] = (GoOp, KillOp, SevOp, WfeOp, NopOp, EndOp)
"""The instructions that the manager thread can execute."""


@irdl_op_definition
class ProgramOp(IRDLOperation, HoldsInstructions):
    """A program of one channel, or of the manager thread; `moves` is the transfer that it does.

    ```mlir
    pl330.program @load_ifm channel 0 { ... }
    pl330.program @read channel 0 moves 64 along [[4, 64, 256]] source [8, 0] target [8, 0] {}
    pl330.program @start manager { ... }
    ```
    """

    name = "pl330.program"

    sym_name = prop_def(SymbolNameConstraint())
    channel = opt_prop_def(IntegerAttr.constr(i64))
    moves = opt_prop_def(MovesAttr)
    body = region_def()

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())

    LAST: ClassVar = (EndOp, KillOp, LoopForeverOp)

    def __init__(
        self,
        name: str,
        channel: int | None,
        body: Sequence[Operation] | Region,
        moves: MovesAttr | None = None,
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "channel": None if channel is None else number(channel),
                "moves": moves,
            },
            regions=[region_of(body)],
        )

    def instructions(self) -> list[InstructionOp]:
        """The instructions in order; the instructions of a loop are inside the loop."""
        return instructions_of(self.body)

    def code(self) -> Iterator[InstructionOp]:
        """All instructions, those in loops too, in the order of the code."""
        return (op for op in self.body.walk() if isinstance(op, InstructionOp))

    @property
    def size(self) -> int:
        """Bytes of code."""
        return sum(op.size for op in self.instructions())

    def verify_(self) -> None:
        """Only instructions that the thread can execute, and no way to run past the end."""
        if self.channel is not None:
            check_range("the channel", self.channel, 0, 7)
        code = self.instructions()
        if not code or not isinstance(code[-1], self.LAST):
            raise VerifyException("expected pl330.end as the last instruction")
        if any(isinstance(op, EndOp) for op in code[:-1]):
            raise VerifyException("expected nothing behind pl330.end")
        for op in self.code():
            if self.channel is None and not isinstance(op, MANAGER):
                raise VerifyException(f"expected instructions of the manager thread, got {op.name}")
            if self.channel is not None and isinstance(op, GoOp):
                raise VerifyException(f"expected {op.name} in a program of the manager")

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        """Parse `@name channel 0 { ... }`."""
        name = parser.parse_symbol_name()
        channel = None
        if not parser.parse_optional_keyword("manager"):
            parser.parse_keyword("channel")
            channel = parser.parse_integer(allow_boolean=False)
        moves = MovesAttr.parse_clause(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name.data, channel, parser.parse_region(), moves)
        op.attributes |= {} if attributes is None else attributes.data
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        thread = "manager" if self.channel is None else f"channel {self.channel.value.data}"
        printer.print_string(f" {thread}")
        if self.moves is not None:
            printer.print_string(" moves ")
            self.moves.print_values(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
