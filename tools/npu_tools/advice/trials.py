"""Tries ways to compile a network: the passes that plan memory, on copies of one import."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp, f32, i8
from xdsl.passes import PassPipeline

from npu_dialect.attributes import TARGET
from npu_dialect.dma import UI8
from npu_dialect.machine import Machine
from npu_dialect.npu.layers.weighted import WeightedOp
from npu_dialect.npu.maps import bytes_of, is_tensor_type, map_type
from npu_dialect.target import TargetAttr
from npu_passes.modules.plan_modules import PlanModulesPass
from npu_passes.support.refuse import DoesNotFit
from npu_tools.compiling.driver import Job, job_passes, prepare, through_offsets
from npu_tools.compiling.resuming import remaining
from npu_tools.importers.frontends import load
from npu_tools.reports.module_report import planned_report
from npu_tools.reports.report import Report, planned_function, report_of
from npu_tools.reports.time_report import time_of
from npu_tools.shared.installed import context


@dataclass(frozen=True)
class Fits:
    """The outcome of a way that works: bytes of SRAM in use, and cycles if they are known."""

    arena: int
    cycles: int | None


@dataclass(frozen=True)
class Fails:
    """The outcome of a way that fails; `needed`: bytes of SRAM that it needs at least, if known."""

    needed: int | None = None


class Trials:
    """The network of a job, imported once."""

    def __init__(self, job: Job) -> None:
        """Import the network.

        Raises: what `load` raises.
        """
        self.module = load(job.model, job.input_dims, job.functions).module

    @property
    def is_float(self) -> bool:
        """Whether no map holds bytes yet, so that the network can become one that does."""
        types = (each.type for op in self.module.walk() for each in op.results)
        elements = {type_.get_element_type() for type_ in types if is_tensor_type(type_)}
        return f32 in elements and not elements & {i8, UI8}

    def least_flash(self, element_bytes: int | None = None) -> int:
        """The least bytes of flash that the weights of convolutions and fully connected layers
        need, if each element has `element_bytes`; None for those that it has.
        """
        layers = (op for op in self.module.walk() if isinstance(op, WeightedOp))
        held = {op.weight_and_bias[0] for op in layers}
        types = [map_type(each) for each in held if isinstance(each.owner, ConstantOp)]
        return sum(
            bytes_of(type_) if element_bytes is None else element_bytes * prod(type_.get_shape())
            for type_ in types
        )

    def attempt(self, job: Job, machine: Machine) -> Fits | Fails:
        """Plan the network as a job says, on a machine."""
        module = self.module.clone()
        TARGET.set(module, TargetAttr.of(machine))
        try:
            prepare(module, job)
            report = planned(module, replace(job, jobs=1), machine)
        except DoesNotFit as misfit:
            return Fails(misfit.needed)
        except Exception:  # whatever stops a way, the message of the user's own comes first
            return Fails()
        if report.weights_bytes > machine.flash_bytes:
            return Fails()
        function = planned_function(module)
        time = None if function is None else time_of(module, function)
        return Fits(report.arena_bytes, None if time is None else time.get("cycles"))


def planned(module: ModuleOp, job: Job, machine: Machine) -> Report:
    """Run the passes that plan memory; returns what they have planned.

    Raises: DiagnosticException if a pass fails; UserError if the pipeline plans no memory, or
    lacks the pass that an option is for.
    """
    passes = remaining(job_passes(job, machine), module)
    PassPipeline(through_offsets(passes)).apply(context(), module)
    if planned_function(module) is None and PlanModulesPass.name in {p.name for p in passes}:
        report = planned_report(module)
        if report is not None:
            return report
    return report_of(module)
