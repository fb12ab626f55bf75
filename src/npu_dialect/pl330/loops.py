"""Loops of the PL-330. A loop body is a region, so nesting and jumps are correct by construction.

    pl330.loop 5 {
      pl330.loop 7 {
        pl330.ld
        pl330.st
      }
      pl330.addh sar 736
    }

The assembler computes the jumps. It gives counter 0 to a loop without a counted loop inside, and
counter 1 to the others. `counter` overrides this, for code that was assembled elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from npu_dialect.pl330.enums import Request, RequestAttr
from npu_dialect.pl330.instruction import (
    REQUESTS,
    HoldsInstructions,
    InsideProgram,
    InstructionOp,
    check_range,
    number,
)
from npu_dialect.pl330.plain import EndOp

COUNTERS = 2
"""The loop counters of a channel, and so the largest depth of nested counted loops."""


def region_of(body: Sequence[Operation] | Region) -> Region:
    """A region with one block of these ops; a region is returned as it is."""
    return body if isinstance(body, Region) else Region(Block(body))


def instructions_of(region: Region) -> list[InstructionOp]:
    """The instructions of a program or of a loop's body.

    Raises: VerifyException if there are several blocks or other ops.
    """
    if len(region.blocks) > 1:
        raise VerifyException(f"expected one block, got {len(region.blocks)}")
    found: list[InstructionOp] = []
    for op in (op for block in region.blocks for op in block.ops):
        if not isinstance(op, InstructionOp):
            raise VerifyException(f"expected instructions of the PL-330, got {op.name}")
        found.append(op)
    return found


def request_attribute(request: str | None) -> RequestAttr | None:
    """The attribute of a request; None for none."""
    return None if request is None else RequestAttr(Request(request))


class AnyLoopOp(InstructionOp, HoldsInstructions, ABC):
    """A loop; with `while_request` it repeats only if the last request was of this kind."""

    counter = opt_prop_def(IntegerAttr.constr(i64))
    while_request = opt_prop_def(RequestAttr)
    body = region_def()

    traits = traits_def(InsideProgram(), NoTerminator())

    def instructions(self) -> list[InstructionOp]:
        """The instructions of the body."""
        return instructions_of(self.body)

    @abstractmethod
    def head(self) -> bytes:
        """The bytes of code before the body."""

    @abstractmethod
    def tail_opcode(self) -> int:
        """The first byte after the body, without the bits of the condition."""

    @property
    def jump(self) -> int:
        """Bytes of the jump from the loop's end back to its body; the encoding allows up to 255."""
        return sum(op.size for op in self.instructions())

    def tail(self) -> bytes:
        """The bytes of code after the body."""
        kinds = {"single": 1, "burst": 3}
        bits = 0 if self.while_request is None else kinds[self.while_request.data]
        return bytes([self.tail_opcode() | bits, self.jump])

    def tail_mnemonic(self) -> str:
        """The mnemonic of the loop's end in assembly."""
        letter = "" if self.while_request is None else self.while_request.data[0].upper()
        return f"DMALPEND{letter}"

    @property
    def size(self) -> int:
        """Bytes of code."""
        return len(self.head()) + self.jump + 2

    def check_loop(self) -> None:
        """Check what both kinds of loops have in common.

        Raises: VerifyException for an unknown request, a counter out of range, a body with other
            ops than instructions, or a `pl330.end` in the body.
        """
        request = self.while_request
        if request is not None and request.data not in REQUESTS:
            raise VerifyException(f"expected while single or while burst, got {request.data}")
        if self.counter is not None:
            check_range("the loop counter", self.counter, 0, COUNTERS - 1)
        for op in self.instructions():
            if isinstance(op, EndOp):
                raise VerifyException("expected pl330.end at the end of the program, not in a loop")

    def parse_rest(self, parser: Parser) -> None:
        """Parse `counter 1 while burst attributes {...} { body }`."""
        if parser.parse_optional_keyword("counter"):
            self.counter = number(parser.parse_integer(allow_boolean=False))
        if parser.parse_optional_keyword("while"):
            self.while_request = request_attribute(parser.parse_keyword_in(REQUESTS))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        self.attributes |= {} if attributes is None else attributes.data
        parser.parse_region().move_blocks(self.body)

    def print_rest(self, printer: Printer) -> None:
        """Print what `parse_rest` reads."""
        if self.counter is not None:
            printer.print_string(f" counter {self.counter.value.data}")
        if self.while_request is not None:
            printer.print_string(f" while {self.while_request.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)


@irdl_op_definition
class LoopOp(AnyLoopOp):
    """A counted loop: DMALP and DMALPEND.

    ```mlir
    pl330.loop 5 { ... }
    ```
    """

    name = "pl330.loop"
    MNEMONIC: ClassVar = "DMALP"

    count = prop_def(IntegerAttr.constr(i64))

    def __init__(
        self,
        count: int,
        body: Sequence[Operation] | Region,
        *,
        counter: int | None = None,
        while_request: str | None = None,
    ) -> None:
        super().__init__(
            properties={
                "count": number(count),
                "counter": None if counter is None else number(counter),
                "while_request": request_attribute(while_request),
            },
            regions=[region_of(body)],
        )

    def inner(self) -> list[LoopOp]:
        """The counted loops inside this one, at any depth."""
        return [op for op in self.body.walk() if isinstance(op, LoopOp)]

    def default_counter(self) -> int:
        """The counter that the assembler chooses."""
        return 1 if self.inner() else 0

    @property
    def counter_used(self) -> int:
        """The counter of this loop: `counter`, or the assembler's choice."""
        return self.default_counter() if self.counter is None else self.counter.value.data

    def verify_(self) -> None:
        """At most 256 rounds, at most two nested counted loops, and different counters for them."""
        self.check_loop()
        check_range("the loop count", self.count, 1, 256)
        for op in self.inner():
            if op.inner():
                raise VerifyException(
                    f"expected at most {COUNTERS} counted loops around each other, got 3"
                )
        for op in self.inner():
            if op.counter_used == self.counter_used:
                raise VerifyException(
                    "expected another counter for the loop inside, "
                    f"got {self.counter_used} for both"
                )

    def head(self) -> bytes:
        """See `AnyLoopOp`."""
        return bytes([0x20 | self.counter_used << 1, self.count.value.data - 1])

    def tail_opcode(self) -> int:
        """See `AnyLoopOp`."""
        return 0x38 | self.counter_used << 2

    @classmethod
    def parse(cls, parser: Parser) -> LoopOp:
        """Parse `5 counter 1 while burst { ... }`."""
        op = cls(parser.parse_integer(allow_boolean=False), Region())
        op.parse_rest(parser)
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(f" {self.count.value.data}")
        self.print_rest(printer)


@irdl_op_definition
class LoopForeverOp(AnyLoopOp):
    """A loop without a count: DMALPFE, which emits no code, and DMALPEND.

    The manual sets the counter bit of such a DMALPEND. `counter 0` clears it, which is another
    encoding of the same instruction if there is no condition.

    ```mlir
    pl330.loop_forever while burst { ... }
    ```
    """

    name = "pl330.loop_forever"
    MNEMONIC: ClassVar = "DMALPFE"

    def __init__(
        self,
        body: Sequence[Operation] | Region,
        *,
        counter: int | None = None,
        while_request: str | None = None,
    ) -> None:
        super().__init__(
            properties={
                "counter": None if counter is None else number(counter),
                "while_request": request_attribute(while_request),
            },
            regions=[region_of(body)],
        )

    def verify_(self) -> None:
        """No such loop inside, and no encoding of the end that would be read as DMASTP."""
        self.check_loop()
        if any(isinstance(op, LoopForeverOp) for op in self.body.walk()):
            raise VerifyException("expected no loop_forever inside a loop_forever")
        if self.while_request is not None and self.counter is not None:
            raise VerifyException("expected no counter beside while: the code would be DMASTP")

    def head(self) -> bytes:
        """See `AnyLoopOp`."""
        return b""

    def tail_opcode(self) -> int:
        """See `AnyLoopOp`."""
        counter = 1 if self.counter is None else self.counter.value.data
        return 0x28 | counter << 2

    @classmethod
    def parse(cls, parser: Parser) -> LoopForeverOp:
        """Parse `while burst { ... }`."""
        op = cls(Region())
        op.parse_rest(parser)
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        self.print_rest(printer)
