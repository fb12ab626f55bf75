"""Removes values that nothing reads: C compilers warn about variables that are never used.

`region_dce` of xDSL keeps loads, as they might trap. Here a load without a reader is dead, and so
is a loop or a branch that writes nothing and whose results nothing reads. The index along an axis
of one element is 0, so the constant 0 replaces it, and the op that computes it may die.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from npu_dialect.walking import walk_kind
from npu_passes.emit.c.body import writes_memory
from npu_passes.emit.c.types import memref_of

INDEXED = (memref.LoadOp, memref.StoreOp, memref.SubviewOp)
"""The ops with an index for each axis of a buffer."""


def remove_dead_code(module: ModuleOp) -> None:
    """Remove the dead ops of a module of loops."""
    for function in module.ops:
        for region in function.regions:
            for block in region.blocks:
                drop_known_indices(block)
                sweep(block)


def drop_known_indices(block: Block) -> None:
    """Replace indices along axes of one element by constant 0, in a block and its regions."""
    zero: SSAValue | None = None
    for op in [each for top in block.ops for each in walk_kind(top, *INDEXED)]:
        for index, operand in known_indices(op):
            if isinstance(operand.owner, arith.ConstantOp):
                continue
            if zero is None:
                constant = arith.ConstantOp(IntegerAttr(0, IndexType()))
                Rewriter.insert_op(constant, InsertPoint.at_start(block))
                zero = constant.result
            op.operands[index] = zero


def known_indices(op: Operation) -> list[tuple[int, SSAValue]]:
    """The operands, with their positions, that index an axis of one element."""
    match op:
        case memref.LoadOp():
            axes = list(enumerate(memref_of(op.memref).get_shape(), 1))
        case memref.StoreOp():
            axes = list(enumerate(memref_of(op.memref).get_shape(), 2))
        case memref.SubviewOp():
            offsets = op.static_offsets.get_values()
            extents = memref_of(op.source).get_shape()
            dynamic = [n for n, at in zip(extents, offsets, strict=True) if at == DYNAMIC_INDEX]
            axes = list(enumerate(dynamic, 1))
        case _:
            axes = []
    return [(index, op.operands[index]) for index, extent in axes if extent == 1]


def sweep(block: Block) -> None:
    """Erase the dead ops of a block, last ones first, so that ops that only they read die too."""
    for op in reversed(list(block.ops)):
        if is_dead(op):
            op.detach()
            op.erase()
            continue
        for region in op.regions:
            for inner in region.blocks:
                sweep(inner)


def is_dead(op: Operation) -> bool:
    """Whether the C does the same without the op; deallocations are dead, as C frees nothing."""
    if type(op) is memref.DeallocOp:
        return True
    used = any(result.uses for result in op.results)
    return not used and not op.has_trait(IsTerminator) and not writes_memory(op)
