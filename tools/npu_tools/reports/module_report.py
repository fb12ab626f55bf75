"""Memory and off-chip traffic of planned modules of branches, read from the IR (paper 001).

The level of IR is layers on tensors after `npu-plan-modules`. The attributes of that pass say which
maps stay on chip. The traffic follows from them by the conventions of
`passes/npu_plans/modules/traffic.py`. Layers outside modules run one by one, as in the paper: they
read and write all their maps off chip.

    {"name": "reduction_a", "policy": "II",
     "off_chip": {"feature_map_write_bytes": 307200, "feature_map_writes": 3, ...}, ...}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npu_dialect.attributes import PLANNED_AS, PORT
from npu_dialect.machine import Machine
from npu_dialect.module_attributes import AVAILABLE, FORWARD, NOT_PLANNED, POLICY, REQUIRED
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_dialect.npu.structure import BranchedModuleOp, BranchOp
from npu_dialect.target import machine_of
from npu_passes.modules.inline_modules import module_name
from npu_passes.modules.module_reader import ModuleReader, layers_outside, modules_of, steps_of
from npu_plans.modules.footprints import Storage
from npu_plans.modules.module_data import FeatureMap, Module, Policy
from npu_plans.modules.policies import BranchPlan, LayerPlan, ModulePlan
from npu_plans.modules.traffic import (
    OffChip,
    Traffic,
    left_off_chip,
    naive_layer,
    naive_module,
    peak_bytes,
    planned_module,
    total,
    write,
)
from npu_tools.reports.report import Memory, Report, layer_report, layers_of


@dataclass(frozen=True)
class ModuleReport:
    """The report of one module, with the modules nested in it; sizes in bytes.

    `policy` is "none" for a module without a plan; its traffic is that of layer-by-layer execution.
    `branches` are in execution order: the index of the part of the merge that the branch computes,
    its policy, the bytes that it requires, and the bytes occupied before it runs. `peak_bytes` is
    the most that is on chip at one time.
    """

    name: str
    policy: str
    peak_bytes: int
    branches: tuple[Mapping[str, Any], ...]
    off_chip: Traffic
    naive: Traffic


@dataclass(frozen=True)
class ModulesReport:
    """The reports of all modules of a program, in execution order.

    `off_chip` is the planned traffic of the whole network, `naive` that of layer-by-layer
    execution. Both include layers outside modules.
    """

    modules: tuple[ModuleReport, ...]
    off_chip: Traffic
    naive: Traffic

    @property
    def peak_bytes(self) -> int:
        """The most bytes that are on chip while any module runs."""
        return max((each.peak_bytes for each in self.modules), default=0)

    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The key `modules` of report.json."""
        return tuple(asdict(each) for each in self.modules)


def analyze_modules(program: ModuleOp) -> ModulesReport | None:
    """Measure the modules of a program.

    None without a machine, or if a module neither has a plan nor is marked as left without one.
    """
    machine = machine_of(program)
    ops = modules_of(program)
    if machine is None or not all(op.policy or NOT_PLANNED.is_on(op) for op in ops):
        return None
    reader = ModuleReader(Storage.of(machine))
    left: dict[FeatureMap, OffChip] = {}
    reports: list[ModuleReport] = []
    for index, op in enumerate(ops):
        module, name = reader.module(op), module_name(op, index)
        if op.policy is None:
            reports.append(layer_by_layer(name, module, left.get(module.input)))
            left[module.result] = OffChip(module.result.size.full, 1)
            continue
        plan = read_plan(op)
        left[module.result] = left_off_chip(module, plan)
        reports.append(
            ModuleReport(
                name=name,
                policy=plan.policy,
                peak_bytes=peak_bytes(plan, machine.sram_bytes),
                branches=tuple(branch_row(branch, plan) for branch in op.branches),
                off_chip=planned_module(module, plan, left.get(module.input)),
                naive=naive_module(module),
            )
        )
    outside = total(naive_layer(reader.layer(op)) for op in layers_outside(program))
    return ModulesReport(
        tuple(reports),
        total(each.off_chip for each in reports) + outside,
        total(each.naive for each in reports) + outside,
    )


