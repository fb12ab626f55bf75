"""Run the outermost loops of a layer backwards, and in the opposite order.

    scf.for %i = %c0 to %c25 step %c1 { use(%i) }
becomes
    scf.for %i = %c0 to %c25 step %c1 {
      %turned = arith.subi %c24, %i
      use(%turned)
    }

A layer may then write its output over its input from the end on, as `npu-turn-layers` wants.
`can_turn` says whether no iteration needs what another one has done.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import (
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    is_side_effect_free,
)

from npu_passes.analysis.affine_index import constant_of
from npu_passes.analysis.nests import NestReader
from npu_passes.analysis.views import is_view, root_of
from npu_passes.support.traits import has
from npu_plans.overlays import nest


def can_turn(ops: Sequence[Operation]) -> bool:
    """Whether ops, in one block, are loops that may run backwards, and ops that write nothing.

    The loops carry no values, have constant bounds, and use no buffer that they allocate. No buffer
    is both read and written, and no two iterations write the same byte.
    """
    if any(has(inner, MemoryAllocEffect) for op in ops for inner in op.walk()):
        return False
    for op in ops:
        if isinstance(op, scf.ForOp):
            if op.iter_args or None in map(constant_of, (op.lb, op.ub, op.step)):
                return False
        elif not (is_side_effect_free(op) or is_view(op) or only_reads(op)):
            return False
    nodes = NestReader.read(ops, outer_buffers(ops))
    return nest.can_turn(nodes)


def only_reads(op: Operation) -> bool:
    """Whether the only effect of an op is that it reads memory."""
    return has(op, MemoryReadEffect) and not has(op, MemoryWriteEffect)


def outer_buffers(ops: Sequence[Operation]) -> list[SSAValue]:
    """The buffers from outside that ops, and the ops in them, reach."""
    inside = {result for op in ops for inner in op.walk() for result in inner.results}
    used = (value for op in ops for inner in op.walk() for value in inner.operands)
    roots = (root_of(value) for value in used if isinstance(value.type, MemRefType))
    return list(dict.fromkeys(each for each in roots if each not in inside))


def turn(ops: Sequence[Operation]) -> None:
    """Turn the loops among ops of one block round; `can_turn` must hold."""
    loops = [op for op in ops if isinstance(op, scf.ForOp)]
    for loop in loops:
        turn_loop(loop)
    last = loops[-1]
    for loop in loops[-2::-1]:
        loop.detach()
        Rewriter.insert_op(loop, InsertPoint.after(last))
        last = loop


def turn_loop(loop: scf.ForOp) -> None:
    """Run a loop backwards."""
    numbers = range(*(constant_of(bound) or 0 for bound in (loop.lb, loop.ub, loop.step)))
    if len(numbers) < 2:
        return
    variable = loop.body.block.args[0]
    uses = list(variable.uses)
    total = arith.ConstantOp.from_int_and_width(numbers[0] + numbers[-1], IndexType())
    turned = arith.SubiOp(total.result, variable)
    Rewriter.insert_op(total, InsertPoint.before(loop))
    Rewriter.insert_op(turned, InsertPoint.at_start(loop.body.block))
    turned.result.name_hint = variable.name_hint
    for use in uses:
        use.operation.operands[use.index] = turned.result
