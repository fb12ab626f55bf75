"""The public functions: they check pointers, move inputs and outputs, and run the layers.

A program whose input arrives in rows has three, and each may return a status of its own.
An argument that lies in the arena is copied only if the caller's pointer is not its address there.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType

from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import ZERO_POINT
from npu_passes.emit.c.body import Body, Pointer
from npu_passes.emit.c.expr import Expr
from npu_passes.emit.c.functions import body_of, prototype
from npu_passes.emit.c.initial import print_ready
from npu_passes.emit.c.memory import pointee
from npu_passes.emit.c.names import comment
from npu_passes.emit.c.program import ALIGNMENT, Argument, Entry, Program
from npu_passes.emit.c.statements import print_block
from npu_passes.emit.c.types import as_memref, memref_of, shape_text, span_of
from npu_passes.emit.c.unit import Unit


def signature(program: Program, entry: Entry, unit: Unit) -> str:
    """The prototype: `int ID_run(const float *input, float *output, void *arena)`.

    There is a pointer for each arena. A program with transfers has two more parameters: off-chip
    memory and the DMA engine.
    """
    parameters = [parameter(entry, argument, unit) for argument in entry.parameters]
    parameters += [f"void *{arena.name}" for arena in program.arenas]
    if program.uses_dma:
        parameters += ["void *dram", "npu_dma *dma"]
    if program.where == "bin":
        parameters.append("const void *weights")
    return prototype(f"int {entry.function.name}", parameters)


def parameter(entry: Entry, argument: Argument, unit: Unit) -> str:
    """The declaration of one parameter of the public function."""
    type_ = as_memref(argument.value.type)
    if type_ is None:
        return f"{unit.ctype(argument.value.type).name} {argument.name}"
    return f"{constness(entry, argument)}{unit.ctype(type_.element_type).name} *{argument.name}"


def constness(entry: Entry, argument: Argument) -> str:
    """`const ` if a public function writes nothing through the pointer of an argument."""
    if argument.offset is not None:
        return "" if argument.is_output else "const "
    written = argument.is_output or argument.value in entry.function.written
    return "" if written else "const "


def public_function(program: Program, entry: Entry, unit: Unit) -> str:
    """The definition of ID_run, or of a part of it."""
    body = body_of(program, entry.function, unit)
    body.scope.taken |= {argument.name for argument in entry.arguments}
    print_checks(body, entry)
    bind_arguments(body, entry)
    for argument in entry.parameters:
        if argument.is_input and argument.offset is not None:
            print_transfer(body, argument, inwards=True)
    block = entry.function.op.body.block
    print_block(body, block)
    for argument in entry.parameters:
        if argument.is_output and argument.offset is not None:
            print_transfer(body, argument, inwards=False)
    status = [] if block.last_op is None else body.use_all(block.last_op.operands)
    body.line(f"return {status[0].text if status else 0};")
    return "\n".join((signature(program, entry, unit), "{", *body.finished(), "}", ""))


def print_checks(body: Body, entry: Entry) -> None:
    """Print the checks for NULL and misaligned pointers, and byte pointers to the blocks."""
    program, function = body.program, entry.function
    pointers = [one.name for one in entry.parameters if isinstance(one.value.type, MemRefType)]
    pointers += [arena.name for arena in program.arenas if arena.bytes]
    pointers += ["dram"] * bool(program.dram_bytes) + ["dma"] * program.uses_dma
    pointers += ["weights"] * (program.where == "bin" and bool(program.weights_bytes))
    used = {each.memory for each in entry.arguments if each.offset is not None}
    for arena in program.arenas:
        if arena.memory in used | function.memories:
            body.line(f"unsigned char *const {arena.pointer} = (unsigned char *){arena.name};")
    if function.needs_dram:
        body.line("unsigned char *const off_chip = (unsigned char *)dram;")
    if function.needs_weights:
        body.line("const unsigned char *const parameters = (const unsigned char *)weights;")
    if pointers:
        body.unit.headers.add("stddef.h")
        body.line(f"if ({' || '.join(f'{name} == NULL' for name in pointers)}) {{")
        body.line("    return 1;")
        body.line("}")
    for arena in program.arenas:
        print_alignment(body, arena.name, arena.bytes)
    if program.uses_dma:
        print_alignment(body, "dram", program.dram_bytes)
    print_ready(body)
    if program.where == "bin" and not (program.weights_bytes and function.needs_weights):
        body.line("(void)weights;")


def print_alignment(body: Body, block: str, size: int) -> None:
    """Print the check of the alignment of a block of memory."""
    if not size:
        body.line(f"(void){block};")
        return
    body.unit.headers.add("stdint.h")
    body.line(f"if ((uintptr_t){block} % {ALIGNMENT}u != 0u) {{")
    body.line("    return 2;")
    body.line("}")


def bind_arguments(body: Body, entry: Entry) -> None:
    """Print a pointer for each argument in the arena; note the pointers of all arguments."""
    for argument in entry.arguments:
        value, type_ = argument.value, as_memref(argument.value.type)
        if type_ is None:
            body.values[value] = Expr(argument.name)
            continue
        name = argument.name
        if argument.offset is not None:
            name = body.scope.fresh(f"{argument.name}_map")
            ctype = pointee(body, value)
            arena = body.program.arena(argument.memory)
            address = f"{arena.pointer} + {argument.macro}_OFFSET"
            body.line(f"/* {comment(argument.label)}: {shape_text(type_)} */")
            body.line(f"{ctype} *const {name} = ({ctype} *)(void *)({address});")
        body.pointers[value] = Pointer(name, type_.get_offset() or 0)


def print_transfer(body: Body, argument: Argument, *, inwards: bool) -> None:
    """Print the copy of an argument into the arena, or out of it.

    Nothing is copied at run time if the caller's pointer is the address in the arena.
    """
    body.unit.headers.add("string.h")
    type_, inner = memref_of(argument.value), body.pointers[argument.value].name
    target, source = (inner, argument.name) if inwards else (argument.name, inner)
    count = (type_.get_offset() or 0) + span_of(type_)
    body.line(f"if ({argument.name} != {inner}) {{")
    body.line(
        f"    memmove({target}, {source}, {count} * sizeof({pointee(body, argument.value)}));"
    )
    body.line("}")


def reset_signature(program: Program) -> str:
    """The prototype of the function that sets all states to zero."""
    return prototype(
        f"void {program.prefix}_reset", [f"void *{arena.name}" for arena in program.arenas]
    )


def reset_function(program: Program, unit: Unit) -> str:
    """The definition of ID_reset; empty without states.

    The integer that stands for zero is the zero point of the state.
    """
    if not program.states:
        return ""
    unit.headers.add("string.h")
    memories = {state.memory for state in program.states}
    lines = [
        f"unsigned char *const {arena.pointer} = (unsigned char *){arena.name};"
        if arena.memory in memories
        else f"(void){arena.name};"
        for arena in program.arenas
    ]
    for state in program.states:
        type_ = memref_of(state.value)
        zero = ZERO_POINT.of(argument_attributes(state.value)) or 0
        size = f"{state.macro}_ELEMENTS * sizeof({unit.ctype(type_.element_type).name})"
        pointer = program.arena(state.memory).pointer
        lines.append(f"memset({pointer} + {state.macro}_OFFSET, {zero}, {size});")
    body = (f"    {line}" for line in lines)
    return "\n".join((reset_signature(program), "{", *body, "}", ""))
