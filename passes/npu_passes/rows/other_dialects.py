"""Ops of other dialects that say how they compute, as layers while rows are chosen.

    %1 = linalg.exp ins(%0 : ...) outs(%e : ...) -> tensor<4x8xf32>
becomes
    %1 = npu.computed %0 : (tensor<4x8xf32>) -> tensor<4x8xf32> { ... }

and those that are in no `npu.rows` in the end become what they were.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block
from xdsl.rewriter import Rewriter

from npu_dialect.computing import computation_of
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ComputedOp


def as_layers(block: Block) -> list[ComputedOp]:
    """Make layers of the ops of other dialects in a block that say how they compute."""
    found: list[ComputedOp] = []
    for op in list(block.ops):
        computation = None if isinstance(op, LayerOp) else computation_of(op)
        if computation is not None and computation.domain is not None and op.results:
            found.append(ComputedOp.around(computation))
            found[-1].results[0].name_hint = op.results[0].name_hint
            Rewriter.replace_op(op, found[-1])
    return found


def take_out(layers: Iterable[ComputedOp], block: Block) -> None:
    """Put those layers back that still stand in their block."""
    for each in layers:
        if each.parent is block:
            each.take_out()
