"""`npu-compile --pareto`: the plans of several pipelines, in bytes of SRAM and in cost.

Each pipeline is run on the same network. Plans that another one beats in bytes and in cost are left
out; the rest is the front. On a machine without DMA the cost is the work of the loops, counted in
the IR (`npu_passes.analysis.loop_work`), not measured. With DMA it is the bytes that cross the
border of the chip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.utils.exceptions import DiagnosticException

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.analysis.loop_work import UnknownWork, work_of
from npu_passes.lowering.split_stream import SplitStreamPass
from npu_passes.pipelines import DEFAULT
from npu_tools.compiling.driver import (
    Job,
    job_passes,
    prepare,
    through_offsets,
)
from npu_tools.importers.frontends import load
from npu_tools.reports.report import planned_function, report_of
from npu_tools.shared.collector import paused_collector
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import context
from npu_tools.shared.progress import Progress

CANDIDATES = ("rows",)
"""Pipelines beside `default` on a machine without DMA."""
OFF_CHIP_CANDIDATES = ("tails",)
"""Pipelines beside `default` on a machine with DMA."""
MAX_SLOWDOWN = 10.0
"""How much more than the first plan, in percent, a plan may cost that `--sram` picks."""


@dataclass(frozen=True)
class Plan:
    """What a pipeline makes of a network: bytes of SRAM, and the cost, the less the better."""

    pipeline: str
    arena: int
    cost: float


@dataclass(frozen=True)
class Front:
    """The plans that no other one beats, the cheapest first.

    `reference`: the cost that slowdowns refer to, that of the first pipeline that works. `unit`:
    what the cost counts.
    """

    plans: tuple[Plan, ...]
    reference: float
    unit: str

    def slowdown(self, plan: Plan) -> float:
        """How much more a plan costs than the reference, in percent."""
        if not self.reference:
            return 0.0 if not plan.cost else float("inf")
        return 100 * (plan.cost / self.reference - 1)

    def lines(self) -> Iterator[str]:
        """A table of the plans."""
        yield f"{'SRAM bytes':>12}  {self.unit:>14}  {'change':>8}  pipeline"
        for plan in self.plans:
            yield (
                f"{plan.arena:12}  {round(plan.cost):14}  {self.slowdown(plan):+7.1f}%  "
                f"{plan.pipeline}"
            )

    def entries(self) -> list[Mapping[str, Any]]:
        """The plans for report.json."""
        return [
            {"pipeline": plan.pipeline, "arena_bytes": plan.arena, self.unit: round(plan.cost)}
            for plan in self.plans
        ]

    def pick(self, sram: int, max_slowdown: float) -> Plan:
        """The cheapest plan of at most `sram` bytes that is not more than `max_slowdown` percent
        slower than the reference.

        Raises: UserError if there is none.
        """
        fits = [plan for plan in self.plans if plan.arena <= sram]
        if not fits:
            least = min(plan.arena for plan in self.plans)
            raise UserError(f"--sram {sram}: the smallest plan needs {least} bytes of SRAM")
        best = fits[0]
        if self.slowdown(best) > max_slowdown:
            raise UserError(
                f"--sram {sram}: the plan of {best.arena} bytes costs "
                f"{self.slowdown(best):.1f} % more than the first one; "
                f"expected --max-slowdown to allow that, got {max_slowdown:g}"
            )
        return best


def front_of(plans: Sequence[Plan], unit: str) -> Front:
    """The front of some plans; of equal ones the first. There is at least one."""
    kept: list[Plan] = []
    for plan in sorted(plans, key=lambda plan: (plan.cost, plan.arena)):
        if not kept or plan.arena < kept[-1].arena:
            kept.append(plan)
    return Front(tuple(kept), plans[0].cost, unit)


def candidates(job: Job, machine: Machine, further: Sequence[str]) -> tuple[str, ...]:
    """The pipelines to try: that of the job, the machine's own, and further ones, each once."""
    own = OFF_CHIP_CANDIDATES if machine.dma_channels else CANDIDATES
    return tuple(dict.fromkeys((job.pipeline, DEFAULT, *own, *further)))


def explore(job: Job, further: Sequence[str] = ()) -> Front:
    """Run all candidates on the network of a job.

    A candidate that does not fit into the machine is left out.

    Raises: UserError for a wrong pipeline, or one without a plan of SRAM; DiagnosticException if no
    candidate works.
    """
    machine = Machine.load(job.target)
    names = candidates(job, machine, further)
    module = load(job.model, job.input_dims, job.functions).module
    TARGET.set(module, TargetAttr.of(machine))
    prepare(module, job)
    plans: list[Plan] = []
    failed: DiagnosticException | None = None
    progress = Progress()
    with paused_collector():
        try:
            for name in names:
                progress.say(f"trying {name}")
                try:
                    plans.append(plan_of(module.clone(), replace(job, pipeline=name), machine))
                except DiagnosticException as error:
                    failed = failed or error
        finally:
            progress.clear()
    if not plans:
        assert failed is not None
        raise failed
    return front_of(plans, "bytes off chip" if machine.dma_channels else "work")


def plan_of(module: ModuleOp, job: Job, machine: Machine) -> Plan:
    """The plan that the pipeline of a job makes of a module, which changes.

    Raises: UserError if the pipeline plans no SRAM, or ends before loops on a machine without DMA;
    DiagnosticException if a pass fails.
    """
    passes = job_passes(job, machine)
    end = len(through_offsets(passes))
    PassPipeline(passes[:end]).apply(context(), module)
    if planned_function(module) is None:
        raise UserError(f"--pareto: expected a pipeline that plans memory, got {job.pipeline}")
    report = report_of(module)
    if machine.dma_channels:
        return Plan(job.pipeline, report.arena_bytes, report.off_chip.overall_bytes)
    # The work of a run is that of one function, also if it is cut into parts at the end.
    rest = tuple(each for each in passes[end:] if each.name != SplitStreamPass.name)
    PassPipeline(rest).apply(context(), module)
    try:
        return Plan(job.pipeline, report.arena_bytes, work_of(module))
    except UnknownWork as error:
        raise UserError(f"--pareto: {job.pipeline}: {error}") from None
