"""The targets `pl330-asm` and `pl330-hex`: microcode as assembly (`asm`), or as bytes (`hex`).

    tile:                       ; channel 0, 38 bytes
        DMAMOV CCR, SAI SS32 SB3 DAI DS32 DB3

    tile: bc 01 25 40 09 00 bc 00 a8 0c 10 00 ... 00  # channel 0

The assembly has the manual's mnemonics. The front end `pl330` of npu-opt reads the bytes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from npu_dialect.pl330 import ProgramOp
from npu_passes.emit.pl330.assemble import assemble, code_of, programs_of

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
"""Names of programs that can be labels in assembly."""


def hex_text(program: ProgramOp) -> str:
    """The line of a program in hex.

    Raises: PassFailedException if `assemble` does, or if the program's name cannot be a label.
    """
    data = code_of(program).hex(" ")
    return f"{_name(program)}: {data}  # {_thread(program)}\n"


def assembly_text(program: ProgramOp, *, listing: bool = False) -> str:
    """A program in assembly; `listing`: with the address and the bytes of each instruction.

    Raises: PassFailedException if `hex_text` does.
    """
    lines = assemble(program)
    size = sum(len(line.data) for line in lines)
    targets = {line.target for line in lines}
    parts = [f"{_name(program)}:  ; {_thread(program)}, {size} bytes\n"]
    labelled: set[int] = set()
    for line in lines:
        # DMALPFE has no bytes: the label of its loop's body comes after it.
        if line.data and line.address in targets and line.address not in labelled:
            labelled.add(line.address)
            parts.append(f"L{line.address:04x}:\n")
        text = f"{'    ' * (line.depth + 1)}{line.text}"
        if listing and line.data:
            text = f"{text:<56}; {line.address:04x}: {line.data.hex(' ')}"
        parts.append(f"{text}\n")
    return "".join(parts)


def _thread(program: ProgramOp) -> str:
    return "manager" if program.channel is None else f"channel {program.channel.value.data}"


def _name(program: ProgramOp) -> str:
    name = program.sym_name.data
    if not NAME.fullmatch(name):
        message = f"expected a name of letters, digits, '_', '$' and '.', got {name!r}"
        program.emit_error(message, PassFailedException(f"pl330: {message}"))
    return name


@dataclass(frozen=True)
class Pl330AsmTarget(Target):
    """`-t pl330-asm`: all programs in assembly."""

    name = "pl330-asm"

    listing: bool = False
    """Whether to print the address and the bytes of each instruction."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """See `Target`."""
        texts = [assembly_text(op, listing=self.listing) for op in programs_of(module)]
        output.write("\n".join(texts))


@dataclass(frozen=True)
class Pl330HexTarget(Target):
    """`-t pl330-hex`: one line of hex for each program."""

    name = "pl330-hex"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """See `Target`."""
        output.write("".join([hex_text(op) for op in programs_of(module)]))
