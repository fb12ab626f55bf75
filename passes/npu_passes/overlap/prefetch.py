"""`npu-prefetch`: let transfers run while other layers compute.

Level of IR: loops over tiles with transfers, with offsets of all buffers. `npu-double-buffer` lets
the transfers of a loop's step run beside another step of the same loop. This pass does so for the
transfers that stand beside the loops: those of a first step, a last step, or a single step.

    npu.conv2d ins(%x, %a) outs(%y)               %w = sram.alloc
    %w = sram.alloc                               %t = dma.start weights %kernels to %w
    %t = dma.start weights %kernels to %w    =>   npu.conv2d ins(%x, %a) outs(%y)
    dma.wait %t                                   dma.wait %t
    npu.conv2d ins(%y, %w) outs(%z)               npu.conv2d ins(%y, %w) outs(%z)

A load starts earlier, and a store is waited for later, as far as nothing in between touches the
same elements. Buffers then live longer, in memory in which nothing else lives meanwhile; they may
get other offsets for that, and so may a buffer in their way. A buffer that is filled part by part,
as a concatenation is, leaves free what is not filled yet. If the machine's file says how long
everything takes, the virtual clock then says where the core still waits, and starts and waits move
on as long as the function takes less time: stores also start later, behind loads that a layer waits
for. Nothing else changes but the order of ops within their blocks, so the same bytes are moved.
Functions with branches between blocks, or in which a buffer has no offset, are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from npu_dialect.arenas import arenas_of, grow_arenas, memory_of_type
from npu_dialect.dma import StartOp
from npu_dialect.machine import Machine
from npu_dialect.target import machine_of
from npu_passes.analysis.lifetimes import Numbering
from npu_passes.analysis.on_chip import functions
from npu_passes.overlap.pace import Pace
from npu_passes.overlap.read_block import placed_in, read_block
from npu_passes.placing.assign_sram_offsets import write_offset
from npu_passes.support.refuse import RefusingPass
from npu_plans.prefetch.order import ordered


@dataclass(frozen=True)
class PrefetchPass(RefusingPass):
    """Start loads earlier and wait for stores later; see the module."""

    name = "npu-prefetch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Reorder the blocks of each function that has transfers and offsets."""
        machine = machine_of(op)
        if machine is None:
            return
        for function in functions(op):
            prefetch(function, machine)


def prefetch(function: Operation, machine: Machine) -> None:
    """Reorder the blocks of a function, inner ones first: they fill the memory of outer ones."""
    numbering = Numbering(function, tuple(function.walk()))
    placed = placed_in(function, numbering, machine)
    pace = Pace.of(function, machine)
    for block in blocks_with_transfers(function) if placed else ():
        order = ordered(read_block(block, numbering, placed, pace), machine.sram_bytes)
        ops = list(block.ops)
        arrange(block, [ops[number] for number in order.steps])
        own = (each for each in placed if each.home is block)
        for each, offset in zip(own, order.offsets, strict=True):
            each.offset = offset
    ends = dict(arenas_of(function))
    for each in placed:
        offset, name = each.offset - each.room[0], memory_of_type(each.value.type)
        write_offset(each.value, offset)
        ends[name] = max(ends.get(name, 0), offset + each.size)
    if placed:
        grow_arenas(function, ends)


def blocks_with_transfers(op: Operation) -> Iterator[Block]:
    """The blocks in an op that have transfers of their own, inner ones first."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from blocks_with_transfers(inner)
            if any(isinstance(op, StartOp) for op in block.ops):
                yield block


def arrange(block: Block, ops: Sequence[Operation]) -> None:
    """Put the ops of a block into an order."""
    if list(block.ops) == list(ops):
        return
    for op in ops:
        op.detach()
    block.add_ops(ops)
