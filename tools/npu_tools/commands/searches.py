"""What npu-compile searches before it compiles: the smallest SRAM, and the front of plans."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from npu_tools.shared.text import say

if TYPE_CHECKING:
    from npu_tools.compiling.driver import Job


def beside(options: argparse.Namespace) -> TextIO:
    """The stream for text beside the report: stderr with --json, whose stdout is report.json."""
    return sys.stderr if options.json else sys.stdout


def min_sram(options: argparse.Namespace, job: Job) -> dict[str, Any]:
    """Find and print the smallest SRAM; returns its entry for report.json.

    Does nothing and returns no entry without --find-min-sram.
    """
    if not options.find_min_sram:
        return {}
    from npu_dialect.machine import Machine
    from npu_tools.compiling.min_sram import find_min_sram

    found = find_min_sram(job)
    memories = ", ".join(each.name for each in Machine.load(job.target).memories)
    instead = f", as one memory in place of {memories}" if memories else ""
    print(f"smallest SRAM: {found} bytes{instead}", file=beside(options))
    return {"min_sram_bytes": found}


def pick(options: argparse.Namespace, job: Job) -> tuple[Job, dict[str, Any]] | None:
    """Print the front of plans; returns the job that --sram picks and the entry for report.json.

    None without --sram.

    Raises: UserError if no plan is small and quick enough, and what `explore` raises.
    """
    from npu_tools.compiling.pareto import MAX_SLOWDOWN, explore

    front = explore(replace(job, observers=()), options.candidate)
    entry = {"pareto": front.entries()}
    if options.json and options.sram is None:
        print(json.dumps(entry, indent=2))
        return None
    for line in front.lines():
        say(line, beside(options))
    if options.sram is None:
        return None
    limit = MAX_SLOWDOWN if options.max_slowdown is None else options.max_slowdown
    plan = front.pick(options.sram, limit)
    say(f"picked: {plan.pipeline}\n", beside(options))
    return replace(job, pipeline=plan.pipeline), entry
