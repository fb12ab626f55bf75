"""npu-compile: compile a model to C.

    npu-compile lenet5.onnx --target fe310 -o out

writes `out/lenet5.c`, `out/lenet5.h` and `out/report.json`, and prints a table. The files are
written at the end, all of them or none. A user's mistake gives one message and exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npu_dialect.machine import Machine
from npu_passes.pipelines import DEFAULT, PIPELINES
from npu_tools.commands.arguments import (
    ShowVersion,
    natural,
    percent,
    positive,
    size,
    usage_error,
)
from npu_tools.commands.html_page import HtmlPage, add_html_options
from npu_tools.commands.searches import beside, min_sram, pick
from npu_tools.integration import integration_files, parse_kinds
from npu_tools.shared.collector import end_without_collecting, paused_collector
from npu_tools.shared.errors import UserError, guarded
from npu_tools.shared.text import say

if TYPE_CHECKING:
    from npu_tools.compiling.driver import Job
    from npu_tools.compiling.stops import Observer

TOOL = "npu-compile"


def main(args: Sequence[str] | None = None) -> int:
    """Run npu-compile; returns the exit code."""
    model: list[str] = []

    def body() -> int:
        options = parse_arguments(sys.argv[1:] if args is None else args)
        if options.list_pipelines or options.list_targets:
            print_lists(options)
            return 0
        model.append(str(options.model))
        with paused_collector():
            return run(options)

    if args is None:  # the process ends with this function
        end_without_collecting()
    return guarded(TOOL, body, lambda: model[0] if model else None)


def parse_arguments(args: Sequence[str]) -> argparse.Namespace:
    """Parse the command line.

    Raises: UserError if argparse rejects it, if model or target is missing, or if options
    contradict each other.
    """
    # A bare --verify takes no value, not even the model that may come next.
    options = argument_parser().parse_args(
        ["--verify=" if text == "--verify" else text for text in args]
    )
    if options.list_pipelines or options.list_targets:
        return options
    if options.model is None:
        raise UserError("expected a model: an .onnx, .pt2 or .mlir file")
    if options.target is None:
        known = ", ".join(Machine.known())
        raise UserError(f"expected --target NAME or --target FILE.toml; known are {known}")
    if options.plan_as is not None and options.verify is not None:
        raise UserError("--plan-as drops all values: there is nothing to --verify")
    check_front(options)
    return options


def check_front(options: argparse.Namespace) -> None:
    """Refuse options that --pareto needs, or that need one of its plans.

    Raises: UserError for an option that would change nothing.
    """
    of_front = {
        "--sram": options.sram is not None,
        "--max-slowdown": options.max_slowdown is not None,
        "--candidate": options.candidate,
    }
    of_plan = {
        "--html": options.html is not None,
        "--memory-map": options.memory_map is not None,
        "--timeline": options.timeline is not None,
        "--verify": options.verify is not None,
    }
    if not options.pareto:
        for name, is_given in of_front.items():
            if is_given:
                raise UserError(f"{name} is for --pareto: expected both")
    elif options.sram is None:
        for name, is_given in of_plan.items():
            if is_given:
                raise UserError(f"{name} is for one plan: expected --sram N with --pareto")


def argument_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of npu-compile."""
    parser = argparse.ArgumentParser(TOOL, description="Compile a neural network to C.")
    parser.error = usage_error
    add = parser.add_argument
    add("-v", "--version", action=ShowVersion)
    add("model", nargs="?", type=Path, help="an .onnx, .pt2 (torch.export) or .mlir file")
    add("--target", metavar="NAME|FILE.toml", help="the machine")
    add("-o", dest="folder", type=Path, metavar="DIR", help="where to write (default: ./ID)")
    add("--prefix", metavar="ID", help="start of all C names (default: from the model's name)")
    add("--pipeline", default=DEFAULT, metavar="NAME|TEXT", help="passes (default: %(default)s)")
    add_plan_options(parser)
    add("--json", action="store_true", help="print report.json and nothing else")
    add_c_options(parser)
    add_front_options(parser)
    add_run_options(parser)
    return parser


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that set options of passes."""
    add = parser.add_argument
    add(
        "--overlap",
        metavar="HOW",
        help="line-buffer|recompute|none: how to fuse pools whose windows overlap",
    )
    add(
        "--strategy", metavar="HOW", help="greedy|exact|modules|ping-pong|none: how to find offsets"
    )
    add(
        "--objective",
        metavar="WHAT",
        help="bytes|time: what tiles are chosen by, the bytes that they move or the time they take",
    )


def add_front_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that compare the plans of several pipelines."""
    add = parser.add_argument
    add(
        "--pareto",
        action="store_true",
        help="print the plans of several pipelines: bytes of SRAM, and estimated work, or with DMA "
        "the bytes that cross the border of the chip; plans that another one beats in both are "
        "left out. Without --sram nothing is written",
    )
    add("--sram", type=natural, metavar="N", help="with --pareto: compile the cheapest in N bytes")
    add(
        "--max-slowdown",
        type=percent,
        metavar="PERCENT",
        help="with --pareto: how much more a plan of --sram may cost than the first (default: 10)",
    )
    add(
        "--candidate",
        action="append",
        default=[],
        metavar="NAME|TEXT",
        help="with --pareto: a further pipeline, beside default and those for the machine",
    )


