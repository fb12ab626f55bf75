"""`npu-assign-dram-offsets`: give every off-chip buffer of a function its place in one block.

Level of IR: memrefs, before or after layers became loops. It decides the byte offset of each
`dram.alloc` and the size of the block, with the same lifetimes and the same solver (`greedy`) as
`npu-assign-sram-offsets`.

    %a = dram.alloc : memref<1x6x14x14xf32, #npu.dram>
    %b = dram.alloc : memref<1x16x5x5xf32, #npu.dram>

becomes

    %a = dram.alloc at 0 : memref<1x6x14x14xf32, #npu.dram>
    %b = dram.alloc at 4704 : memref<1x16x5x5xf32, #npu.dram>

in a function with `attributes {dram.bytes = 6304 : i64}`. The block holds neither the function's
inputs and outputs, which lie in the caller's memory, nor its learned parameters.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr, i64
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from npu_dialect import dma
from npu_dialect.attributes import DRAM_BYTES
from npu_dialect.dram import AllocOp
from npu_dialect.npu.attributes import DramSpace
from npu_passes.analysis.lifetimes import Lifetimes, lifetimes_of
from npu_passes.analysis.on_chip import functions
from npu_passes.placing.assign_sram_offsets import name_of, problem_of
from npu_passes.support.refuse import RefusingPass, refuse
from npu_plans.arena import greedy
from npu_plans.arena.problem import PlanError, Solution

ALIGNMENT = 16
"""The alignment of every buffer in bytes: two beats of a DMA engine's 64-bit bus."""


@dataclass(frozen=True)
class AssignDramOffsetsPass(RefusingPass):
    """Lay out the off-chip buffers of each function.

    A public function without off-chip buffers gets a block of zero bytes if it has transfers or
    off-chip arguments; any other function without off-chip buffers is not changed. Offsets that are
    in the IR already are kept.
    """

    name = "npu-assign-dram-offsets"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan every function, then write the offsets."""
        owners = {name_of(each): each for each in functions(op) if has_buffers(each)}
        plans: list[tuple[Lifetimes, Solution]] = []
        for function in owners.values():
            reject_calls(function, owners.keys())
            plans.append(plan(function))
        for function in functions(op):
            if is_public(function) and reaches_off_chip(function):
                DRAM_BYTES.set(function, 0)
        for lifetimes, solution in plans:
            write(lifetimes, solution)


def has_buffers(function: Operation) -> bool:
    """Whether a function has off-chip buffers."""
    return any(isinstance(op, AllocOp) for op in function.walk())


def plan(function: Operation) -> tuple[Lifetimes, Solution]:
    """The lifetimes of the off-chip buffers of a function, and their offsets.

    Raises: PassFailedException if offsets in the IR are misaligned or make live buffers overlap, or
    if an op other than `dram.alloc` allocates a buffer off the chip.
    """
    lifetimes = lifetimes_of(function, DramSpace())
    for buffer in lifetimes.buffers:
        if isinstance(op := buffer.value.owner, Operation) and not isinstance(op, AllocOp):
            refuse(op, f"expected {AllocOp.name} for a buffer off the chip, got {op.name}")
    try:
        return lifetimes, greedy.solve(problem_of(lifetimes, ALIGNMENT))
    except PlanError as error:
        refuse(function, f"@{name_of(function)}: {error}")


def reject_calls(function: Operation, owners: AbstractSet[str]) -> None:
    """Raise if a function with off-chip buffers calls another one: their blocks would overlap."""
    for op in function.walk():
        if isinstance(op, CallOp) and op.callee.root_reference.data in owners:
            refuse(
                op,
                f"expected no call of @{op.callee.root_reference.data}, which has off-chip buffers "
                "of its own: two plans would share the memory; inline it first",
            )


def is_public(function: Operation) -> bool:
    """Whether a function can be called from outside of the module."""
    return function.properties.get("sym_visibility") != StringAttr("private")


def reaches_off_chip(function: Operation) -> bool:
    """Whether a function has transfers, or arguments off the chip."""
    return any(
        isa(arg.type, MemRefType) and isinstance(arg.type.memory_space, DramSpace)
        for arg in function.regions[0].blocks[0].args
    ) or any(op.dialect_name() == dma.DMA.name for op in function.walk())


def write(lifetimes: Lifetimes, solution: Solution) -> None:
    """Write the offsets and the size of the block into the IR."""
    for buffer, offset in zip(lifetimes.buffers, solution.offsets, strict=True):
        op = buffer.value.owner
        if isinstance(op, AllocOp):
            op.offset = IntegerAttr(offset, i64)
    DRAM_BYTES.set(lifetimes.function, solution.arena)
