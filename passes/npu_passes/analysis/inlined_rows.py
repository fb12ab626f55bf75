"""A program of loops with the functions of rows in their callers again. Pure reading of a copy.

`npu-outline-rows` moves code of rows into functions that get the number of the row. How often loops
run there follows from that number, so whoever counts loops reads the copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.walking import walk_kind
from npu_passes.support.symbols import function_around


def with_inlined_rows(module: ModuleOp) -> ModuleOp:
    """A copy in which functions with an index are part of their only caller.

    The module itself, if it has no such function.
    """
    if not any(calls_of_rows(module)):
        return module
    copy = module.clone()
    for call, function in list(calls_of_rows(copy)):
        inline(call, function)
    return copy


def calls_of_rows(module: ModuleOp) -> Iterator[tuple[CallOp, FuncOp]]:
    """The calls of private functions that get an index and are called once."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    rows = {name: op for name, op in functions.items() if gets_index(op)}
    if not rows:
        return
    calls = list(walk_kind(module, CallOp))
    counts = Counter(call.callee.string_value() for call in calls)
    for call in calls:
        name = call.callee.string_value()
        if name in rows and counts[name] == 1:
            yield call, rows[name]


def gets_index(function: FuncOp) -> bool:
    """Whether a function is private, has one block, gives no value, and gets an index."""
    if function.sym_visibility != StringAttr("private") or len(function.body.blocks) != 1:
        return False
    if function.function_type.outputs.data:
        return False
    return any(isinstance(each.type, IndexType) for each in function.body.block.args)


def inline(call: CallOp, function: FuncOp) -> None:
    """Put the ops of a function in the place of its call; constants go to the caller's start."""
    block, caller = function.body.block, function_around(call)
    for argument, operand in zip(block.args, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    for op in list(block.ops):
        if op is block.last_op:
            break
        op.detach()
        constant = isinstance(op, arith.ConstantOp | memref.GetGlobalOp)
        place = InsertPoint.at_start(caller.body.block) if constant else InsertPoint.before(call)
        Rewriter.insert_op(op, place)
    Rewriter.erase_op(call)
    Rewriter.erase_op(function)
