"""The smallest SRAM with which a pipeline works: `npu-compile --find-min-sram`.

A size works if the passes up to the offsets run on a machine with that much SRAM, and move no more
bytes of feature maps off the chip than with the largest SRAM that can be said. What is searched:

- If the IR before the offsets is the same with 1 byte of SRAM as with 2^63 - 1, no pass decides by
  the size. The arena is the answer, exactly.
- Else the sizes between one that works and one that fails are halved, to the byte. As less SRAM may
  lead to a better decision, `STEPS` sizes in even steps below are tried too; where one works, the
  search goes on there. A smaller size that works only between two steps is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import DiagnosticException

from npu_dialect.attributes import TARGET
from npu_dialect.machine import MOST, Machine
from npu_dialect.target import TargetAttr
from npu_passes.modules.plan_modules import PlanModulesPass
from npu_tools.compiling.driver import (
    ASSIGN_OFFSETS,
    Job,
    job_passes,
    paused_collector,
    through_offsets,
)
from npu_tools.compiling.printer import ir_text
from npu_tools.importers.frontends import load
from npu_tools.reports.module_report import planned_report
from npu_tools.reports.report import planned_function, report_of
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import context
from npu_tools.shared.progress import Progress

STEPS = 16
"""Sizes that are tried below the smallest one that halving has found."""


@dataclass(frozen=True)
class Trial:
    """What the passes give with one size of SRAM.

    `arena`: bytes of SRAM in use, None if the passes fail; `traffic`: bytes of feature maps that
    cross the border of the chip; `decisions`: the IR before the offsets, None if it fails earlier.
    """

    arena: int | None
    traffic: int = 0
    decisions: str | None = None


def find_min_sram(job: Job) -> int:
    """The smallest SRAM, in bytes, with which the pipeline of a job works.

    Raises: UserError or DiagnosticException if there is none.
    """
    machine = Machine.load(job.target)
    passes = through_offsets(job_passes(job, machine))
    _, module = load(job.model, job.input_dims)
    progress = Progress()

    def attempt(sram: int) -> Trial:
        progress.say(f"trying {sram} bytes of SRAM")
        clone = module.clone()
        TARGET.set(clone, TargetAttr.of(replace(machine, sram_bytes=sram)))
        ends = sram in (1, MOST)
        return trial(clone, passes, ends=ends, must_work=sram == MOST)

    with paused_collector():
        try:
            return search(attempt)
        finally:
            progress.clear()


def trial(module: ModuleOp, passes: Sequence[ModulePass], *, ends: bool, must_work: bool) -> Trial:
    """Run the passes on a module, which is changed; `ends`: whether its decisions are wanted.

    Raises: DiagnosticException from the passes if they must work; UserError if nothing is planned.
    """
    names = [each.name for each in passes]
    split = names.index(ASSIGN_OFFSETS) if ASSIGN_OFFSETS in names else len(names)
    decisions = None
    try:
        PassPipeline(tuple(passes[:split])).apply(context(), module)
        decisions = text_without_target(module) if ends else None
        PassPipeline(tuple(passes[split:])).apply(context(), module)
    except DiagnosticException:
        if must_work:
            raise
        return Trial(None, decisions=decisions)
    report = None
    if planned_function(module) is not None:
        report = report_of(module)
    elif PlanModulesPass.name in names:
        report = planned_report(module)
    if report is None:
        raise UserError(
            "--find-min-sram: expected a pipeline that plans memory, "
            "with npu-assign-sram-offsets or npu-plan-modules"
        )
    traffic = report.off_chip
    moved = traffic.feature_map_read_bytes + traffic.feature_map_write_bytes
    return Trial(report.arena_bytes, moved, decisions)


def text_without_target(module: ModuleOp) -> str:
    """The IR without its machine and without large constants."""
    target = TARGET.raw(module)
    assert target is not None
    TARGET.drop(module)
    text = ir_text(module, elide_weights=True)
    TARGET.set(module, target)
    return text


def search(attempt: Callable[[int], Trial]) -> int:
    """The smallest size that works, as the module says; each size is tried once at most."""
    top, bottom = attempt(MOST), attempt(1)
    assert top.arena is not None
    if top.decisions is not None and top.decisions == bottom.decisions:
        return max(1, top.arena)

    @cache
    def works(sram: int) -> bool:
        found = bottom if sram == 1 else top if sram == MOST else attempt(sram)
        return found.arena is not None and found.traffic <= top.traffic

    if works(1):
        return 1
    size = max(2, top.arena)
    while not works(size):
        size = min(2 * size, MOST)
    below = 1
    while True:
        size = halved(works, below, size)
        steps = [1 + (size - 1) * step // STEPS for step in range(1, STEPS)]
        better = next((step for step in steps if works(step)), None)
        if better is None:
            return size
        below = max((step for step in (1, *steps) if step < better), default=1)
        size = better


def halved(works: Callable[[int], bool], fails: int, size: int) -> int:
    """A size that works whose next smaller one fails, between `fails` and `size`, which works."""
    while size - fails > 1:
        middle = (fails + size) // 2
        if works(middle):
            size = middle
        else:
            fails = middle
    return size
