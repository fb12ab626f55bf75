"""Prints every kind of op as C statements: scalar operations, memory, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from npu_dialect import dma, dram, dsp, mve, sram
from npu_dialect.attributes import LAYER
from npu_passes.analysis.views import FROM_BASE
from npu_passes.emit.c import memory, transfers
from npu_passes.emit.c.body import Body, writes_memory
from npu_passes.emit.c.dsp import (
    print_copy_words,
    print_keep_order,
    print_load_floats,
    print_load_pair,
    print_load_word,
    print_opaque,
    print_store_floats,
    print_store_word,
)
from npu_passes.emit.c.expr import Expr, Rank
from npu_passes.emit.c.floats import inverse
from npu_passes.emit.c.mve import (
    print_gather,
    print_load_vector,
    print_mul_rows,
    print_mul_runs,
    print_pack,
    print_scatter,
    print_store_vector,
)
from npu_passes.emit.c.names import comment, literal
from npu_passes.emit.c.operators import OPERATORS


def print_block(body: Body, block: Block) -> None:
    """Print all ops of a block but its terminator."""
    for op in block.ops:
        print_op(body, op)


def print_op(body: Body, op: Operation) -> None:
    """Print one op; a terminator is printed with the loop, branch or function that it ends."""
    if build := OPERATORS.get(op.name):
        body.define(op.results[0], build(op, body.use_all(op.operands), body.unit))
    elif statement := STATEMENTS.get(type(op)):
        statement(body, op)


def print_for(body: Body, op: scf.ForOp) -> None:
    """Print a loop; the values that it carries are variables declared in front of it."""
    print_layer_comment(body, op)
    lower, step, initial = body.use(op.lb), body.use(op.step), body.use_all(op.iter_args)
    upper = body.use(op.ub)
    if writes_memory(op):
        body.flush()
    # C evaluates the bound before each round, so it must not read what the loop changes.
    kind = body.unit.ctype(op.lb.type).name
    upper, step = stable(body, kind, "end", upper), stable(body, kind, "step", step)
    for result, expr in zip(op.res, initial, strict=True):
        print_carried(body, result, expr)
    with body.captured() as lines:
        induction, *arguments = op.body.block.args
        name = body.name_for(induction, "i")
        body.values[induction] = Expr(name)
        for result, argument in zip(op.res, arguments, strict=True):
            body.values[argument] = variable(body, result)
        print_region(body, op.body, op.res)
    increment = f"++{name}" if step.text == "1" else f"{name} += {step.text}"
    condition = f"{name} < {upper.within(Rank.COMPARE, right=True)}"
    body.line(f"for ({kind} {name} = {lower.text}; {condition}; {increment}) {{")
    body.lines += lines
    body.line("}")
    close(body, op.res)


def stable(body: Body, kind: str, wanted: str, expr: Expr) -> Expr:
    """An expression that a loop cannot change: `expr`, or a new constant of type `kind`.

    The constant, named like `wanted`, is printed if `expr` reads memory or carried variables.
    """
    if not expr.memory and not expr.reads:
        return expr
    name = body.scope.fresh(wanted)
    body.line(f"const {kind} {name} = {expr.text};")
    return Expr(name)


def print_carried(body: Body, result: SSAValue, initial: Expr) -> None:
    """Give the variable of a loop's result its initial value; declare it if it does not exist."""
    if result in body.variables.before:
        return
    owner = body.variables.owner_of(result)
    if owner is not result:
        body.assign(body.names[owner], initial)
        return
    body.names[result] = body.name_for(result, "carried")
    body.declare(result, body.names[result], initial)


def variable(body: Body, result: SSAValue) -> Expr:
    """The variable of a result as an expression."""
    name = body.use_variable(result)
    return Expr(name, reads=frozenset((name,)))


def close(body: Body, results: Sequence[SSAValue]) -> None:
    """After a loop or branch: make its results stand for their variables."""
    for result in results:
        body.values[result] = variable(body, result)
        if not result.uses:
            body.line(f"(void){body.use_variable(result)};")


def print_region(body: Body, region: Region, results: Sequence[SSAValue]) -> None:
    """Print the ops of a region, then its yield as assignments to the variables of the results."""
    print_block(body, region.block)
    last = region.block.last_op
    yielded = body.use_all(last.operands) if last is not None else []
    names = [body.use_variable(result) for result in results]
    assign_all(body, names, yielded, results)


