"""`npu-plan-modules`: choose which maps of a module stay on chip, and where (on tensors).

    %y = npu.module concat axis 1 of %x : tensor<1x8x8x8xi8> -> tensor<1x24x8x8xi8> {
      npu.branch part 1 {
        %0 = npu.conv2d %x, %w ... -> tensor<1x16x8x8xi8>
becomes
    %y = npu.module concat axis 1 of %x policy I mifm 512 at 0 mofm 1536 at 2560
        : tensor<1x8x8x8xi8> -> tensor<1x24x8x8xi8> {
      npu.branch part 1 required 128 occupied 0 {
        %0 = npu.conv2d %x, %w ...
            {npu.available = 3584 : i64, npu.forward = true, npu.required = 1152 : i64}

The decisions are those of paper 001: the size of each MIFM (Algorithm 4), the bytes of the MOFM
that earlier branches occupy (Algorithm 5), and for each layer the bytes that are available and
required, and whether it forwards its output on chip (Algorithm 6). A module gets policy I (MIFM and
MOFM on chip) if every layer is forwarded then, else policy II (MIFM only). Under policy I the MOFM
is the MIFM of the next module, at the same offset.

The paper does not say what happens if a layer does not fit. Here, three things are tried in turn.
First the module does not keep its input on chip, and has no `mifm`. Then its layers use single
buffers, and their input and working memory have one group of channels at a time. If a layer does
not fit even so, the machine is too small: `misfit=reject` raises an error, `misfit=leave` leaves
the module without a plan and writes the reason into `npu.not_planned = "..."`.

Two options go beyond the paper. With `granularity=branch`, in a module of policy I only the
branches that need it get policy II, `attributes {npu.policy = "II"}`, and only their parts of the
MOFM leave the chip.

With `channel-passes=N`, a layer with working memory (`working-memory=stride-1-map`) that does not
fit with all of its output channels runs in several passes over them: the fewest that fit, at most
N, as in `npu.passes = 2`. Results and traffic do not change: a layer that fetches its IFM from off
chip is not split. `required` of a branch is that of Algorithm 3, without such passes.

`policies.py` and `choose_policy.py` decide, and `memory_regions.py` finds the offsets; they are in
`npu_plans/modules` and know no IR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, i64

from npu_dialect.keys import drop_all
from npu_dialect.machine import Machine
from npu_dialect.module_attributes import AVAILABLE, FORWARD, NOT_PLANNED, PASSES, POLICY, REQUIRED
from npu_dialect.npu.enums import Policy, PolicyAttr
from npu_dialect.npu.structure import BranchedModuleOp, BranchOp
from npu_passes.modules.module_reader import (
    ModuleReader,
    modules_of,
    needed_machine,
    steps_of,
)
from npu_passes.modules.reorder_branches import WorkingMemory, storage_of
from npu_passes.support.refuse import Refusal, RefusingPass, refuse_size
from npu_plans.modules.choose_policy import plan_module
from npu_plans.modules.memory_regions import (
    ChainedModule,
    ModuleRegions,
    Region,
    Sram,
    chain_regions,
    chains,
)
from npu_plans.modules.module_data import Branch, FeatureMap, Module
from npu_plans.modules.policies import BranchPlan, LayerPlan, Misfit, ModulePlan, required_bytes


@dataclass(frozen=True)
class PlanModulesPass(RefusingPass):
    """Plan the modules of a program; see the module."""

    name = "npu-plan-modules"

    policy: Literal["auto", "I", "II"] = "auto"
    """I keeps input and output map of each module on chip, II only the input map; `auto` takes I
    if every layer is forwarded then, else II."""
    working_memory: WorkingMemory = "machine"
    """Working memory of a convolution with a stride: as the machine's file says, none, or its whole
    output map at stride 1."""
    granularity: Literal["module", "branch"] = "module"
    """Whether all branches of a module have one policy, or each branch may have its own."""
    misfit: Literal["reject", "leave"] = "reject"
    """What to do with a module that does not fit: fail, or leave it without a plan."""
    channel_passes: int = 1
    """The most passes over its output channels in which a layer may run."""
    places: bool = True
    """Whether to write where the maps of modules lie and how much SRAM there is for each layer,
    which only offsets with `strategy=modules` and reports read."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan, then write the plan into the IR."""
        if self.channel_passes < 1:
            raise Refusal(f"expected at least 1 of channel-passes, got {self.channel_passes}")
        plan = plan_program(op, self)
        for planned in plan.planned:
            annotate(planned.op, planned.module, planned.plan, planned.regions, frozenset(), self)
        for left, why in plan.left:
            clear(left)
            NOT_PLANNED.set(left, why)


@dataclass(frozen=True)
class Planned:
    """A module, its plan, and the regions of its maps on chip."""

    op: BranchedModuleOp
    module: Module
    plan: ModulePlan
    regions: ModuleRegions


@dataclass(frozen=True)
class ProgramPlan:
    """The planned modules of a program, in execution order, and the others with the reason."""

    planned: tuple[Planned, ...] = ()
    left: tuple[tuple[BranchedModuleOp, str], ...] = ()


