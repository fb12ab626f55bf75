"""npu-report html: one page that shows how a network is compiled, or why it does not fit.

    npu-report html lenet5.onnx --target fe310 -o report.html

It takes the options of npu-compile that decide the plan, and writes no C. A network that does not
fit gets a page, too: with the plan for a machine that has the memory, and what would fit.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from npu_passes.pipelines import DEFAULT
from npu_tools.commands.compile import add_c_options, add_input_options, add_plan_options, job_of
from npu_tools.commands.html_page import add_against, other_report
from npu_tools.shared.text import say

if TYPE_CHECKING:
    from npu_tools.pages.page import Build

UNUSED = ("dump_ir", "verify")
"""Attributes of npu-compile's options that this report has not."""


def html_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `npu-report html`."""
    add = parser.add_argument
    add("model", type=Path, help="an .onnx, .pt2 (torch.export) or .mlir file")
    add("--target", metavar="NAME|FILE.toml", required=True, help="the machine")
    add("-o", dest="page", type=Path, metavar="report.html", required=True, help="the page")
    add("--pipeline", default=DEFAULT, metavar="NAME|TEXT", help="passes (default: %(default)s)")
    add_plan_options(parser)
    add_c_options(parser)
    add_input_options(parser)
    add_against(parser)
    add(
        "--zero-blocks",
        type=Path,
        metavar="data.npz",
        help="run the network on these inputs, and show where its maps have zero blocks",
    )
    parser.set_defaults(
        run=html, prefix=None, json=False, verbose=False, check_passes=False, instructions=True
    )
    parser.set_defaults(**dict.fromkeys(UNUSED))


def html(options: argparse.Namespace) -> int:
    """Compile the network and write the page; returns the exit code."""
    from npu_tools.pages.packing import need_report_extra
    from npu_tools.pages.page import build_of
    from npu_tools.pages.render import page_of
    from npu_tools.shared.files import replaceable, write_files

    need_report_extra("npu-report html")
    path = replaceable(options.page)
    other = other_report(options.against)
    job = job_of(options)
    build = build_of(job)
    if options.zero_blocks is not None:
        from npu_tools.pages.zero_maps import zero_maps

        build = replace(build, zero_maps=zero_maps(job, options.zero_blocks))
    write_files(path.parent, {path.name: page_of(build, other, str(options.against))})
    say(summary(build))
    say(f"wrote {options.page}")
    return 0


def summary(build: Build) -> str:
    """The answer in one line."""
    arena, sram = build.report["arena_bytes"], build.machine.sram_bytes
    verdict = "does not fit" if build.why else "fits"
    return f"{build.report['model']} on {build.machine.name}: {verdict}: {arena} of {sram} bytes"