def assign_all(
    body: Body, names: Sequence[str], values: Sequence[Expr], results: Sequence[SSAValue]
) -> None:
    """Print assignments of several variables, so that none is overwritten before it is read."""
    left = [
        (name, value, result.type)
        for name, value, result in zip(names, values, results, strict=True)
        if value.text != name
    ]
    while left:
        ready = next((one for one in left if not is_read(one[0], left)), None)
        if ready is None:  # the variables read each other in a circle: save one new value first
            name, value, kind = left[0]
            new = body.scope.fresh(f"next_{name}")
            body.line(f"const {body.unit.ctype(kind).name} {new} = {value.text};")
            left[0] = (name, Expr(new), kind)
            continue
        body.assign(ready[0], ready[1])
        left.remove(ready)


def is_read(name: str, assignments: Sequence[tuple[str, Expr, Attribute]]) -> bool:
    """Whether the assignment of another variable reads the variable `name`."""
    return any(name in value.reads for other, value, _ in assignments if other != name)


def print_if(body: Body, op: scf.IfOp) -> None:
    """Print a branch; its results are variables that both sides assign."""
    print_layer_comment(body, op)
    condition = body.use(op.cond)
    if writes_memory(op):
        body.flush()
    for result in op.output:
        if body.variables.owner_of(result) is result:
            body.names[result] = body.name_for(result, "chosen")
            body.line(f"{body.unit.ctype(result.type).name} {body.names[result]};")
    sides: list[list[str]] = []
    for region in op.regions:
        with body.captured() as lines:
            if region.blocks:
                print_region(body, region, op.output)
        sides.append(lines)
    then, otherwise = sides
    if not then:
        condition, then, otherwise = inverse(condition), otherwise, []
    if then:
        body.line(f"if ({condition.text}) {{")
        body.lines += then
        if otherwise:
            body.line("} else {")
            body.lines += otherwise
        body.line("}")
    close(body, op.output)


def print_call(body: Body, op: CallOp) -> None:
    """Print a call of another function, and after a layer the macro that is a hook."""
    callee = body.program.function(op)
    arguments = [
        body.pointers[value].text if isinstance(value.type, MemRefType) else body.use(value).text
        for value in op.arguments
    ]
    body.flush()
    arguments += [arena.pointer for arena in body.program.arenas_of(callee)]
    arguments += ["off_chip"] * callee.needs_dram + ["dma"] * callee.needs_dma
    arguments += ["parameters"] * callee.needs_weights
    body.line(f"{callee.name}({', '.join(arguments)});")
    if callee.needs_dma:
        transfers.print_result(body)
    if layer := body.program.layers.get(op):
        number, name = layer
        body.line(f"{body.program.macros.on_layer}({number}, {literal(name)});")


def print_layer_comment(body: Body, op: Operation) -> None:
    """Print a comment with the name of a layer that is not a function of its own."""
    if layer := LAYER.get(op):
        body.line(f"/* {comment(layer)} */")


STATEMENTS: dict[type[Operation], Callable[[Body, Any], None]] = {
    memref.LoadOp: memory.print_load,
    memref.StoreOp: memory.print_store,
    memref.CopyOp: memory.print_copy,
    memref.AllocOp: memory.print_alloc,
    sram.AllocOp: memory.print_alloc,
    dram.AllocOp: memory.print_alloc,
    memref.AllocaOp: memory.print_alloca,
    memref.GetGlobalOp: memory.print_global,
    dma.StartOp: transfers.print_start,
    dma.WaitOp: transfers.print_wait,
    dma.ReadsOp: transfers.print_access,
    dma.WritesOp: transfers.print_access,
    dma.WorkOp: transfers.print_work,
    dsp.LoadWordOp: print_load_word,
    dsp.LoadPairOp: print_load_pair,
    dsp.LoadFloatsOp: print_load_floats,
    dsp.StoreWordOp: print_store_word,
    dsp.StoreFloatsOp: print_store_floats,
    dsp.CopyWordsOp: print_copy_words,
    dsp.KeepOrderOp: print_keep_order,
    dsp.OpaqueOp: print_opaque,
    mve.LoadOp: print_load_vector,
    mve.StoreOp: print_store_vector,
    mve.GatherOp: print_gather,
    mve.GatherBytesOp: print_gather,
    mve.ScatterOp: print_scatter,
    mve.ScatterBytesOp: print_scatter,
    mve.PackOp: print_pack,
    mve.MulRowsOp: print_mul_rows,
    mve.MulRunsOp: print_mul_runs,
    scf.ForOp: print_for,
    scf.IfOp: print_if,
    CallOp: print_call,
    **dict.fromkeys((sram.SpanOp, *FROM_BASE), memory.print_view),
}
"""For each kind of op that is more than an expression the function that prints it."""
