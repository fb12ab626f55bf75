"""Chooses the policy of a module (paper 001, section 3: step 6 of Algorithm 1), on plain data.

Granularity `module`: the paper's choice, (I) or (II) for a whole module. Granularity `branch`: (II)
only for the branches that need it; the outputs of the others stay on chip in the MOFM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, TypeVar

from npu_plans.modules.module_data import Branch, Module, Policy
from npu_plans.modules.policies import (
    BranchPlan,
    Misfit,
    ModulePlan,
    Room,
    occupied_after,
    process_branch,
    process_module,
)

Granularity = Literal["module", "branch"]
Choice = Literal["auto", "I", "II"]
Plan = TypeVar("Plan", ModulePlan, BranchPlan)


def plan_module(
    module: Module, capacity: int, choice: Choice = "auto", granularity: Granularity = "module"
) -> ModulePlan:
    """The plan of a module in an SRAM of `capacity` bytes.

    `auto` takes policy I if it forwards every layer, else the plan that spills the fewest bytes. If
    the MIFM leaves no room for some layer, it does not stay on chip, and each layer that reads it
    fetches it.

    Raises: Misfit if some layer does not fit even then.
    """
    with_mifm, without = Room(capacity).with_mifm(module.input), Room(capacity)
    if choice != "auto":
        return first_that_fits(
            lambda: process_module(module, choice, with_mifm),
            lambda: process_module(module, choice, without),
        )
    plan = if_fits(lambda: process_module(module, "I", with_mifm))
    if plan is not None and plan.is_forwarded:
        return plan
    plans = [lambda: process_module(module, "II", with_mifm)]
    if granularity == "branch":
        plans.insert(0, lambda: process_branches(module, with_mifm))
    found = [made for plan in plans if (made := if_fits(plan)) is not None]
    if found:
        return min(found, key=lambda each: spilled_bytes(module, each))
    return process_module(module, "II", without)


def process_branches(module: Module, room: Room) -> ModulePlan:
    """A plan in which `best_for_branch` chooses the policy of each branch.

    Raises: Misfit if some layer does not fit.
    """
    branches: list[BranchPlan] = []
    inside = room
    for branch in module.branches:
        plan = best_for_branch(branch, inside)
        branches.append(plan)
        if plan.policy == "I":
            inside = replace(inside, occupied=occupied_after(module, branch, room, inside))
    policy: Policy = "I" if any(each.policy == "I" for each in branches) else "II"
    return ModulePlan(policy, True, tuple(branches))


def best_for_branch(branch: Branch, room: Room) -> BranchPlan:
    """The plan of a branch under the policy that spills fewer bytes.

    Policy I is taken if both spill the same, but only if the branch's output stays on chip; else it
    would occupy a part of the MOFM that it does not use.

    Raises: Misfit if some layer does not fit under policy II.
    """
    one = if_fits(lambda: process_branch(branch, "I", room))
    if one is not None and one.is_forwarded:
        return one
    two = process_branch(branch, "II", room)
    if one is not None and one.stays and branch_bytes(branch, one) <= branch_bytes(branch, two):
        return one
    return two


def if_fits(plan: Callable[[], Plan]) -> Plan | None:
    """The plan, or None if some layer does not fit."""
    try:
        return plan()
    except Misfit:
        return None


def first_that_fits(*plans: Callable[[], ModulePlan]) -> ModulePlan:
    """The first plan that fits.

    Raises: Misfit of the last plan if none fits.
    """
    for plan in plans[:-1]:
        if (made := if_fits(plan)) is not None:
            return made
    return plans[-1]()


def spilled_bytes(module: Module, plan: ModulePlan) -> int:
    """The sum of the sizes of the maps of a module that leave the chip, in bytes."""
    return sum(
        branch_bytes(branch, made)
        for branch, made in zip(module.branches, plan.branches, strict=True)
    )


def branch_bytes(branch: Branch, plan: BranchPlan) -> int:
    """The sum of the sizes of the maps of a branch that leave the chip, in bytes."""
    return sum(spilled(branch, plan))


def spilled(branch: Branch, plan: BranchPlan) -> Iterator[int]:
    """The size in bytes of each map of a branch that leaves the chip."""
    for step, made in zip(branch.steps, plan.steps, strict=True):
        if isinstance(step, Module) and isinstance(made, ModulePlan):
            yield spilled_bytes(step, made)
        elif not made.forward:
            yield step.result.size.full