def plan_program(program: ModuleOp, options: PlanModulesPass) -> ProgramPlan:
    """Plan the modules of a program.

    Raises: PassFailedException if there is no machine; with `misfit=reject`, at the module, if a
    layer does not fit.
    """
    if not (found := modules_of(program)):
        return ProgramPlan()
    machine = needed_machine(program)
    reader = ModuleReader(storage_of(machine, options.working_memory), options.channel_passes)
    ops: list[BranchedModuleOp] = []
    steps: list[ChainedModule] = []
    left: list[tuple[BranchedModuleOp, str]] = []
    for op in found:
        try:
            module, plan = plan_of(op, reader, machine, options)
        except Misfit as misfit:
            why = (
                f"{misfit.layer} needs {misfit.needed} bytes of SRAM at least, "
                f"{machine.name} has {misfit.capacity}"
            )
            if options.misfit == "reject":
                refuse_size(op, f"{options.name}: {why}", misfit.needed)
            left.append((op, why))
            continue
        follows = bool(steps) and module.input == steps[-1].module.result
        ops.append(op)
        steps.append(ChainedModule(module, plan, follows))
    sram = Sram(machine.planned_bytes if options.places else 0, machine.alignment)
    regions = [each for chain in chains(steps) for each in chain_regions(chain, sram)]
    planned = (
        Planned(op, step.module, step.plan, places)
        for op, step, places in zip(ops, steps, regions, strict=True)
    )
    return ProgramPlan(tuple(planned), tuple(left))


def plan_of(
    op: BranchedModuleOp, reader: ModuleReader, machine: Machine, options: PlanModulesPass
) -> tuple[Module, ModulePlan]:
    """A module and its plan, with the least memory for layers if it does not fit otherwise.

    Raises: Misfit if a layer does not fit even so.
    """
    module = reader.module(op)
    try:
        return module, plan_module(
            module, machine.planned_bytes, options.policy, options.granularity
        )
    except Misfit:
        frugal = reader.frugal().module(op)
        return frugal, plan_module(
            frugal, machine.planned_bytes, options.policy, options.granularity
        )


def clear(op: BranchedModuleOp) -> None:
    """Remove the plan of a module and those of its branches, layers and nested modules."""
    for each in op.walk():
        if isinstance(each, BranchedModuleOp):
            each.policy = each.mifm = each.mifm_offset = each.mofm = each.mofm_offset = None
        if isinstance(each, BranchOp):
            each.occupied = None
        drop_all(each, (POLICY, NOT_PLANNED, REQUIRED, AVAILABLE, FORWARD, PASSES))


def annotate(
    op: BranchedModuleOp,
    module: Module,
    plan: ModulePlan,
    regions: ModuleRegions,
    on_chip: frozenset[FeatureMap],
    options: PlanModulesPass,
) -> None:
    """Write the plan of a module into its properties and those of its branches and layers."""
    op.policy = PolicyAttr(Policy(plan.policy))
    NOT_PLANNED.drop(op)
    op.mifm, op.mifm_offset = region_attributes(regions.mifm)
    op.mofm, op.mofm_offset = region_attributes(regions.mofm)
    inside = on_chip | {module.input}
    for branch_op, branch, made, places in zip(
        op.branches, module.branches, plan.branches, regions.nested, strict=True
    ):
        branch_op.required = IntegerAttr(required_bytes(branch, inside), i64)
        branch_op.occupied = IntegerAttr(made.occupied, i64)
        POLICY.drop(branch_op)
        if made.policy != plan.policy:
            POLICY.set(branch_op, made.policy)
        annotate_steps(branch_op, branch, made, places, inside, options)


def annotate_steps(
    op: BranchOp,
    branch: Branch,
    plan: BranchPlan,
    places: Sequence[ModuleRegions],
    on_chip: frozenset[FeatureMap],
    options: PlanModulesPass,
) -> None:
    """Write the plans of the layers and nested modules of a branch into their attributes."""
    left = iter(places)
    for step_op, step, made in zip(steps_of(op), branch.steps, plan.steps, strict=True):
        if isinstance(made, LayerPlan):
            REQUIRED.set(step_op, made.required)
            if options.places:
                AVAILABLE.set(step_op, made.available)
            FORWARD.set(step_op, made.forward)
            PASSES.drop(step_op)
            if made.passes > 1:
                PASSES.set(step_op, made.passes)
        elif isinstance(step_op, BranchedModuleOp) and isinstance(step, Module):
            annotate(step_op, step, made, next(left), on_chip, options)


def region_attributes(
    region: Region | None,
) -> tuple[IntegerAttr[IntegerType] | None, IntegerAttr[IntegerType] | None]:
    """Size and offset of a region as attributes; None for what there is not."""
    if region is None:
        return None, None
    offset = None if region.offset is None else IntegerAttr(region.offset, i64)
    return IntegerAttr(region.size, i64), offset
