"""The target `pl330-c`: microcode as C arrays, and a table in which `npu_pl330.c` looks it up.

    /* read_1x4x8x16: 32 runs of 64 bytes, channel 1 */
    static const unsigned char net_read_1x4x8x16[42] = {
        0xbc, 0x00, 0x00, 0x00, 0x00, 0x00, ...
    };
    const npu_pl330_program net_programs[1] = {
        {{64, 2, {{4, 512, 262144}, {8, 64, 256}}}, 1, 8, 0, 8, 0, 64, 0x5ee7e23bu, 42, net_...},
    };

A program that no `dma.start` refers to becomes an array that is visible to the linker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from typing import IO, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from npu_dialect.attributes import PROGRAM
from npu_dialect.dma import StartOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.pl330 import CcrAttr, MovesAttr, MovOp, ProgramOp
from npu_dialect.walking import walk
from npu_passes.emit.c.off_chip import joined
from npu_passes.emit.pl330.assemble import code_of, programs_of
from npu_passes.support.symbols import identifier

Transfer: TypeAlias = tuple[int, MovesAttr]
"""A channel, and the bytes that are moved on it."""

COLUMNS = 12
"""Bytes in a line of an array."""
FNV_BASIS, FNV_PRIME = 2166136261, 16777619
"""The numbers of the hash FNV-1a."""


@dataclass(frozen=True)
class Pl330CTarget(Target):
    """`-t pl330-c`: all programs as arrays, and the table of the transfers that they do."""

    name = "pl330-c"

    prefix: str = ""
    """The prefix of all names; default: the name of the public function."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """See `Target`."""
        output.write(tables(module, self.prefix or public_name(module)))


def engine_files(module: ModuleOp, prefix: str) -> dict[str, str]:
    """The C files that a module with microcode needs, by name: the table and the DMA engine.

    Empty for a module without microcode.

    Raises: PassFailedException if `tables` does.
    """
    if not programs_of(module):
        return {}
    blocks = any(isinstance(op, StartOp) and op.block is not None for op in walk(module))
    return {f"{prefix}_pl330.c": tables(module, prefix), **runtime(blocks=blocks)}


def runtime(*, blocks: bool = False) -> dict[str, str]:
    """The files of the DMA engine for a PL-330, by name; `blocks`: also for transfers in blocks."""
    folder = files("npu_passes.emit.c") / "runtime"
    names = ("npu_pl330.h", *("npu_pl330_blocks.c",) * blocks)
    found = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    return found | {"npu_pl330.c": joined("npu_pl330")}


def public_name(module: ModuleOp) -> str:
    """The name of the first public function, else `npu`."""
    for op in module.ops:
        if isinstance(op, FuncOp) and (
            op.sym_visibility is None or op.sym_visibility.data != "private"
        ):
            return identifier(op.sym_name.data)
    return "npu"


def tables(module: ModuleOp, prefix: str) -> str:
    """The text of the C file.

    Raises: PassFailedException if a program cannot be assembled, or if the program of a transfer is
    missing.
    """
    programs = {op.sym_name.data: op for op in programs_of(module)}
    transfers = transfers_of(module, programs)
    used = set(transfers.values())
    names = unique_names(programs, prefix)
    parts = ["/* Microcode of the PL-330: printed by npu-dialect, do not edit. */\n"]
    parts += ['#include "npu_pl330.h"\n\n']
    for name, program in programs.items():
        parts += array(program, names[name], static=name in used)
    ordered = sorted(transfers.items(), key=lambda each: key_of(*each[0]))
    rows = [row(each, programs[name], names[name]) for each, name in ordered]
    if rows:
        head = f"{prefix}_programs[{len(rows)}]"
        parts += [f"extern const npu_pl330_program {head};\n"]  # C++: visible to a linker
        parts += [f"const npu_pl330_program {head} = {{\n", *rows, "};\n"]
        parts += [f"extern const size_t {prefix}_program_count;\n"]
        parts += [f"const size_t {prefix}_program_count = {len(rows)};\n"]
    return "".join(parts)


def transfers_of(module: ModuleOp, programs: dict[str, ProgramOp]) -> dict[Transfer, str]:
    """The transfers of a module that have programs, each with the name of its program.

    Raises: PassFailedException if the program is missing, or lacks a channel or `moves`.
    """
    found: dict[Transfer, str] = {}
    for op in (each for each in module.walk() if isinstance(each, StartOp)):
        name = PROGRAM.get(op)
        if name is None:
            continue
        program = programs.get(name)
        if program is None or program.moves is None or program.channel is None:
            message = f"expected a pl330.program @{name} on a channel that says what it moves"
            op.emit_error(message, PassFailedException(f"pl330-c: {message}"))
        found.setdefault((program.channel.value.data, program.moves), name)
    return found


def unique_names(programs: dict[str, ProgramOp], prefix: str) -> dict[str, str]:
    """A C identifier for each program."""
    names: dict[str, str] = {}
    for name in programs:
        wish = f"{prefix}_{identifier(name)}"
        count = sum(each == wish for each in names.values())
        names[name] = wish if not count else f"{wish}_{len(names)}"
    return names


def array(program: ProgramOp, name: str, *, static: bool) -> Iterator[str]:
    """The C array with the bytes of a program, in pieces of text."""
    code = code_of(program)
    head = f"const unsigned char {name}[{len(code)}]"
    yield "" if static else f"extern {head};\n"
    yield f"{'static ' if static else ''}{head} = {{\n"
    for first in range(0, len(code), COLUMNS):
        yield f"    {' '.join(f'0x{byte:02x},' for byte in code[first : first + COLUMNS])}\n"
    yield "};\n\n"


def row(transfer: Transfer, program: ProgramOp, name: str) -> str:
    """The entry of a transfer in the table: an `npu_pl330_program` of npu_pl330.h."""
    channel, moves = transfer
    axes = ["{" + ", ".join(map(str, axis)) + "}" for axis in moves.steps]
    shape = f"{{{moves.run_bytes.value.data}, {len(axes)}, {{{', '.join(axes or ['{0, 0, 0}'])}}}}}"
    places = (*int_values(moves.target), *int_values(moves.source))
    numbers = ", ".join(map(str, (channel, *places, burst_of(program))))
    key = f"0x{key_of(channel, moves):08x}u"
    return f"    {{{shape}, {numbers}, {key}, {len(code_of(program))}, {name}}},\n"


def burst_of(program: ProgramOp) -> int:
    """The bytes of each burst of a program; 0 if they differ."""
    sizes = {
        side.beat * side.beats
        for op in program.code()
        if isinstance(op, MovOp) and isinstance(op.value, CcrAttr)
        for side in (op.value.ccr().src, op.value.ccr().dst)
    }
    return sizes.pop() if len(sizes) == 1 else 0


def key_of(channel: int, moves: MovesAttr) -> int:
    """The key by which the engine finds the programs of a transfer: `npu_pl330_key`."""
    key = FNV_BASIS
    for number in (channel, moves.run_bytes.value.data, *chain.from_iterable(moves.steps)):
        key = (key ^ number % 2**32) * FNV_PRIME % 2**32
    return key
