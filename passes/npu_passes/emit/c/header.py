"""Prints the header: sizes and offsets as macros, and the prototypes of the public functions."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import f32

from npu_dialect.arguments import Attributes, argument_attributes, is_streamed
from npu_dialect.attributes import SCALE, ZERO_POINT
from npu_passes.emit.c.entry import reset_signature, signature
from npu_passes.emit.c.initial import init_signature
from npu_passes.emit.c.kept import INIT
from npu_passes.emit.c.names import comment
from npu_passes.emit.c.off_chip import PLANES, RUNTIME
from npu_passes.emit.c.program import ALIGNMENT, Argument, Program
from npu_passes.emit.c.types import FLOATS, as_memref, float_literal, memref_of, shape_text, span_of
from npu_passes.emit.c.unit import Unit

ARENA_TEXT = f"""\
/*
 * The arena is the only memory that is written: ARENA_BYTES bytes, aligned to {ALIGNMENT}.
 * It holds inputs, outputs and everything between them. Its content means nothing before a run,
 * and a run overwrites all of it, inputs too.
 *
 * An input can be written straight to `arena + OFFSET`, and an output read there. Pass that
 * address as the argument then: nothing is copied. Any other argument lies outside the arena.
 */
"""

OFF_CHIP_TEXT = f"""\
/*
 * The arena is memory on the chip: ARENA_BYTES bytes, aligned to {ALIGNMENT}. `dram` is memory off
 * the chip: DRAM_BYTES bytes, aligned to {ALIGNMENT}; it may be NULL if that is 0. What they hold
 * means nothing before a run, and a run overwrites it.
 *
 * Inputs, outputs and weights are off the chip, too, wherever the caller has them, apart from each
 * other. Only `dma` moves data between chip and memory, see npu_dma.h.
 */
"""

STATE_TEXT = """\
/*
 * States stay in the arena from one run to the next, each at its OFFSET. Call
 * RESET before the first run, and where a new sequence begins: it sets them to zero.
 * All other bytes of the arena may change between runs.
 */
"""

INIT_TEXT = """\
/*
 * Constants that are read often are read from copies in the arenas. Call INIT once
 * before the first run: it makes the copies, which stay. Call it again after anything else has
 * written to these arenas, and after a sleep that they do not survive. It returns 0 when the copies
 * are made, 1 if a pointer is NULL, 2 if an arena is not aligned.
 *
 * A run that finds that INIT was not called does nothing and returns 3. It looks at one
 * word in each arena, so it does not notice what overwrites copies.
 */
"""

WITH_STATES = (
    (
        "Its content means nothing before a run,\n * and a run overwrites all of it, inputs too.",
        "But for states, its content means\n * nothing before a run, and a run overwrites it, "
        "inputs too.",
    ),
    ("What they hold\n * means nothing", "But for\n * states, what they hold means nothing"),
    ("nothing is kept between runs", "only states are kept between runs"),
)
"""What the comments say of a program without states, and of one with them."""

OF_MEMORIES = (
    (
        f"The arena is the only memory that is written: ARENA_BYTES bytes, aligned to {ALIGNMENT}.",
        f"The arenas are the only memory that is written, each aligned to {ALIGNMENT}:\nARENAS",
    ),
    ("It holds", "They hold"),
    ("overwrites all of it", "overwrites all of them"),
    ("a run overwrites it", "a run overwrites them"),
    ("Its content", "Their content"),
    ("its content", "their content"),
    ("be written straight to `arena + OFFSET`", "be written straight to its OFFSET in its arena"),
    ("be read at `arena + OFFSET`", "be read at its OFFSET in its arena"),
    ("lies outside the arena.", "lies outside the arenas."),
    ("States stay in the arena", "States stay in the arenas"),
    ("All other bytes of the arena", "All other bytes of the arenas"),
    ("2 if the arena is not", "2 if an arena is not"),
    ("the arena must stay as it\n * is", "the arenas must stay as they\n * are"),
    ("nothing is kept but in the arena:", "nothing is kept but in the arenas:"),
)
"""What the comments say of one arena, and of arenas that have the names of memories."""

STREAM_TEXT = f"""\
/*
 * The input arrives in rows. Call BEGIN, then PUSH until all ROWS rows were
 * given, in any portions, then FINISH, which computes the outputs. BEGIN may be
 * called again at any time, to start with a new input. Between the calls the arena must stay as it
 * is. Each row has its channels one after the other: [n][LINE] elements for n rows.
 *
 * All return 0 if they did their work, 1 if a pointer is NULL, 2 if the arena is not aligned to
 * {ALIGNMENT} bytes, and 3 out of turn: if PUSH gets more rows than the input has left, or a
 * negative number, and if FINISH is called before the last row, or twice. They did nothing then.
 * Before the first call of BEGIN, the others must not be called. Nothing is allocated,
 * and nothing is kept but in the arena: runs with different arenas can go on at the same time.
 */
