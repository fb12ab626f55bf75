"""`npu-keep-parts`: keep a part of an off-chip map on chip between the layers that use it.

Level of IR: layers on buffers, before `npu-tile-loops`. A loop over rows computes a row of a map
that lies off the chip, and then adds another map to that row. `npu-tile-loops` brings the operands
of each layer on chip by themselves, so the row would leave the chip, come back and leave again.

    %row = memref.subview %map[0, 0, %i, 0] ...         %row = memref.subview %map[0, 0, %i, 0] ...
    npu.conv2d ins(%x, ...) outs(%row)                  %kept = sram.alloc
    npu.add ins(%row, %y) outs(%row)              =>    npu.conv2d ins(%x, ...) outs(%kept)
                                                        npu.add ins(%kept, %y) outs(%kept)
                                                        memref.copy %kept, %row

A part is kept if all that use it are layers of one block, nothing else touches the map meanwhile,
and there is room for it beside the smallest tiles of these layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import LAYER
from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import DramSpace, SramSpace
from npu_dialect.npu.maps import bytes_of
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_passes.analysis.accesses import accesses, is_known
from npu_passes.analysis.lifetimes import lifetimes_of
from npu_passes.analysis.on_chip import functions, in_space
from npu_passes.analysis.views import key_of
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass
from npu_passes.tiling.staging import least_bytes, off_chip_operands
from npu_plans.arena.problem import align
from npu_plans.spills.room import occupied


@dataclass(frozen=True)
class KeepPartsPass(RefusingPass):
    """Keep parts of off-chip maps on chip between layers; see the module."""

    name = "npu-keep-parts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Keep all parts for which there is room."""
        machine = machine_of(op)
        if machine is None or not machine.dma_channels:
            return
        for function in functions(op):
            for view in [each for each in function.walk() if isinstance(each, memref.SubviewOp)]:
                users = users_of(view)
                if len(users) > 1 and has_room(function, view, users, machine):
                    keep(view, users)


def users_of(view: memref.SubviewOp) -> list[Operation]:
    """The layers that use a part of an off-chip map, in order; none if it cannot be kept."""
    block = view.parent
    found = {use.operation for use in view.result.uses}
    if block is None or not in_space(view.result, DramSpace()):
        return []
    if not all(user.parent is block and is_computed_on_buffers(user) for user in found):
        return []
    users = [op for op in block.ops if op in found]
    if len(users) < 2 or not all(map(is_known, between(users))):
        return []
    touched = (each for op in between(users) for each in accesses(op))
    key = key_of(view.result)
    others = any(each.key == key and each.value is not view.result for each in touched)
    return [] if others else users


def between(users: Sequence[Operation]) -> Iterator[Operation]:
    """The ops from the first to the last of some ops of a block."""
    op: Operation | None = users[0]
    while op is not None:
        yield op
        op = None if op is users[-1] else op.next_op


def has_room(
    function: Operation, view: memref.SubviewOp, users: Sequence[Operation], machine: Machine
) -> bool:
    """Whether a part fits on chip beside what lives while its layers run, and their tiles."""
    lived = lifetimes_of(function, SramSpace())
    points = {op: point for point, op in enumerate(lived.ops)}
    size = align(bytes_of(memref_type(view.result)), machine.alignment)
    for point in range(points[users[0]], points[users[-1]] + 1):
        op = lived.ops[point]
        least = 0
        if is_computed_on_buffers(op) and (tiles := off_chip_operands(op) - {view.result}):
            least = least_bytes(op, tiles, machine)
        used = occupied(lived.occupancy(), point, machine.alignment)
        if used + size + least > machine.planned_bytes:
            return False
    return True


def keep(view: memref.SubviewOp, users: Sequence[Operation]) -> None:
    """Let layers use a buffer on chip, which is filled before them and copied back behind them."""
    type_ = memref_type(view.result)
    kept = AllocOp(MemRefType(type_.element_type, type_.get_shape(), memory_space=SramSpace()))
    kept.buffer.name_hint = view.source.name_hint
    found = [each for op in users for each in accesses(op) if each.value is view.result]
    Rewriter.insert_op(kept, InsertPoint.before(users[0]))
    if found[0].reads or not found[0].all_of_it:
        Rewriter.insert_op(copied(view.result, kept.buffer, users[0]), InsertPoint.before(users[0]))
    for user in users:
        user.operands = [kept.buffer if each is view.result else each for each in user.operands]
    if any(each.writes for each in found):
        Rewriter.insert_op(
            copied(kept.buffer, view.result, users[-1]), InsertPoint.after(users[-1])
        )


def copied(source: SSAValue, target: SSAValue, layer: Operation) -> memref.CopyOp:
    """A copy that belongs to a layer."""
    copy = memref.CopyOp(source, target)
    LAYER.copy(layer, copy)
    return copy
