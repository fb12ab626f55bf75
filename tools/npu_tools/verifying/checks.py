"""All checks of `npu-compile --verify`: results, bytes over the border, cycles."""

from __future__ import annotations

from typing import Any, TextIO

from npu_tools.compiling.driver import Compiled, Job
from npu_tools.shared.errors import UserError
from npu_tools.shared.text import say
from npu_tools.verifying.clock import check_clock
from npu_tools.verifying.verify import verify


def checked(
    compiled: Compiled, job: Job, inputs: str | None, seed: int, out: TextIO
) -> dict[str, Any]:
    """Check the C of a job, and say to `out` what was checked; returns an entry for report.json.

    `inputs` and `seed` are those of `verify`.

    Raises: UserError if there is no C, if it cannot run, or if a check fails.
    """
    if not compiled.files:
        raise UserError(f"--pipeline {job.pipeline} ends with a plan: there is no C to --verify")
    verified = verify(compiled, inputs, seed)
    say("\n".join(verified.lines), out)
    if not verified.agrees:
        raise UserError(f"{job.model}: {verified.complaint}")
    entry = verified.as_dict()
    if (clock := check_clock(compiled)) is not None:
        if clock.complaint is not None:
            raise UserError(f"{job.model}: --verify: {clock.complaint}; nothing was written")
        say(clock.line, out)
        entry["cycles"] = sum(clock.counted)
    return entry