"""

STREAM_ARENA_TEXT = f"""\
/*
 * The arena is the only memory that is written: ARENA_BYTES bytes, aligned to {ALIGNMENT}.
 * It holds the outputs, some rows of the input, and everything between them.
 *
 * An output can be read at `arena + OFFSET`. Pass that address as the argument then: nothing is
 * copied. Any other argument lies outside the arena.
 */
"""

RETURN_TEXT = f"""\
/*
 * Returns 0 when the outputs are computed, 1 if a pointer is NULL, 2 if the arena is not
 * aligned to {ALIGNMENT} bytes. Nothing is allocated and nothing is kept between runs: runs with
 * different arenas can go on at the same time.
 */
"""

ENGINE_TEXT = f"""\
/*
 * Returns 0 when the outputs are computed, 1 if a pointer is NULL, 2 if a block is not aligned to
 * {ALIGNMENT} bytes, and what npu_dma_status(dma) returns, more than 3, if the engine has failed:
 * the outputs mean nothing then. Nothing is allocated and nothing is kept between runs: runs with
 * blocks and engines of their own can go on at the same time.
 */
"""

WEIGHTS_TEXT = f"""\
/*
 * The weights are a file that the program loads to an address that is a multiple of {ALIGNMENT}
 * (little-endian, as the machine that runs it must be). Byte offset of each tensor:
 */
