"""The assembler: turns a `pl330.program` into lines with addresses, bytes and text.

    pl330.loop 5 {        0010  22 04   DMALP lc1, 5
      pl330.ld            0012  04      DMALD
    }                     0013  3c 01   DMALPEND lc1, L0012

The ops encode themselves; the assembler computes their addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from npu_dialect.machine import MOST_JUMP_OF_PL330
from npu_dialect.pl330 import AnyLoopOp, InstructionOp, LoopOp, OneOp, ProgramOp
from npu_dialect.walking import walk


@dataclass(frozen=True)
class Line:
    """One line of assembly; `address` counts bytes from the start of the program."""

    address: int
    data: bytes
    text: str
    depth: int
    """The number of loops around it."""
    op: InstructionOp
    """The op; the beginning and the end of a loop are two lines of the same op."""
    target: int | None = None
    """The address that DMALPEND jumps to; None for other instructions."""


def programs_of(module: ModuleOp) -> list[ProgramOp]:
    """The programs of a module, in order."""
    return [op for op in walk(module) if isinstance(op, ProgramOp)]


def assemble(program: ProgramOp) -> list[Line]:
    """The lines of a program.

    Raises: PassFailedException if the body of a loop is too long for the jump back.
    """
    return list(_lines(program.instructions(), 0, 0))


def code_of(program: ProgramOp) -> bytes:
    """The bytes of a program.

    Raises: PassFailedException if `assemble` does.
    """
    return b"".join(line.data for line in assemble(program))


def _lines(ops: Sequence[InstructionOp], address: int, depth: int) -> Iterator[Line]:
    for op in ops:
        if isinstance(op, AnyLoopOp):
            yield from _loop(op, address, depth)
        elif isinstance(op, OneOp):
            yield Line(address, op.encode(), op.assembly(), depth, op)
        address += op.size


def _loop(op: AnyLoopOp, address: int, depth: int) -> Iterator[Line]:
    if op.jump > MOST_JUMP_OF_PL330:
        message = f"expected a loop of at most {MOST_JUMP_OF_PL330} bytes, got {op.jump}"
        op.emit_error(message, PassFailedException(f"pl330: {message}"))
    head = op.head()
    counter = f" lc{op.counter_used}" if isinstance(op, LoopOp) else ""
    count = f", {op.count.value.data}" if isinstance(op, LoopOp) else ""
    yield Line(address, head, f"{op.MNEMONIC}{counter}{count}", depth, op)
    start = address + len(head)
    yield from _lines(op.instructions(), start, depth + 1)
    label = f"{counter}," if counter else ""
    text = f"{op.tail_mnemonic()}{label} L{start:04x}"
    yield Line(start + op.jump, op.tail(), text, depth, op, start)
