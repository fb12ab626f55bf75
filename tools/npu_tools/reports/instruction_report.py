"""The predicted instructions of a program on a microcontroller, for report.json and the table.

They are those of `npu-estimate-instructions`, for C that gcc builds with -O2.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from npu_passes.lowering.estimate_instructions import costs_for, estimated
from npu_passes.support.refuse import Refusal


@dataclass(frozen=True)
class Instructions:
    """Instructions of one inference: of each layer in the order of the report, and of all."""

    layers: tuple[int, ...]
    total: int


def instructions_of(module: ModuleOp) -> Instructions | None:
    """The instructions of a module of loops.

    None if its machine has no table of costs, or if the numbers of trips are not known.
    """
    if (costs := costs_for(module)) is None:
        return None
    try:
        found = estimated(module, costs)
    except Refusal:
        return None
    return Instructions(tuple(found.layers.values()), found.total)


def instruction_line(instructions: Instructions) -> str:
    """The line of the table."""
    return f"predicted instructions of one inference (gcc -O2): {instructions.total}"