"""


def header(program: Program) -> str:
    """The text of the header."""
    unit = Unit(program.index)
    prototypes = [f"{signature(program, entry, unit)};\n" for entry in program.entries]
    parts = [f"#ifndef {program.macros.guard}\n#define {program.macros.guard}\n\n"]
    parts += [f"#include <{name}>\n" for name in sorted(unit.headers)]
    parts += [f"#define {PLANES}\n"] * any(blocks.planes for blocks in program.blocks)
    parts += [f'#include "{RUNTIME}"\n'] * program.uses_dma
    parts += ["\n"] if unit.headers or program.uses_dma else []
    parts += memory_text(program)
    parts += [argument_text(program, argument) for argument in program.arguments]
    parts += weights_text(program)
    parts += ['#ifdef __cplusplus\nextern "C" {\n#endif\n\n']
    parts += init_text(program)
    parts += state_text(program)
    parts += [stream_text(program) if program.is_streamed else return_text(program)]
    parts += [*prototypes, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"]
    return "".join(parts)


def memory_text(program: Program) -> Iterator[str]:
    """The comment about the blocks of memory, and the macros of their sizes."""
    macros = program.macros
    text = OFF_CHIP_TEXT if program.uses_dma else ARENA_TEXT
    text = STREAM_ARENA_TEXT if program.is_streamed else text
    text = of_memories(program, of_states(program, text))
    text = text.replace("ARENA_BYTES", program.arenas[0].macro)
    yield text.replace("DRAM_BYTES", macros.dram_bytes)
    yield from (f"#define {arena.macro} {arena.bytes}\n" for arena in program.arenas)
    if program.uses_dma:
        yield f"#define {macros.dram_bytes} {program.dram_bytes}\n"
    yield "\n"


def state_text(program: Program) -> Iterator[str]:
    """The prototype of the function that resets the states, if there are any."""
    if program.states:
        text = of_memories(program, STATE_TEXT).replace("RESET", f"{program.prefix}_reset()")
        others = "All other bytes" + " but copies of constants" * bool(program.kept.copies)
        yield text.replace("All other bytes", others)
        yield f"{reset_signature(program)};\n\n"


def init_text(program: Program) -> Iterator[str]:
    """The prototype of the function that copies constants, if there are any."""
    if program.kept.copies:
        yield INIT_TEXT.replace("INIT", f"{program.prefix}_{INIT}()")
        yield f"{init_signature(program)};\n\n"


def of_states(program: Program, text: str) -> str:
    """A comment about memory, as it is if the program has states or copies of constants."""
    for plain, other in WITH_STATES * bool(program.states or program.kept.copies):
        text = text.replace(plain, other)
    if program.kept.copies:
        copies = "copies of constants"
        text = text.replace("states", f"states and {copies}" if program.states else copies)
    return text


def of_memories(program: Program, text: str) -> str:
    """A comment about the arena, as it is if arenas have the names of memories."""
    if not program.names_memories:
        return text
    for plain, other in OF_MEMORIES:
        text = text.replace(plain, other)
    lines = (
        f" *   `{arena.name}`: {arena.macro} bytes in {arena.memory}"
        + ", which is behind a data cache" * arena.cached
        for arena in program.arenas
    )
    return text.replace("ARENAS", "\n".join(lines))


def return_text(program: Program) -> str:
    """The comment about what the public function returns, and when it may be called."""
    text = of_states(program, ENGINE_TEXT if program.uses_dma else RETURN_TEXT)
    return of_memories(program, text)


def stream_text(program: Program) -> str:
    """The comment about the functions of a program whose input arrives in rows."""
    names = [entry.function.name for entry in program.entries]
    rows = next(argument for argument in program.arguments if is_streamed(roles_of(argument)))
    type_ = memref_of(rows.value)
    _, channels, _, width = type_.get_shape()
    text = of_memories(program, STREAM_TEXT).replace("ROWS", f"{rows.macro}_ROWS")
    text = text.replace("LINE", f"{channels}][{width}" if channels > 1 else f"{width}")
    for word, name in zip(("BEGIN", "PUSH", "FINISH"), names, strict=True):
        text = text.replace(word, f"{name}()")
    return text


def roles_of(argument: Argument) -> Attributes:
    """The attributes of an argument."""
    return argument_attributes(argument.value)


def argument_text(program: Program, argument: Argument) -> str:
    """The macros of one argument."""
    type_ = as_memref(argument.value.type)
    if type_ is None:
        return ""
    if is_streamed(roles_of(argument)):
        shape = type_.get_shape()
        text = f"/* {comment(argument.label)}: {shape_text(type_)}, input in rows */\n"
        text += f"#define {argument.macro}_ROWS {shape[2]}\n"
        text += f"#define {argument.macro}_ELEMENTS {prod(shape)}\n"
        return f"{text}{scale_text(argument)}\n"
    ways = ["input"] * argument.is_input + ["output"] * argument.is_output
    ways = ["state"] if argument.is_state else ways
    way = f", {' and '.join(ways)}" if ways else ""
    if program.names_memories and argument.offset is not None:
        way += f" in {program.arena(argument.memory).name}"
    text = f"/* {comment(argument.label)}: {shape_text(type_)}{way} */\n"
    if argument.offset is not None:
        text += f"#define {argument.macro}_OFFSET {argument.offset}\n"
    text += f"#define {argument.macro}_ELEMENTS {(type_.get_offset() or 0) + span_of(type_)}\n"
    return f"{text}{scale_text(argument)}\n"


def scale_text(argument: Argument) -> str:
    """The macros of a quantised argument: its real numbers are (q - ZERO_POINT) * SCALE."""
    attributes = argument_attributes(argument.value)
    scale, zero_point = SCALE.of(attributes), ZERO_POINT.of(attributes)
    if scale is None or zero_point is None:
        return ""
    return (
        f"#define {argument.macro}_SCALE {float_literal(scale, FLOATS[f32])}\n"
        f"#define {argument.macro}_ZERO_POINT ({zero_point})\n"
    )


def weights_text(program: Program) -> Iterator[str]:
    """The macro of the size of the weights; before it, their offsets in a weights file."""
    if program.where == "bin":
        yield WEIGHTS_TEXT
        for weights in program.weights.values():
            name = comment(weights.op.sym_name.data)
            yield f"/* {weights.offset:10}  {name}: {shape_text(weights.type)} */\n"
    yield f"#define {program.macros.weights_bytes} {program.weights_bytes}\n\n"