def add_c_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose what the C computes, where its weights lie, what builds it."""
    add = parser.add_argument
    add(
        "--weights",
        choices=("auto", "c", "bin"),
        default="auto",
        help="c: as C arrays; bin: in ID_weights.bin; auto: bin above 64 MiB (the default)",
    )
    add("--weights-in-sram", type=natural, metavar="BYTES", help="SRAM for the most read weights")
    add(
        "--keep-constants",
        action="store_true",
        help="copy constants that are read often to fast memory, once: ID_init makes the copies",
    )
    add(
        "--calibrate",
        type=Path,
        metavar="data.npz",
        help="typical inputs, by which to choose the maps off chip to compress",
    )
    add(
        "--plan-as",
        choices=("i8", "i16", "f16", "bf16"),
        help="plan memory for elements of this type; emit no C",
    )
    add(
        "--io",
        choices=("model", "int8"),
        default="model",
        help="int8: inputs are the integers behind QuantizeLinear, outputs those in front of "
        "DequantizeLinear; model: the model's own (the default)",
    )
    add(
        "--keep-state",
        action="append",
        default=[],
        metavar="INPUT=OUTPUT|NODE",
        help="a run starts with the INPUT that the run before has left as OUTPUT, or with the last "
        "state of a recurrent NODE; both stay in the arena, and ID_reset sets them to zero",
    )
    rows = "the input arrives in rows: ID_begin, ID_push_rows, ID_finish; few of them are in SRAM"
    add("--stream-input", action="store_true", help=rows)
    add(
        "--requantize",
        choices=("float", "fixed"),
        help="how integers change scales: fixed needs no floats and differs from float by at "
        "most 1 (default: as the model's operators do)",
    )
    flash = parser.add_mutually_exclusive_group()
    flash.add_argument(
        "--flash",
        choices=("fast", "small"),
        help="fast: 8-bit weights are stored as 16 bits if that saves instructions (default, for "
        "all layers that the flash has room for)",
    )
    flash.add_argument(
        "--flash-bytes",
        type=size,
        metavar="N",
        help="the most bytes of constants; the layers are fast that save the most instructions",
    )


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say more about the model, and how many cores may be used."""
    add = parser.add_argument
    add("--input-dim", action="append", default=[], metavar="NAME=N", help="a dynamic dimension")
    add(
        "--functions",
        type=Path,
        metavar="FILE",
        help="operators that are no ONNX operators, as functions in ONNX's text",
    )
    add("--jobs", type=positive, default=1, metavar="N", help="layers to search for tiles at once")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for one run of the compiler: what it reads, checks, draws and prints."""
    add = parser.add_argument
    add(
        "--emit",
        type=parse_kinds,
        default=(),
        metavar="KIND[,KIND]",
        help="also write files for these build systems: cmake|zephyr|arduino",
    )
    add_input_options(parser)
    add("--dump-ir", type=Path, metavar="DIR", help="write the IR after every pass")
    add("--memory-map", type=Path, metavar="map.svg", help="draw SRAM address against time")
    trace = "write what core and DMA do over time, as Chrome trace events (Perfetto opens them)"
    add("--timeline", type=Path, metavar="trace.json", help=trace)
    add_html_options(parser)
    predict = "predict the instructions of an inference on a microcontroller, layer by layer"
    add("--instructions", action="store_true", help=predict)
    add(
        "--find-min-sram",
        action="store_true",
        help="print the smallest SRAM that the pipeline works with. If passes decide by the size "
        "of the SRAM, it is searched by bisection between a size that works and one that fails; "
        "smaller sizes, in steps of a sixteenth, are tried too. On a machine with several "
        "memories it is the size of one memory in their place",
    )
    add("--verbose", action="store_true", help="print the remarks of the passes")
    add(
        "--check-passes",
        action="store_true",
        help="interpret the IR after every pass, and check the memory plan byte by byte (slow)",
    )
    add(
        "--verify",
        metavar="inputs.npz",
        help="compare the C with onnxruntime (.mlir: interpreter), on random inputs or =FILE",
    )
    add("--seed", type=natural, default=0, help="seed of random inputs (default: %(default)s)")
    add("--list-pipelines", action="store_true", help="print the named pipelines")
    add("--list-targets", action="store_true", help="print the known machines")


def print_lists(options: argparse.Namespace) -> None:
    """Print the pipelines or the machines."""
    if options.list_pipelines:
        for name, pipeline in PIPELINES.items():
            print(f"{name}: {pipeline.summary}\n  {pipeline.text}")
    if options.list_targets:
        for name in Machine.known():
            machine = Machine.load(name)
            parts = ", ".join(f"{each.name} {each.bytes}" for each in machine.memories)
            sram = f"{machine.sram_bytes} bytes of SRAM" + f" ({parts})" * bool(parts)
            print(f"{name}: {sram}, {machine.flash_bytes} of flash")


def run(options: argparse.Namespace) -> int:
    """Compile, verify with --verify, write the files, print the report; returns the exit code."""
    from npu_tools.advice.advised import compile_or_advise
    from npu_tools.pictures.drawings import Drawings
    from npu_tools.reports.module_table import module_table
    from npu_tools.reports.table import table
    from npu_tools.reports.zero_block_table import plan_table
    from npu_tools.shared.files import write_files
    from npu_tools.verifying.stack import measure_stack

    if options.verify is not None:
        need_onnxruntime()
    if options.memory_map is not None:
        need_matplotlib()
    job, page = job_of(options), HtmlPage(options)
    extra: dict[str, Any] = {}
    if options.pareto:
        picked = pick(options, job)
        if picked is None:
            return 0
        job, extra = picked
    extra |= min_sram(options, job)
    drawings = Drawings(options.memory_map, options.timeline, options.model.name)
    watching = (*job.observers, *drawings.stops(), *page.stops(options.model.name))
    compiled = compile_or_advise(replace(job, observers=watching))
    if options.verify is not None:
        from npu_tools.verifying.checks import checked

        given = options.verify or None
        extra["verify"] = checked(compiled, job, given, options.seed, beside(options))
    stack = measure_stack(compiled.files, compiled.name, options.target)
    report = replace(compiled.report, stack_bytes=stack.bytes)
    extra |= {"stack_without": stack.without} if stack.without else {}
    entries = {**report.as_dict(), **page.entry(), **extra}
    text = json.dumps(entries, indent=2) + "\n"
    folder = options.folder or Path(compiled.name)
    around = integration_files(options.emit, compiled.name, compiled.files, folder)
    drawn = {**drawings.files(), **page.files(job, compiled, entries)}
    paths = write_files(folder, {**compiled.files, **around, "report.json": text}, drawn)
    if options.json:
        print(text, end="")
        return 0
    say(table(report, str(stack)))
    ops = [layer.op for layer in report.layers]
    for line in (*module_table(report), *plan_table(report.zero_blocks, ops)):
        say(line)
    say(f"\nwrote {', '.join(str(path) for path in paths)}")
    return 0


def job_of(options: argparse.Namespace) -> Job:
    """The driver's job that the options ask for."""
    from npu_tools.compiling.driver import Job
    from npu_tools.importers.frontends import parse_input_dims

    return Job(
        model=options.model,
        target=options.target,
        prefix=options.prefix,
        pipeline=options.pipeline,
        overlap=options.overlap,
        strategy=options.strategy,
        objective=options.objective,
        weights=options.weights,
        weights_in_sram=options.weights_in_sram,
        keep_constants=options.keep_constants,
        calibrate=options.calibrate,
        plan_as=options.plan_as,
        io=options.io,
        requantize=options.requantize,
        flash=options.flash,
        flash_bytes=options.flash_bytes,
        keep_state=tuple(options.keep_state),
        stream_input=options.stream_input,
        input_dims=parse_input_dims(options.input_dim),
        functions=options.functions,
        dump_ir=options.dump_ir,
        clock=options.verify is not None,
        instructions=options.instructions,
        jobs=options.jobs,
        observers=tuple(observers(options)),
    )


def observers(options: argparse.Namespace) -> Iterator[Observer]:
    """The observers that options add to the driver's own; they see the IR after every pass."""
    if options.verbose:
        from npu_tools.compiling.remarks import Remarks

        yield Remarks(lambda remark: say(remark, beside(options)))
    if options.check_passes:
        from npu_tools.compiling.check import MeaningCheck
        from npu_tools.compiling.plan_check import PlanCheck

        yield PlanCheck()
        yield MeaningCheck(seed=options.seed)


def need_matplotlib() -> None:
    """Check that matplotlib is installed, before the work begins.

    Raises: UserError that says what to install.
    """
    if find_spec("matplotlib") is None:
        raise UserError("--memory-map needs matplotlib: pip install 'npu-dialect[plot]'")


def need_onnxruntime() -> None:
    """Check that onnxruntime is installed, before the work begins.

    Raises: UserError that says what to install.
    """
    if find_spec("onnxruntime") is None:
        raise UserError("--verify needs onnxruntime: pip install 'npu-dialect[verify]'")


if __name__ == "__main__":
    sys.exit(main())
