"""Which transfers the token of a `dma.wait` may stand for, also if loops and branches carry it.

%0 = dma.start ...
scf.for ... iter_args(%t = %0) {         // %t: the transfer %0, or %1 of the last iteration
  %1 = dma.start ...
  dma.wait %t
  scf.yield %1
}
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, OpResult, SSAValue

from npu_dialect.dma import StartOp


def starts_of(token: SSAValue) -> tuple[StartOp, ...]:
    """The starts of the transfers that a token may stand for, as far as this function shows."""
    found: dict[StartOp, None] = {}
    seen: set[SSAValue] = set()
    pending = [token]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value.owner, StartOp):
            found[value.owner] = None
        else:
            pending += sources_of(value)
    return tuple(found)


def sources_of(value: SSAValue) -> Iterator[SSAValue]:
    """The values that a loop or branch passes on as its result, or as an argument of its body."""
    if isinstance(value, OpResult):
        parent, number = value.op, value.index
    elif isinstance(value, BlockArgument):
        parent, number = value.block.parent_op(), value.index - 1
    else:
        return
    if not isinstance(parent, scf.ForOp | scf.IfOp) or number < 0:
        return
    if isinstance(parent, scf.ForOp):
        yield parent.iter_args[number]
    for region in parent.regions:
        for block in region.blocks:
            if isinstance(block.last_op, scf.YieldOp):
                yield block.last_op.operands[number]
