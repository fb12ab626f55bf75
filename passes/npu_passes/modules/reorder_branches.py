"""`npu-reorder-branches`: the branch of a module that needs the most memory runs first (tensors).

    npu.branch part 0 { 1x1 }              npu.branch part 1 required 81920 { 5x5 }
    npu.branch part 1 { 5x5 }   becomes    npu.branch part 2 required 4096 { pool }
    npu.branch part 2 { pool }             npu.branch part 0 required 1024 { 1x1 }

The decision is Algorithm 3 of paper 001: as branches end, their outputs take up the MOFM, so the
branch that needs the most should meet the emptiest memory. What a branch needs is what its
hungriest layer holds on chip beside MIFM and MOFM: the maps of the branch, working memory and the
partial weights. Branches that need the same keep their order. `part`, the place in the merge, stays
with each branch. Nested modules are reordered too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from npu_dialect.npu.structure import BranchedModuleOp, BranchOp
from npu_dialect.target import Machine
from npu_passes.modules.footprints import Storage
from npu_passes.modules.module_data import FeatureMap
from npu_passes.modules.module_reader import ModuleReader, modules_of, needed_machine
from npu_passes.modules.policies import branch_order

WorkingMemory = Literal["machine", "none", "stride-1-map"]
"""What a layer with a stride needs; `machine`: what the machine's file says."""


@dataclass(frozen=True)
class ReorderBranchesPass(ModulePass):
    """Sort the branches of each module by the memory that they need; see the module."""

    name = "npu-reorder-branches"

    working_memory: WorkingMemory = "machine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Reorder the modules of a program that has any."""
        modules = modules_of(op)
        if not modules:
            return
        machine = needed_machine(op, self.name)
        reader = ModuleReader(storage_of(machine, self.working_memory))
        for module in modules:
            for order in analyze(module, reader):
                rewrite(order)


def storage_of(machine: Machine, working_memory: WorkingMemory) -> Storage:
    """How a machine stores maps, with the working memory that was asked for."""
    storage = Storage.of(machine)
    if working_memory == "machine":
        return storage
    return replace(storage, working_memory=working_memory)


@dataclass(frozen=True)
class Order:
    """The branches of a module in the order in which they are to run, and what each needs."""

    module: BranchedModuleOp
    branches: tuple[tuple[BranchOp, int], ...]


def analyze(
    op: BranchedModuleOp, reader: ModuleReader, on_chip: frozenset[FeatureMap] = frozenset()
) -> tuple[Order, ...]:
    """The order of a module's branches, and of the modules in them; `on_chip` are outer MIFMs."""
    module = reader.module(op)
    inside = on_chip | {module.input}
    sized = [(op.branches[index], need) for index, need in branch_order(module, on_chip)]
    nested = [inner for branch in op.branches for inner in branch.body.block.ops]
    return (
        Order(op, tuple(sized)),
        *(
            order
            for inner in nested
            if isinstance(inner, BranchedModuleOp)
            for order in analyze(inner, reader, inside)
        ),
    )


def rewrite(order: Order) -> None:
    """Put the branches in their order, and write down what they need."""
    block = order.module.body.block
    for branch, required in order.branches:
        branch.required = IntegerAttr(required, i64)
        branch.detach()
        block.add_op(branch)
