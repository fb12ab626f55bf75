"""Runs emitted C on the virtual clock of `npu_dma.h`, and compares its cycles with the report's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npu_tools.compiling.driver import Compiled
from npu_tools.shared.errors import UserError
from npu_tools.verifying.harness import built


@dataclass(frozen=True)
class ClockCheck:
    """The cycles of the core in C, computing and waiting, and those of the report."""

    counted: tuple[int, int]
    reported: tuple[int, int]

    @property
    def line(self) -> str:
        """A line for a check that passed."""
        return f"verify: takes the cycles that the report says: {sum(self.counted)}"

    @property
    def complaint(self) -> str | None:
        """What is wrong; None if the cycles are equal."""
        if self.counted == self.reported:
            return None
        computing, waiting = self.counted
        return (
            f"cycles: the run has computed for {computing} and waited for {waiting}, report.json "
            f"says {self.reported[0]} and {self.reported[1]}"
        )


def check_clock(compiled: Compiled) -> ClockCheck | None:
    """Run a network once on the virtual clock; None if its cycles were not counted.

    The inputs are zeros: no cycle depends on data.

    Raises: UserError if the program cannot be built, or fails.
    """
    time, clocked = compiled.report.time, compiled.clocked
    if clocked is None or time is None or "cycles" not in time:
        return None
    files = {**compiled.files, f"{compiled.name}.c": clocked.source}
    with built(compiled.name, files, compiled.report, clocked.macros) as harness:
        zeros = [np.zeros((1, *shape), np.float32) for shape in compiled.report.inputs.values()]
        printed = harness.start(zeros, trace=False)[2].splitlines()
    found = [line.split()[1:] for line in printed if line.startswith("cycles ")]
    if len(found) != 1 or len(found[0]) != 2:
        raise UserError("--verify: the C program printed no cycles")
    computing, waiting = map(int, found[0])
    return ClockCheck((computing, waiting), (time["compute_cycles"], time["exposed_cycles"]))
