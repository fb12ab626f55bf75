"""How many bytes a layer at the memory peak needs beside its input, as its loops say.

The loops are those that `npu-lower-to-loops` builds; `npu-overlay-maps` measures them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block

from npu_dialect.npu import Conv2dOp
from npu_passes.analysis.nests import storage_bytes
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.overlap.overlay_maps import measure
from npu_passes.overlap.overlay_maps import shape_of as shape_of_layer

Far: TypeAlias = Callable[[Conv2dOp], int]
"""The bytes that a layer at the peak takes beside its input if its output follows that."""
Beside: TypeAlias = Callable[[Conv2dOp, MemRefType[Attribute]], int]
"""The bytes that a layer needs beside its input if that has a type."""


def bytes_without(ctx: Context, module: ModuleOp, lowering: LowerToLoopsPass, op: Conv2dOp) -> int:
    """The bytes that a layer needs beside its input without a working memory."""
    pairs = [(0, len(op.operands) - 1)]
    found = measure(ctx, module, {op: pairs}, lowering)[shape_of_layer(op, pairs)]
    read, written = storage_bytes(op.input), storage_bytes(op.output)
    ways = [written]
    for claim in found:
        ways.append(claim.forwards)
        if claim.backwards is not None:
            ways.append(claim.backwards + written - read)
    return min(ways)


def measured(ctx: Context, module: ModuleOp) -> Beside:
    """What measures layers of a module with an input of another type."""
    return partial(bytes_beside, partial(bytes_without, ctx, module, LowerToLoopsPass()))


def bytes_beside(far: Far, op: Conv2dOp, type_: MemRefType[Attribute]) -> int:
    """The bytes that a layer needs beside its input if that has a type."""
    other = Block(arg_types=[type_]).args[0]
    layer = op.clone({op.input: other})
    found = far(layer)
    layer.drop_all_references()
    return found
