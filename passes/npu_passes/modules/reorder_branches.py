"""`npu-reorder-branches`: sort the branches of a module so that it needs little memory (tensors).

    npu.branch part 0 { 1x1 }              npu.branch part 1 required 81920 { 5x5 }
    npu.branch part 1 { 5x5 }   becomes    npu.branch part 2 required 4096 { pool }
    npu.branch part 2 { pool }             npu.branch part 0 required 1024 { 1x1 }

The decision of `order=paper` is Algorithm 3 of paper 001. The outputs of branches that have ended
occupy more and more of the MOFM, so the branch that needs the most bytes runs first, when most of
the memory is free. The bytes that a branch needs are the most that one of its layers holds on chip
beside MIFM and MOFM: maps of the branch, working memory and partial weights. Branches that need the
same keep their order. `part`, the branch's operand number in the merge, does not change. Nested
modules are reordered too.

`order=liveness` finds the order with the smallest peak memory, from exact lifetimes of maps
(`npu_plans/modules/liveness.py`). Of several such orders it takes the one most like Algorithm 3's.
It writes the peak on the module:

    npu.module concat axis 1 of %x {npu.peak = 838656 : i64, npu.peak_bound = 829440 : i64}

`npu.peak` is the most bytes of maps and of kernels in use on chip. `npu.peak_bound` is a lower
bound: the smallest peak of any order of all layers, even if it changes branches in the middle of
one. A module with too many orders gets no bound. Both are for an outermost module as a whole.
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
"""The working memory of a convolution with a stride; `machine`: as the machine's file says."""


@dataclass(frozen=True)
class ReorderBranchesPass(RefusingPass):
    """Sort the branches of each module by the memory that they need; see the module."""

    name = "npu-reorder-branches"

    working_memory: WorkingMemory = "machine"
    """Working memory of a convolution with a stride, as for `npu-plan-modules`."""
    order: Literal["paper", "liveness"] = "paper"
    """`paper`: Algorithm 3 of paper 001. `liveness`: the order with the smallest peak."""
    tails: bool = False
    """For `order=liveness`: whether `npu-fuse-tails` will run."""

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
    """How a machine stores maps, with the working memory of the option."""
    storage = Storage.of(machine)
    if working_memory == "machine":
        return storage
    return replace(storage, working_memory=working_memory)


@dataclass(frozen=True)
class Order:
    """The branches of a module in their new order, each with the bytes that it needs."""

    module: BranchedModuleOp
    branches: tuple[tuple[BranchOp, int], ...]


def branch_orders(
    op: BranchedModuleOp, reader: ModuleReader, on_chip: frozenset[FeatureMap] = frozenset()
) -> tuple[Order, ...]:
    """The orders of Algorithm 3 for a module and the modules in it; `on_chip` are outer MIFMs."""
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
    """The orders for a module and the modules in it with the smallest peak, in bytes.

    `bound`: a lower bound on the peak, in bytes; None if the search for it was too long.
    """

    orders: tuple[Order, ...]
    peak: int
    bound: int | None


def analyze_liveness(
    op: BranchedModuleOp, reader: ModuleReader, *, tails: bool = False
) -> LiveOrder:
    """The best order of the branches of a module and of the modules in it; ties keep their order.

    `tails`: whether `npu-fuse-tails` will run.
    """
    live = live_module(reader.module(op), input_outlives=is_read_behind(op), tails=tails)
    best = best_order(live.work, live.group)
    orders = tuple(ordered(op, live.group, best.orders))
    return LiveOrder(orders, best.peak, lowest_peak(replace(live.work, rows=())))


def ordered(op: BranchedModuleOp, group: Group, orders: Orders) -> Iterator[Order]:
    """The orders `orders` for a module and, recursively, for the modules in it."""
    yield Order(op, tuple((op.branches[at], required_of(op.branches[at])) for at in orders[group]))
    for branch, items in zip(op.branches, group.branches, strict=True):
        inner = [each for each in branch.body.block.ops if isinstance(each, BranchedModuleOp)]
        groups = [each for each in items if isinstance(each, Group)]
        for nested, around in zip(inner, groups, strict=True):
            yield from ordered(nested, around, orders)


def required_of(branch: BranchOp) -> int:
    """The `required` bytes of a branch in the IR; 0 if it has none."""
    return 0 if branch.required is None else branch.required.value.data


def is_read_behind(op: BranchedModuleOp) -> bool:
    """Whether an op that runs after a module reads the module's input."""
    block = op.parent
    users = [use.operation for use in op.input.uses]
    around = [user if block is None else block.find_ancestor_op_in_block(user) for user in users]
    return any(user is None or (user is not op and op.is_before_in_block(user)) for user in around)


def note_peak(op: BranchedModuleOp, found: LiveOrder | None) -> None:
    """Set `npu.peak` and `npu.peak_bound` of a module; remove them if `found` is None."""
    drop_all(op, (PEAK, PEAK_BOUND))
    if found is not None:
        PEAK.set(op, found.peak)
    if found is not None and found.bound is not None:
        PEAK_BOUND.set(op, found.bound)


def rewrite(order: Order) -> None:
    """Put the branches of a module into their new order, and set their `required`."""
    block = order.module.body.block
    for branch, required in order.branches:
        branch.required = IntegerAttr(required, i64)
        branch.detach()
        block.add_op(branch)
