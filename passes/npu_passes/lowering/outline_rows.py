"""`npu-outline-rows`: move the code of rows into private functions, where registers are short.

    scf.for %oy = %c0 to %c12 step %c1 {
      scf.if %inside { A, with loops } else { B, with loops }
    }
becomes
    scf.for %oy = %c0 to %c12 step %c1 {
      scf.if %inside {
        func.call @layer_rows(%oy, %ifm, %ofm)
      } else {
        func.call @layer_border(%oy, %ifm, %ofm)
      }
    }

Level of IR: loops. Kernels have two forms of a row: one for rows inside of the map, and one for
those that padding cuts. Both keep all registers in use (`dsp.keep_order`). In one function, a C
compiler computes addresses and constants of both in front of the loop over rows, and moves them to
the stack; in functions of their own they stay in registers.

Only a choice that gives no values is outlined, and only if both of its sides have loops that keep
an order, of numbers rather than of vectors. Constants and globals that a side reads are read in its
function. The functions are called, so they cannot be shared with others any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FunctionType, ModuleOp, VectorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dsp
from npu_dialect.attributes import WHAT
from npu_dialect.npu.structure import captured
from npu_dialect.walking import walk_kind
from npu_passes.support.refuse import RefusingPass
from npu_passes.support.symbols import GlobalNames

SIDES = (("rows", "rows that padding does not cut"), ("border", "rows that padding cuts"))
"""What the names of the functions of both sides end in, and what they compute."""

AGAIN = arith.ConstantOp | memref.GetGlobalOp
"""What a function reads itself, rather than as an argument."""


@dataclass(frozen=True)
class OutlineRowsPass(RefusingPass):
    """Move the two forms of a row into functions; see the module."""

    name = "npu-outline-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Outline the choices of all functions with a body."""
        for function in [each for each in op.ops if isinstance(each, FuncOp)]:
            names = GlobalNames.of(function)
            for choice in list(choices_of(function)):
                for region, (word, what) in zip(choice.regions, SIDES, strict=True):
                    name = names.fresh(f"{function.sym_name.data}_{word}")
                    WHAT.set(outlined(region, function, name), what)


def choices_of(function: FuncOp) -> Iterator[scf.IfOp]:
    """The choices in loops between two forms of a row."""
    for op in walk_kind(function, scf.IfOp):
        if isinstance(op.parent_op(), scf.ForOp) and not op.results:
            if all(map(has_tight_loops, op.regions)):
                yield op


def has_tight_loops(region: Region) -> bool:
    """Whether loops of a region keep an order, and work on numbers rather than on vectors."""
    ops = [inner for op in region.walk() if isinstance(op, scf.ForOp) for inner in op.body.walk()]
    if any(isinstance(value.type, VectorType) for op in ops for value in op.results):
        return False
    return any(isinstance(op, dsp.KeepOrderOp) for op in ops)


def outlined(region: Region, function: FuncOp, name: str) -> FuncOp:
    """Move the code of a region into a function behind another one, and call it."""
    body = region.block
    terminator = body.last_op
    assert terminator is not None
    read = captured(region)
    passed = [value for value in read if not isinstance(value.owner, AGAIN)]
    block = Block(arg_types=[value.type for value in passed])
    values: dict[SSAValue, SSAValue] = dict(zip(passed, block.args, strict=True))
    for value in read:
        if isinstance(value.owner, AGAIN):
            block.add_op(copy := value.owner.clone())
            values[value] = copy.results[0]
        values[value].name_hint = value.name_hint
    for op in list(body.ops):
        if op is not terminator:
            op.detach()
            block.add_op(op)
    for op in block.walk():
        for index, operand in enumerate(op.operands):
            if operand in values:
                op.operands[index] = values[operand]
    block.add_op(ReturnOp())
    type_ = FunctionType.from_lists(list(block.arg_types), [])
    made = FuncOp(name, type_, Region(block), visibility="private")
    Rewriter.insert_op(made, InsertPoint.after(function))
    Rewriter.insert_op(CallOp(name, passed, []), InsertPoint.before(terminator))
    return made
