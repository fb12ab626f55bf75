"""What the importer does to the block of layers once all nodes are imported."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.npu import LookupOp


def finish(block: Block) -> None:
    """Erase what nothing reads, and make tables in a row one table."""
    drop_unread(block)
    for op in list(block.ops):
        if isinstance(op, LookupOp):
            replace(op, op.simplified())
    drop_unread(block)


def replace(op: LookupOp, simpler: SSAValue | Operation | None) -> None:
    """Put a simpler value or layer in the place of a table, if there is one."""
    match simpler:
        case Operation():
            simpler.results[0].name_hint = op.results[0].name_hint
            Rewriter.replace_op(op, simpler)
        case SSAValue():
            Rewriter.replace_op(op, [], [simpler])
        case None:
            pass


def drop_unread(block: Block) -> None:
    """Erase layers and constants that nothing reads: a table does the work of several nodes."""
    for op in reversed(list(block.ops)):
        if op.results and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()
