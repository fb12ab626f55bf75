"""Remove what nothing reads: compilers warn about variables that are never used.

`region_dce` of xDSL keeps reads of memory, as they might trap. Here a read without a reader is
dead, and so is a loop or a branch that writes nothing and whose results nobody reads.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from npu_passes.emit.c.body import writes_memory


def without_dead_code(module: ModuleOp) -> ModuleOp:
    """A copy of a module of loops in which every value has a reader."""
    module = module.clone()
    for function in module.ops:
        for region in function.regions:
            for block in region.blocks:
                sweep(block)
    return module


def sweep(block: Block) -> None:
    """Erase the dead ops of a block, last ones first, so that what only they read dies too."""
    for op in reversed(list(block.ops)):
        if is_dead(op):
            op.detach()
            op.erase()
            continue
        for region in op.regions:
            for inner in region.blocks:
                sweep(inner)


def is_dead(op: Operation) -> bool:
    """Whether C without the op does the same; memory is never given back."""
    if isinstance(op, memref.DeallocOp):
        return True
    used = any(result.uses for result in op.results)
    return not used and not op.has_trait(IsTerminator) and not writes_memory(op)
