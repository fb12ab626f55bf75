"""`npu-reorder-branches`: the order of branches in which a module needs little memory (tensors).

    npu.branch part 0 { 1x1 }              npu.branch part 1 required 81920 { 5x5 }
    npu.branch part 1 { 5x5 }   becomes    npu.branch part 2 required 4096 { pool }
    npu.branch part 2 { pool }             npu.branch part 0 required 1024 { 1x1 }

The decision of `order=paper` is Algorithm 3 of paper 001: as branches end, their outputs take up
the MOFM, so the branch that needs the most should meet the emptiest memory. What a branch needs is
what its hungriest layer holds on chip beside MIFM and MOFM: the maps of the branch, working memory
and the partial weights. Branches that need the same keep their order. `part`, the place in the
merge, stays with each branch. Nested modules are reordered too.

`order=liveness` finds the order with the smallest peak, by what lives exactly (`liveness.py`), and
of those with the same peak the one that is most like Algorithm 3's. It says so on the module:

    npu.module concat axis 1 of %x {npu.peak = 838656 : i64, npu.peak_bound = 829440 : i64}

`npu.peak` is the most bytes of maps and running kernels on chip, `npu.peak_bound` what any order of
all its layers needs at least, if a branch may be left for another one (no bound for a module with
too many orders). Both are of an outermost module as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from npu_dialect.keys import drop_all
from npu_dialect.machine import Machine
from npu_dialect.module_attributes import PEAK, PEAK_BOUND
from npu_dialect.npu.structure import BranchedModuleOp, BranchOp
from npu_passes.modules.module_reader import ModuleReader, modules_of, needed_machine
from npu_passes.support.refuse import RefusingPass
from npu_plans.modules.footprints import Storage
from npu_plans.modules.live_orders import Group, Orders, best_order, lowest_peak
from npu_plans.modules.liveness import live_module
from npu_plans.modules.module_data import FeatureMap
from npu_plans.modules.policies import branch_order

WorkingMemory = Literal["machine", "none", "stride-1-map"]
"""What a layer with a stride needs; `machine`: what the machine's file says."""


@dataclass(frozen=True)
class ReorderBranchesPass(RefusingPass):
    """Sort the branches of each module by the memory that they need; see the module."""

    name = "npu-reorder-branches"

    working_memory: WorkingMemory = "machine"
    """Working memory of a convolution with a stride, as for `npu-plan-modules`."""
    order: Literal["paper", "liveness"] = "paper"
    """`paper`: Algorithm 3 of paper 001. `liveness`: the order with the smallest peak."""
    tails: bool = False
    """`liveness`: whether `npu-fuse-tails` will run."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Reorder the modules of a program that has any."""
        modules = modules_of(op)
        if not modules:
            return
        machine = needed_machine(op)
        reader = ModuleReader(storage_of(machine, self.working_memory))
        for module in modules:
            for order in branch_orders(module, reader):
                rewrite(order)
            note_peak(module, None)
            if self.order == "liveness":
                found = analyze_liveness(module, reader, tails=self.tails)
                for order in found.orders:
                    rewrite(order)
                note_peak(module, found)


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


def branch_orders(
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
            for order in branch_orders(inner, reader, inside)
        ),
    )


@dataclass(frozen=True)
class LiveOrder:
    """The orders in a module with the smallest peak, that peak, and a bound if there is one."""

    orders: tuple[Order, ...]
    peak: int
    bound: int | None


def analyze_liveness(
    op: BranchedModuleOp, reader: ModuleReader, *, tails: bool = False
) -> LiveOrder:
    """The best order of the branches of a module and of those in it; ties keep theirs."""
    live = live_module(reader.module(op), input_outlives=is_read_behind(op), tails=tails)
    best = best_order(live.work, live.group)
    orders = tuple(ordered(op, live.group, best.orders))
    return LiveOrder(orders, best.peak, lowest_peak(replace(live.work, rows=())))


def ordered(op: BranchedModuleOp, group: Group, orders: Orders) -> Iterator[Order]:
    """The branches of a module, and of those in it, in the order that was found."""
    yield Order(op, tuple((op.branches[at], required_of(op.branches[at])) for at in orders[group]))
    for branch, items in zip(op.branches, group.branches, strict=True):
        inner = [each for each in branch.body.block.ops if isinstance(each, BranchedModuleOp)]
        groups = [each for each in items if isinstance(each, Group)]
        for nested, around in zip(inner, groups, strict=True):
            yield from ordered(nested, around, orders)


def required_of(branch: BranchOp) -> int:
    """What a branch needs, as it has been written down."""
    return 0 if branch.required is None else branch.required.value.data


def is_read_behind(op: BranchedModuleOp) -> bool:
    """Whether the input of a module is read by something that runs after it."""
    block = op.parent
    users = [use.operation for use in op.input.uses]
    around = [user if block is None else block.find_ancestor_op_in_block(user) for user in users]
    return any(user is None or (user is not op and op.is_before_in_block(user)) for user in around)


def note_peak(op: BranchedModuleOp, found: LiveOrder | None) -> None:
    """Write down the peak of a module and its bound, or remove what is there."""
    drop_all(op, (PEAK, PEAK_BOUND))
    if found is not None:
        PEAK.set(op, found.peak)
    if found is not None and found.bound is not None:
        PEAK_BOUND.set(op, found.bound)


def rewrite(order: Order) -> None:
    """Put the branches in their order, and write down what they need."""
    block = order.module.body.block
    for branch, required in order.branches:
        branch.required = IntegerAttr(required, i64)
        branch.detach()
        block.add_op(branch)
