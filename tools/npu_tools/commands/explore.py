"""npu-explore: compile a network for many machines and with many options, and compare the results.

    npu-explore model.onnx --target exynos-npu --plan-as i8 --set sram_bytes=64K:2M:x2 \\
        --set pipeline=off-chip,tails --objective cycles,sram_bytes --store sweep --html pareto.html

computes a row for each point, on all cores or on a cluster of Dask, and prints those that no other
one beats. Rows are kept in the store, so that a sweep goes on where it was stopped. A user's
mistake gives one message and exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npu_dialect.machine import Machine
from npu_passes.pipelines import DEFAULT
from npu_tools.commands.arguments import ShowVersion, natural, positive, usage_error
from npu_tools.shared.errors import UserError, guarded
from npu_tools.shared.text import say

if TYPE_CHECKING:
    from npu_tools.compiling.driver import Job
    from npu_tools.exploring.front import Objective
    from npu_tools.exploring.packages import Frame

TOOL = "npu-explore"
MOST_ROWS = 40
"""The most rows of the front that are printed."""
MOST_FAILURES = 5
"""The most diagnostics of failed points that are printed."""


def main(args: Sequence[str] | None = None) -> int:
    """Run npu-explore; returns the exit code."""

    def body() -> int:
        options = parse_arguments(sys.argv[1:] if args is None else args)
        from npu_tools.exploring.packages import NEEDED, need

        more = [("plotly", options.html), ("optuna", options.search)]
        need(*NEEDED, *(name for name, is_used in more if is_used is not None))
        return run(options) if options.report is None else report(options)

    return guarded(TOOL, body)


def parse_arguments(args: Sequence[str]) -> argparse.Namespace:
    """Parse the command line.

    Raises: UserError if argparse rejects it, or if the target is missing.
    """
    options = argument_parser().parse_args(args)
    if options.report is not None:
        return options
    if not options.models:
        raise UserError("expected a model: an .onnx, .pt2 or .mlir file")
    if options.target is None:
        known = ", ".join(Machine.known())
        raise UserError(f"expected --target NAME or --target FILE.toml; known are {known}")
    if options.verify and options.plan_as is not None:
        raise UserError("--plan-as drops all values: there is nothing to --verify")
    return options


def argument_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of npu-explore."""
    parser = argparse.ArgumentParser(
        TOOL, description="Compile a neural network for many machines and with many options."
    )
    parser.error = usage_error
    add = parser.add_argument
    add("-v", "--version", action=ShowVersion)
    add("models", nargs="*", type=Path, metavar="model", help=".onnx, .pt2 or .mlir files")
    add("--target", metavar="NAME|FILE.toml", help="the machine, of which --set changes numbers")
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=RANGE",
        dest="settings",
        help="the values of a number of the machine or of an option: 8,16 or 64K:2M:x2 or 8:32:+8",
    )
    add(
        "--objective",
        default="cycles,arena_bytes",
        metavar="A,B",
        help="columns to make small, or with - in front large (default: %(default)s)",
    )
    add("--store", type=Path, default=Path("sweep"), metavar="DIR", help="default: %(default)s")
    add("--html", type=Path, metavar="FILE", help="draw all points and the front")
    add("--scheduler", metavar="tcp://HOST:PORT", help="a scheduler of Dask with workers")
    jobs = "processes of this machine (default: one a core); 0 computes in this process"
    add("--jobs", type=natural, metavar="N", help=jobs)
    add("--search", type=positive, metavar="N", help="try N points that Optuna picks, not all")
    add("--verify", action="store_true", help="also build, run and compare the C of each point")
    add("--seed", type=natural, default=0, help="of --search and --verify (default: %(default)s)")
    add("--report", metavar="KEY", help="only write the HTML report of a point of the store")
    add_job_options(parser)
    return parser


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of npu-compile, which hold for all points unless --set changes them."""
    add = parser.add_argument
    add("--pipeline", default=DEFAULT, metavar="NAME|TEXT", help="passes (default: %(default)s)")
    add("--overlap", metavar="HOW", help="line-buffer|recompute|none")
    add("--strategy", metavar="HOW", help="greedy|exact|modules|ping-pong|none")
    add("--plan-as", choices=("i8", "i16", "f16", "bf16"), help="plan for elements of this type")
    add("--io", choices=("model", "int8"), default="model", help="types of inputs and outputs")
    add("--requantize", choices=("float", "fixed"), help="how integers change scales")
    add("--flash", choices=("fast", "small"), help="how 8-bit weights are stored")
    add("--weights-in-sram", type=natural, metavar="BYTES", help="SRAM for the most read weights")
    add("--stream-input", action="store_true", help="the input arrives in rows")
    add("--input-dim", action="append", default=[], metavar="NAME=N", help="a dynamic dimension")
    add("--functions", type=Path, metavar="FILE", help="further operators, in ONNX's text")


def jobs_of(options: argparse.Namespace) -> list[Job]:
    """The jobs that the options ask for, one for each model."""
    from npu_tools.compiling.driver import Job
    from npu_tools.importers.frontends import parse_input_dims

    dims = parse_input_dims(options.input_dim)
    return [
        Job(
            model=model,
            target=options.target,
            pipeline=options.pipeline,
            overlap=options.overlap,
            strategy=options.strategy,
            plan_as=options.plan_as,
            io=options.io,
            requantize=options.requantize,
            flash=options.flash,
            weights_in_sram=options.weights_in_sram,
            stream_input=options.stream_input,
            input_dims=dims,
            functions=options.functions,
        )
        for model in options.models
    ]


def run(options: argparse.Namespace) -> int:
    """Compute the points, print the front, draw; returns the exit code."""
    from npu_tools.exploring.front import objectives_of
    from npu_tools.exploring.models import Models
    from npu_tools.exploring.pools import pool_of
    from npu_tools.exploring.space import space_of
    from npu_tools.exploring.store import Store

    if options.verify:
        from npu_tools.commands.compile import need_onnxruntime

        need_onnxruntime()
    space, aims = space_of(options.settings), objectives_of(options.objective)
    models = Models.of(jobs_of(options), options.seed if options.verify else None)
    points = [] if options.search else list(models.points(list(space.settings())))
    store = Store(options.store)
    try:
        with pool_of(options.scheduler, options.jobs) as pool:
            from npu_tools.exploring.swept import searched, swept

            if options.search is None:
                counts = swept(points, store, pool)
            else:
                counts, points = searched(models, space, aims, options, store, pool)
        rows = store.frame(point.key for point in points)
    finally:
        store.close()
    say(str(counts))
    show(rows, aims, list(space.axes))
    if options.html is not None:
        from npu_tools.exploring.picture import write_page

        write_page(options.html, rows, aims, list(space.axes), options.store)
        say(f"wrote {options.html}")
    return 0


def report(options: argparse.Namespace) -> int:
    """Write the HTML report of a point, as npu-compile does; returns the exit code."""
    from npu_tools.commands import compile
    from npu_tools.exploring.point_report import (
        arguments_of,
        machine_file,
        report_path,
        row_with,
    )
    from npu_tools.exploring.store import Store
    from npu_tools.shared.files import make_folders

    store = Store(options.store)
    try:
        row = row_with(store, options.report)
    finally:
        store.close()
    path = report_path(options.store, str(row["key"]))
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        target = Path(folder) / "machine.toml"
        target.write_text(machine_file(row), encoding="utf-8")
        make_folders(path.parent)
        dims = [word for each in options.input_dim for word in ("--input-dim", each)]
        where = ["--target", str(target), "-o", folder, "--html", str(path)]
        return compile.main([str(row["model"]), *where, *arguments_of(row), *dims])


def show(rows: Frame, aims: Sequence[Objective], varied: Sequence[str]) -> None:
    """Print the front, and why points have failed."""
    from npu_tools.exploring.front import front_of
    from npu_tools.exploring.tables import failure_lines, front_lines

    front = front_of(rows, aims)
    for line in front_lines(front.head(MOST_ROWS), aims, varied):
        say(line)
    if len(front) > MOST_ROWS:
        say(f"... and {len(front) - MOST_ROWS} more")
    for line in failure_lines(rows, MOST_FAILURES):
        say(line)


if __name__ == "__main__":
    sys.exit(main())