def layer_by_layer(name: str, module: Module, arrives: OffChip | None) -> ModuleReport:
    """The report of a module without a plan, which runs layer by layer.

    `arrives` is the part of its input that lies off chip already; None means all of it. The rest is
    on chip and is written off chip first.
    """
    naive = naive_module(module)
    kept = 0 if arrives is None else module.input.size.full - arrives.size
    return ModuleReport(name, "none", 0, (), naive + write(kept), naive)


def branch_row(op: BranchOp, plan: ModulePlan) -> Mapping[str, Any]:
    """The row of one branch in report.json."""
    required, occupied = op.required, op.occupied
    return {
        "part": op.part.value.data,
        "policy": policy_of(op, plan.policy),
        "required": required.value.data if required is not None else None,
        "occupied": occupied.value.data if occupied is not None else None,
    }


def read_plan(op: BranchedModuleOp) -> ModulePlan:
    """Read the plan of a module from its attributes and those of its branches and layers."""
    assert op.policy is not None
    policy = cast(Policy, op.policy.data)
    branches = tuple(
        BranchPlan(
            policy_of(branch, policy),
            0 if branch.occupied is None else branch.occupied.value.data,
            tuple(
                read_plan(step) if isinstance(step, BranchedModuleOp) else read_layer(step)
                for step in steps_of(branch)
            ),
        )
        for branch in op.branches
    )
    return ModulePlan(policy, op.mifm is not None, branches)


def policy_of(op: BranchOp, default: Policy) -> Policy:
    """The policy of a branch: its own attribute, or else `default`, that of its module."""
    return cast(Policy, POLICY.get(op) or default)


def read_layer(op: Operation) -> LayerPlan:
    """Read the plan of one layer; without attributes it needs 0 bytes and forwards no map."""
    return LayerPlan(REQUIRED.get(op) or 0, AVAILABLE.get(op) or 0, FORWARD.get(op) or False)


def planned_report(program: ModuleOp, model: str = "") -> Report | None:
    """The report of a network that is only planned: it has no buffers, so layers have no offsets.

    Its arena is the most that is on chip while a module runs. None if there is no machine or no
    function, or if a module is not planned.
    """
    planned, machine = analyze_modules(program), machine_of(program)
    function = next((op for op in program.ops if isinstance(op, func.FuncOp)), None)
    if planned is None or machine is None or function is None:
        return None
    layers = list(layers_of(function))
    parameters = {value for op in layers for value in op.parameter_inputs}
    planned_as = PLANNED_AS.get(program)
    return Report(
        model=model,
        target=machine.name,
        arena_bytes=planned.peak_bytes,
        weights_bytes=sum(bytes_of(map_type(value)) for value in parameters),
        scratch_bytes=0,
        layers=tuple(layer_report(op, index) for index, op in enumerate(layers)),
        off_chip=planned.off_chip,
        naive=planned.naive,
        memory=memory_of(planned, machine, function),
        planned_as=None if planned_as is None else str(planned_as),
        modules=planned.rows(),
        inputs=dict(named_maps(function, inputs=True)),
        outputs=dict(named_maps(function, inputs=False)),
    )


def memory_of(planned: ModulesReport, machine: Machine, function: func.FuncOp) -> Memory:
    """The memory that the plan needs, in bytes; without offsets, arena and bound are its peak."""
    maps = [op.output_type for op in layers_of(function)]
    elements = [bytes_of(each) // max(1, each.element_count()) for each in maps]
    return Memory(
        naive_bytes=None,
        fused_bytes=None,
        arena_bytes=planned.peak_bytes,
        live_bound_bytes=planned.peak_bytes,
        element_bytes=max(elements, default=1) or 1,
        sram_bytes=machine.sram_bytes,
    )


def named_maps(function: func.FuncOp, *, inputs: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the arguments, or of the results, of a function on tensors."""
    last = function.get_return_op()
    values = function.args if inputs else (() if last is None else last.operands)
    attributes = function.arg_attrs if inputs else function.res_attrs
    for index, value in enumerate(values):
        name = None if attributes is None else PORT.of(attributes.data[index].data)
        yield name or f"{'arg' if inputs else 'result'}{index}", shape_of(value)
