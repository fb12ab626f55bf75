"""Prints `ID_init`, which copies constants into the arenas, and what looks for its word."""

from __future__ import annotations

from collections.abc import Iterator

from npu_passes.emit.c.body import Body
from npu_passes.emit.c.functions import prototype
from npu_passes.emit.c.kept import INIT, NOT_READY
from npu_passes.emit.c.program import ALIGNMENT, Program
from npu_passes.emit.c.types import bytes_of
from npu_passes.emit.c.unit import Unit
from npu_passes.emit.c.weights import array_of


def init_signature(program: Program) -> str:
    """The prototype: `int ID_init(void *dtcm, void *axi)`, and the weights if they are a file."""
    parameters = [f"void *{arena.name}" for arena in program.arenas]
    parameters += ["const void *weights"] * (program.where == "bin")
    return prototype(f"int {program.prefix}_{INIT}", parameters)


def init_function(program: Program, unit: Unit) -> str:
    """The definition of ID_init; empty without copies."""
    if not program.kept.copies:
        return ""
    unit.headers |= {"stddef.h", "stdint.h", "string.h"}
    body = [f"    {line}" for line in (*init_checks(program), *init_copies(program))]
    return "\n".join((init_signature(program), "{", *body, "    return 0;", "}", ""))


def init_checks(program: Program) -> Iterator[str]:
    """The lines that check the pointers that are used."""
    used = [arena for arena in program.arenas if arena.memory in program.kept.ready]
    unused = [arena for arena in program.arenas if arena not in used]
    yield from (f"(void){arena.name};" for arena in unused)
    pointers = [arena.name for arena in used] + ["weights"] * (program.where == "bin")
    for arena in used:
        yield f"unsigned char *const {arena.pointer} = (unsigned char *){arena.name};"
    yield f"if ({' || '.join(f'{name} == NULL' for name in pointers)}) {{"
    yield "    return 1;"
    yield "}"
    wrong = (f"(uintptr_t){arena.name} % {ALIGNMENT}u != 0u" for arena in used)
    yield f"if ({' || '.join(wrong)}) {{"
    yield "    return 2;"
    yield "}"


def init_copies(program: Program) -> Iterator[str]:
    """The lines that copy, and then write the word of each arena."""
    for copied, symbol in program.kept.copies.items():
        arena, weights = program.arena(copied.memory), program.weights[symbol]
        source = weights.name
        if weights.macro is not None:
            source = f"(const unsigned char *)weights + {weights.macro}"
        yield f"memcpy({arena.pointer} + {copied.offset}, {source}, {bytes_of(weights.type)});"
    for memory, at in program.kept.ready.items():
        arena = program.arena(memory)
        yield f"*(uint32_t *)(void *)({arena.pointer} + {at}) = {word_of(program, memory)};"


def word_of(program: Program, memory: str) -> str:
    """The word of an arena, as a C constant."""
    symbols = (symbol for _, symbol in program.kept.in_memory(memory))
    content = {symbol: array_of(program.weights[symbol]).tobytes() for symbol in symbols}
    return f"0x{program.kept.word(memory, content):08x}u"


def print_ready(body: Body) -> None:
    """Print the check that ID_init has made the copies in all arenas."""
    program = body.program
    for memory, at in program.kept.ready.items():
        body.unit.headers.add("stdint.h")
        pointer = program.arena(memory).name
        word = f"*(const uint32_t *)(const void *)((const unsigned char *){pointer} + {at})"
        body.line(f"if ({word} != {word_of(program, memory)}) {{")
        body.line(f"    return {NOT_READY};")
        body.line("}")
