"""Prints the private functions of the C file: one for each layer, with a comment about the layer.

/* conv1: npu.conv2d strides [1, 1] then relu
 *   ifm: 1x1x32x32 float, arena bytes 0 to 4095 ... */
static void lenet5_conv1(const float *NPU_RESTRICT ifm, ...)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, SSAValue

from npu_dialect import dsp
from npu_dialect.attributes import LAYER, WHAT
from npu_dialect.kept_attributes import copy_of
from npu_dialect.walking import walk_kind
from npu_passes.emit.c import carried
from npu_passes.emit.c.body import WIDTH, Body, Pointer
from npu_passes.emit.c.buffers import memory_of
from npu_passes.emit.c.dsp_helpers import use_macro
from npu_passes.emit.c.expr import Expr
from npu_passes.emit.c.macros import IN_ORDER, NO_INLINE
from npu_passes.emit.c.memory import qualified
from npu_passes.emit.c.names import Scope, comment
from npu_passes.emit.c.program import Function, Program
from npu_passes.emit.c.statements import print_block
from npu_passes.emit.c.types import memref_of, shape_text
from npu_passes.emit.c.unit import Unit


def body_of(program: Program, function: Function, unit: Unit) -> Body:
    """The empty body of a function."""
    scope = Scope(program.scope, program.local_names)
    return Body(program, function, unit, scope, carried.variables_of(function.op.body))


def layer_function(program: Program, function: Function, unit: Unit) -> str:
    """The definition of a private function."""
    body = body_of(program, function, unit)
    parameters = [parameter(body, argument) for argument in function.op.body.block.args]
    parameters += [f"unsigned char *{arena.pointer}" for arena in program.arenas_of(function)]
    parameters += ["unsigned char *off_chip"] * function.needs_dram
    parameters += ["npu_dma *dma"] * function.needs_dma
    parameters += ["const unsigned char *parameters"] * function.needs_weights
    for argument in function.op.body.block.args:
        if not argument.uses:
            body.line(f"(void){argument_name(body, argument)};")
    print_block(body, function.op.body.block)
    # Inside of ID_run, a compiler lets the loops of several layers compete for the registers.
    has_loops = any(walk_kind(function.op, scf.ForOp))
    macros = [NO_INLINE] * (has_loops or body.keeps_order)
    macros += [IN_ORDER] * any(walk_kind(function.op, dsp.LoadFloatsOp))
    alone = "".join(f"{use_macro(body.unit, macro)} " for macro in macros)
    head = prototype(f"static {alone}void {function.name}", parameters)
    return "\n".join((*layer_comment(function, body), head, "{", *body.finished(), "}", ""))


def prototype(head: str, parameters: Sequence[str]) -> str:
    """The head of a function with its parameters, on several lines if one line is too short."""
    line = f"{head}({', '.join(parameters) or 'void'})"
    if len(line) <= WIDTH:
        return line
    return f"{head}(\n    " + ",\n    ".join(parameters) + ")"


def parameter(body: Body, argument: BlockArgument) -> str:
    """The declaration of one parameter of a private function; its name is noted in `body`."""
    if not isinstance(argument.type, MemRefType):
        name = body.name_for(argument, f"arg{argument.index}")
        body.values[argument] = Expr(name)
        return f"{body.unit.ctype(argument.type).name} {name}"
    written = argument in body.function.written
    name = body.name_for(argument, "out" if written else "in")
    body.pointers[argument] = Pointer(name)
    restrict = "NPU_RESTRICT " if argument.index in body.function.restrict else ""
    return f"{qualified(body, argument)} *{restrict}{name}"


def argument_name(body: Body, argument: BlockArgument) -> str:
    """The name of the parameter for an argument."""
    if argument in body.pointers:
        return body.pointers[argument].name
    return body.values[argument].text


def layer_comment(function: Function, body: Body) -> list[str]:
    """The comment above a layer's function: what it computes, then a line for each buffer."""
    texts = (LAYER.get(function.op), WHAT.get(function.op))
    title = ": ".join(comment(text) for text in texts if text)
    lines = [f"/* {title or comment(function.op.sym_name.data)}"]
    for argument in function.op.body.block.args:
        if argument in body.pointers:
            places = (
                place_text(body.program, call.arguments[argument.index]) for call in function.calls
            )
            name, type_ = body.pointers[argument].name, memref_of(argument)
            lines.append(f" *   {name}: {shape_text(type_)}, {'; '.join(dict.fromkeys(places))}")
    return [*lines, " */"]


def place_text(program: Program, value: SSAValue) -> str:
    """Text for a comment that says in which memory the buffer lies that a call passes."""
    memory = memory_of(value)
    match memory.kind:
        case "arena":
            where = program.arena(memory.memory).where
            return f"{where} bytes {memory.begin} to {memory.end - 1}"
        case "dram":
            return f"off-chip bytes {memory.begin} to {memory.end - 1}"
        case "weights":
            assert isinstance(memory.root.owner, memref.GetGlobalOp)
            symbol = comment(memory.root.owner.name_.string_value())
            copied = copy_of(memory.root.owner)
            if copied is None:
                return f"weights {symbol}"
            return f"the copy of {symbol} in {program.arena(copied.memory).where}"
        case "stack":
            return "on the stack"
        case "caller":
            return "wherever its caller has it"
