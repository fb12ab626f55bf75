"""`npu-mark-work`: say in the program how long its layers take, for a run on the virtual clock.

    npu.conv2d ins(%x, %w : ...) outs(%y : ...)
becomes
    dma.work 900
    npu.conv2d ins(%x, %w : ...) outs(%y : ...)

Level of IR: that of `npu-estimate-time`, whose numbers these are. The marks stay when layers become
functions and loops, and `-t c` prints them as calls of `npu_dma_work`. So the emitted C, with the
clock of `npu_dma.h`, takes the same cycles. `npu-compile --verify` compares the two; the C that it
writes has no marks. Marks from before are replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.dma import WorkOp
from npu_dialect.walking import walk_kind
from npu_passes.analysis.timed_ops import NotTimed
from npu_passes.analysis.timed_program import read_program
from npu_passes.overlap.estimate_time import programs, rates_of
from npu_passes.support.refuse import Refusal, RefusingPass, refuse
from npu_plans.time.rates import Rates, UnknownRate
from npu_plans.time.simulate import ProgramError, simulate


@dataclass(frozen=True)
class MarkWorkPass(RefusingPass):
    """Say how long layers take; see the module."""

    name = "npu-mark-work"

    misfit: Literal["reject", "leave"] = "reject"
    """What happens if cycles cannot be counted, or an op takes different cycles each time: an
    error, or the function gets no marks."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark the layers of all functions.

        Raises: Refusal if a function cannot be marked, with `misfit=reject`.
        """
        drop_marks(op)
        for function in programs(op):
            try:
                works = works_of(function, rates_of(op))
            except Refusal:
                if self.misfit == "reject":
                    raise
                continue
            for each, cycles in works.items():
                # The mark is there if two programs call the function of an op.
                if cycles and not isinstance(each.prev_op, WorkOp):
                    Rewriter.insert_op(WorkOp(cycles), InsertPoint.before(each))


def drop_marks(module: ModuleOp) -> None:
    """Remove all marks."""
    for op in list(walk_kind(module, WorkOp)):
        Rewriter.erase_op(op)


def works_of(function: FuncOp, rates: Rates) -> dict[Operation, int]:
    """The cycles of each op of a program that keeps the core busy.

    Raises: Refusal if they cannot be counted, or if an op takes different cycles each time.
    """
    try:
        program = read_program(function, rates)
        simulate(program.body, rates)
    except (NotTimed, ProgramError, UnknownRate) as reason:
        refuse(function, str(reason))
    found: dict[Operation, int] = {}
    for op, cycles in program.works.items():
        if len(cycles) > 1:
            refuse(op, f"expected an op to take the same cycles each time, got {sorted(cycles)}")
        (found[op],) = cycles
    return found
