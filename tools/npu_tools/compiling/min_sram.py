"""`npu-compile --find-min-sram`: the smallest SRAM, in bytes, with which a pipeline works.

A size works if two things hold on a machine with that much SRAM. The passes up to the offsets
succeed, and they move no more bytes of feature maps off the chip than with 2^63 - 1 bytes of SRAM.
On a machine with several memories the size is that of one memory in their place, as fast as the
first one. The search:

- If the IR before the offsets is the same with 1 byte of SRAM as with 2^63 - 1, no pass decides by
  the size. Then the arena is the answer, exactly.
- Else the size is found by bisection, to the byte, between a size that works and one that fails.
  Less SRAM may lead to a better decision. So smaller sizes, in steps of 1 / `STEPS` of the size
  found, are tried too. If one works, bisection goes on below it. A smaller size that works is
  missed if it lies between two steps and no step works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import DiagnosticException

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.machine_values import MOST
from npu_dialect.target import TargetAttr
from npu_passes.modules.plan_modules import PlanModulesPass
from npu_tools.compiling.driver import (
    Job,
    job_passes,
    through_offsets,
)
from npu_tools.compiling.printer import ir_text
from npu_tools.compiling.stops import ASSIGN_OFFSETS, USE_ROOM
from npu_tools.importers.frontends import load
from npu_tools.reports.module_report import planned_report
from npu_tools.reports.report import planned_function, report_of
from npu_tools.shared.collector import paused_collector
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import context
from npu_tools.shared.progress import Progress

STEPS = 16
"""Into how many equal steps the sizes are divided below the size that bisection has found."""


@dataclass(frozen=True)
class Trial:
    """The outcome of the passes with one size of SRAM.

    `arena`: bytes of SRAM in use, None if a pass fails. `traffic`: bytes of feature maps that are
    read from and written to memory off the chip. `decisions`: the IR before the offsets; None if it
    was not asked for, or if a pass fails before.
    """

    arena: int | None
    traffic: int = 0
    decisions: str | None = None


def find_min_sram(job: Job) -> int:
    """The smallest SRAM, in bytes, with which the pipeline of a job works.

    Raises: DiagnosticException if a pass fails with the largest SRAM; UserError if the pipeline
    plans no memory.
    """
    machine = Machine.load(job.target)
    # These passes only use what is left, so that they always fit.
    decided = through_offsets(job_passes(job, machine))
    passes = tuple(each for each in decided if each.name not in USE_ROOM)
    module = load(job.model, job.input_dims, job.functions).module
    progress = Progress()

    def attempt(sram: int) -> Trial:
        progress.say(f"trying {sram} bytes of SRAM")
        clone = module.clone()
        TARGET.set(clone, TargetAttr.of(machine.with_sram(sram)))
        ends = sram in (1, MOST)
        return trial(clone, passes, ends=ends, must_work=sram == MOST)

    with paused_collector():
        try:
            return search(attempt)
        finally:
            progress.clear()


def trial(module: ModuleOp, passes: Sequence[ModulePass], *, ends: bool, must_work: bool) -> Trial:
    """Run the passes on a module, which they change.

    `ends`: whether the size is the smallest or largest one, for which `decisions` are needed.

    Raises: DiagnosticException if a pass fails and `must_work` is set; UserError if the pipeline
    plans no memory.
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
    """The text of the IR without its `npu.target` and without large constants."""
    target = TARGET.raw(module)
    assert target is not None
    TARGET.drop(module)
    text = ir_text(module, elide_weights=True)
    TARGET.set(module, target)
    return text


def search(attempt: Callable[[int], Trial]) -> int:
    """The smallest size that works, in bytes; the docstring of this file has the rules.

    `attempt` runs the passes with a size. It is called at most once for each size.
    """
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
    """Bisect between `fails`, which does not work, and `size`, which does.

    Returns a size that works while one byte less fails.
    """
    while size - fails > 1:
        middle = (fails + size) // 2
        if works(middle):
            size = middle
        else:
            fails = middle
    return size
