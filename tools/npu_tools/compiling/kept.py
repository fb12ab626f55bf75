"""The option `--keep-constants`: constants that are read often stay in fast memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.arg_spec import ArgSpec

from npu_dialect.arenas import arena_bytes
from npu_dialect.kept_attributes import READY
from npu_dialect.machine import Machine
from npu_dialect.target import machine_of
from npu_tools.compiling.pass_text import with_value
from npu_tools.reports.arena_report import arenas_in
from npu_tools.reports.kept_report import kept_in
from npu_tools.reports.report import Report
from npu_tools.shared.errors import UserError

ASSIGN_MEMORIES, KEEP, LOOPS = "npu-assign-memories", "npu-keep-constants", "npu-lower-to-loops"


def keeping(specs: Sequence[ArgSpec], machine: Machine) -> list[ArgSpec]:
    """The pipeline with copies of constants in memories.

    Raises: UserError if the machine does not say how fast its flash is, or if the pipeline does not
        end in loops.
    """
    if machine.stored is None or machine.dma_channels:
        raise UserError(
            "--keep-constants: expected a machine without dma_channels whose file has a [[memory]] "
            f"with read_only = true, for the rate of its flash, got {machine.name}"
        )
    if not any(spec.name == LOOPS for spec in specs):
        raise UserError(f"--keep-constants: expected {LOOPS} in the pass pipeline")
    return [*with_value(specs, ASSIGN_MEMORIES, "constants", True), ArgSpec(KEEP, {})]


def with_kept(report: Report, module: ModuleOp) -> Report:
    """The report of a program of loops whose arenas may have grown by copies of constants."""
    entries = (op for op in module.ops if isinstance(op, FuncOp) and READY.is_on(op))
    function = next(entries, None)
    if function is None:
        return report
    whole = arena_bytes(function) or 0
    bound = report.memory.live_bound_bytes + whole - report.arena_bytes
    return replace(
        report,
        arena_bytes=whole,
        arenas=tuple(arenas_in(function, machine_of(module))),
        memory=replace(report.memory, arena_bytes=whole, live_bound_bytes=bound),
        kept_constants=tuple(kept_in(function, module)),
    )
