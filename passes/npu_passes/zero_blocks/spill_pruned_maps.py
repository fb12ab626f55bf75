"""`npu-spill-pruned-maps`: store every map that is pruned off the chip, and no other map.

Level of IR: layers in destination style, after `npu-bufferize`, before `npu-spill-maps`. This is
the machine of paper 003, section III-B: "layer-by-layer hardware processing that will store the
activation maps to external DRAM". A map stays on chip until it is pruned, also where a sum and a
ReLU are computed in place on it. So it is stored once, when it is pruned, and loaded by each layer
that reads it:

    npu.prune_zero_blocks ins(%a : memref<1x8x32x32xf32, #npu.sram>) outs(%a : ...) block 4 ...
    npu.conv2d ins(%a, %w : ...) outs(%b : ...)
becomes
    %0 = dram.alloc : memref<1x8x32x32xf32, #npu.dram>
    npu.prune_zero_blocks ins(%a : ...) outs(%0 : memref<1x8x32x32xf32, #npu.dram>) block 4 ...
    npu.conv2d ins(%0, %w : ...) outs(%b : ...)

A map is not changed if it is written again afterwards, if it has a view from before, or if it is
pruned into another buffer than its own. Without a machine with DMA the pass does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dram
from npu_dialect.npu.layers import PruneZeroBlocksOp
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_passes.analysis.on_chip import functions
from npu_passes.analysis.views import is_view, uses_of
from npu_passes.spilling.off_chip_types import can_be_packed, off_chip, retype_views
from npu_passes.spilling.traffic import writes
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class SpillPrunedMapsPass(RefusingPass):
    """Let every pruned map leave the chip; see the module."""

    name = "npu-spill-pruned-maps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Find the maps of all functions, then rewrite."""
        machine = machine_of(op)
        if machine is None or not machine.dma_channels:
            return
        for plan in [plan for function in functions(op) for plan in pruned_maps(function)]:
            rewrite(plan)


@dataclass(frozen=True)
class PrunedMap:
    """A map, the op that prunes it, and all later uses of the map."""

    op: PruneZeroBlocksOp
    map: SSAValue
    later: tuple[Use, ...]


def pruned_maps(function: Operation) -> tuple[PrunedMap, ...]:
    """The pruned maps of a function that can leave the chip."""
    found: list[PrunedMap] = []
    for op in function.walk():
        if not isinstance(op, PruneZeroBlocksOp) or (target := op.destination) is None:
            continue
        if op.operands[0] is not target or not isinstance(target.owner, AllocOp):
            continue
        later = tuple(use for use in target.uses if is_behind(use.operation, op))
        earlier = [use for use in target.uses if use not in later]
        if any(is_view(use.operation) for use in earlier):
            continue
        if later and not any(is_written(use) for use in later):
            found.append(PrunedMap(op, target, later))
    return tuple(found)


def is_behind(op: Operation, other: Operation) -> bool:
    """Whether an op comes after another one in that one's block.

    Of an op in regions, the op of the block around it counts.
    """
    block = other.parent
    found = None if block is None else block.find_ancestor_op_in_block(op)
    return found is not None and other.is_before_in_block(found)


def is_written(use: Use) -> bool:
    """Whether a use writes the value, directly or through a view that it makes."""
    if is_view(use.operation):
        return any(writes(each) for each in uses_of(use.operation.results[0]))
    return writes(use)


def rewrite(plan: PrunedMap) -> None:
    """Give a pruned map a buffer off the chip."""
    type_ = memref_type(plan.map)
    packed = can_be_packed(plan.map)
    new = dram.AllocOp(off_chip(type_, packed=packed))
    new.buffer.name_hint = plan.map.name_hint
    Rewriter.insert_op(new, InsertPoint.before(plan.op))
    plan.op.operands[len(plan.op.operands) - 1] = new.buffer  # xDSL takes no negative index
    for use in plan.later:
        use.operation.operands[use.index] = new.buffer
    retype_views(new.buffer, packed=packed)
