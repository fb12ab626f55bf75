"""Builds, runs and compares the C of a point, on the worker that computes it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from npu_tools.compiling.driver import compile_model
from npu_tools.exploring.points import Point, machine_numbers, toml_of
from npu_tools.shared.errors import UserError, diagnostic_of
from npu_tools.verifying.clock import check_clock
from npu_tools.verifying.verify import verify


def verified(point: Point) -> dict[str, Any]:
    """The results of a point that only checking its C gives.

    A C program that does not agree with its reference is a failure.
    """
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        target = Path(folder) / "machine.toml"
        target.write_text(toml_of(machine_numbers(point.machine)), encoding="utf-8")
        job = replace(point.job, target=str(target), clock=True)
        try:
            compiled = compile_model(job)
            if not compiled.files:
                raise UserError(f"{job.pipeline} ends with a plan: there is no C to verify")
            found = verify(compiled, None, point.verified or 0)
            clock = check_clock(compiled)
        except Exception as error:  # whatever happens to a point is its result
            return {"status": "failed", "verified": False, "diagnostic": diagnostic_of(error)}
    complaint = found.complaint if not found.agrees else clock and clock.complaint
    if complaint:
        return {"status": "failed", "verified": False, "diagnostic": complaint}
    return {"verified": True, "largest_error": max(each.absolute for each in found.outputs)}
