"""The compiler driver: from a model's file to the text of the C files, in one process.

    import -> npu.target -> the passes of the pipeline (among them npu-plan-as) -> C

After each pass the module is verified, and observers read it: the IR dump, the measurements for
report.json, and on request a check that its results stay the same. Only the IR dump writes files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import ArgSpec

from npu_dialect.arenas import arena_bytes
from npu_dialect.attributes import TARGET
from npu_dialect.contract import PROGRAM_OP, check_attributes
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_dialect.walking import walk
from npu_passes.emit.c.names import identifier
from npu_passes.pipelines import DEFAULT, PIPELINES, pipeline_for
from npu_passes.support.refuse import RefusingPass
from npu_tools.compiling.c_files import LONGEST_PREFIX, emit, is_name
from npu_tools.compiling.clocked import Clocked, clocked_program, marked
from npu_tools.compiling.kept import KEEP, keeping, with_kept
from npu_tools.compiling.pass_text import build_pass, pass_specs, with_value
from npu_tools.compiling.predicted import measuring_zeros
from npu_tools.compiling.resuming import has_offsets, remaining
from npu_tools.compiling.stops import (
    ASSIGN_OFFSETS,
    DECIDE,
    SPLIT_TRANSFERS,
    IrDump,
    Measurements,
    Observer,
)
from npu_tools.compiling.stores import stored_together
from npu_tools.compiling.verified import Verifier
from npu_tools.importers.frontends import load
from npu_tools.reports.instruction_report import instructions_of
from npu_tools.reports.report import Report, parameter_bytes, planned_function, report_of
from npu_tools.reports.stored_report import stored_in
from npu_tools.shared.collector import paused_collector
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import available_passes, context
from npu_tools.shared.progress import PassProgress

if TYPE_CHECKING:
    from onnx import ModelProto

    from npu_passes.graph.use_flash import Flash

ON_CONSTANTS = (
    "npu-split-conv-transpose",
    "npu-fold-picks",
    "npu-fuse-normalizations",
    "npu-fold-batch-norm",
)
"""Passes that need the values of constants."""
FUSE = "npu-fuse-conv-relu-pool"
BUFFERIZE = "npu-bufferize"
FUSE_REGIONS = "npu-fuse-regions"
PLACE_WEIGHTS = "npu-place-weights"
PLAN_AS = "npu-plan-as"
STREAM_INPUT, SPLIT_STREAM = "npu-stream-input", "npu-split-stream"
ASSIGN_MEMORIES = "npu-assign-memories"
TILE_LOOPS = "npu-tile-loops"
TILE_SLOW_MAPS = "npu-tile-slow-maps"
COMPRESS = "npu-compress-spills"
MEASURE = "npu-measure-zero-blocks"
BLOCK_SIZE = ("block-size", "block_size")
"""The option that both have, in its two spellings."""

LARGEST_ARRAYS = 64 * 2**20
"""Most bytes of weights that become C arrays with `--weights=auto`. 64 MiB of weights are some
200 MB of text, for which gcc needs a minute and gigabytes of memory."""


@dataclass(frozen=True)
class Job:
    """What one run of npu-compile has to do; the fields are the options of the command."""

    model: Path
    target: str
    prefix: str | None = None
    pipeline: str = DEFAULT
    overlap: str | None = None
    strategy: str | None = None
    weights: Literal["auto", "c", "bin"] = "auto"
    weights_in_sram: int | None = None
    keep_constants: bool = False
    """Whether constants that are read often get copies in memories, made once."""
    calibrate: Path | None = None
    plan_as: str | None = None
    io: Literal["model", "int8"] = "model"
    requantize: Literal["float", "fixed"] | None = None
    flash: Flash | None = None
    flash_bytes: int | None = None
    """The most bytes of constants; the machine's flash if there is no such limit."""
    keep_state: tuple[str, ...] = ()
    """What becomes state between runs: `INPUT=OUTPUT`, or names of recurrent nodes."""
    stream_input: bool = False
    """Whether the rows of the input arrive one at a time."""
    input_dims: Mapping[str, int] = field(default_factory=dict[str, int])
    functions: Path | None = None
    """A table of further operators."""
    dump_ir: Path | None = None
    clock: bool = False
    """Whether to print the C of a program with transfers a second time, for the virtual clock."""
    instructions: bool = False
    """Whether to predict the instructions of the C program, if the costs of the core are known."""
    objective: Literal["bytes", "time"] | None = None
    """What tiles are chosen by: the bytes that they move, or the time of their layer."""
    jobs: int = 1
    """How many layers are searched for tiles at the same time. Results do not depend on it."""
    observers: tuple[Observer, ...] = ()
    machine: Machine | None = None
    """The machine, if it is not that of `target`: one with more SRAM, say."""

    @property
    def name(self) -> str:
        """The C identifier that all names start with: the prefix, or one from the file's name.

        Raises: UserError if the prefix is no C identifier, is a keyword or a standard header's
        name, or is longer than `LONGEST_PREFIX`.
        """
        if self.prefix is None:
            name = identifier(self.model.stem, "model")
            return name if is_name(name) else f"{name}_model"
        if not is_name(self.prefix):
            raise UserError(
                f"--prefix {self.prefix}: expected a C identifier that is no keyword and no name "
                f"of a standard header, of at most {LONGEST_PREFIX} characters"
            )
        return self.prefix


@dataclass(frozen=True)
class Compiled:
    """The result of a job: measurements and the files of the C program, by name.

    There are no files if the job only plans memory. `source` is the model in a form that
    onnxruntime can run, or for MLIR text the module as it was read. `clocked` is the program on the
    virtual clock, if the job asks for it.
    """

    name: str
    report: Report
    files: Mapping[str, str | bytes]
    source: ModelProto | ModuleOp
    clocked: Clocked | None = None
    exact: bool = True
    """Whether integers change scales as in the model. False with `--requantize=fixed`, which uses
    integer multipliers and shifts."""

    @property
    def reference(self) -> ModelProto:
        """The model for onnxruntime; a network from MLIR text has none."""
        assert not isinstance(self.source, ModuleOp)
        return self.source


def compile_model(job: Job) -> Compiled:
    """Compile a model.

    Raises: UserError for a wrong option, model or pipeline; MachineError for a wrong machine file;
    DiagnosticException from a pass; OSError if a file cannot be read or written.
    """
    with paused_collector():
        return take_the_road(job)


def take_the_road(job: Job) -> Compiled:
    """Import the model, run the passes, measure, emit C. Raises as `compile_model`."""
    name, machine = job.name, job.machine or Machine.load(job.target)
    whole = job_passes(job, machine)
    loaded = load(job.model, job.input_dims, job.functions)
    module = loaded.module
    passes = remaining(whole, module)
    check_options(job, whole, passes)
    only_plans = job.plan_as is not None or loaded.is_elided
    if only_plans:
        passes = through_offsets(passes)
    TARGET.set(module, TargetAttr.of(machine))
    prepare(module, job)
    reference = module.clone() if loaded.model is None else loaded.model
    names = tuple(each.name for each in passes)
    measurements = Measurements.of(job.model.name, names)
    dump = () if job.dump_ir is None else (IrDump(job.dump_ir),)
    baselines = baseline_bytes(module, job) if len(passes) == len(whole) else {}
    progress = PassProgress(names)
    looking = (progress.ended, *dump, measurements, *job.observers, progress.begins)
    try:
        run_passes(module, tuple(map(telling, passes)), looking)
    finally:
        progress.line.clear()
    report = measurements.report or report_of(module)  # raises: nothing was planned
    report = replace(report, stored_bytes=parameter_bytes(module))
    check_flash(report, machine, job.flash_bytes)
    report = replace(report, stored_constants=tuple(stored_in(module, machine)))
    report = with_kept(replace(report, memory=replace(report.memory, **baselines)), module)
    has_microcode = any(op.name == PROGRAM_OP for op in walk(module))
    if has_microcode:
        from npu_tools.reports.microcode_report import microcode_of

        report = replace(report, microcode=microcode_of(module))
    where, prints = place_of_weights(job, report), not only_plans and has_offsets(module)
    clocked = clocked_program(module, name, where, machine) if prints and job.clock else None
    files = emit(module, name, where, has_microcode) if prints else {}
    if files and job.instructions:
        report = replace(report, instructions=instructions_of(module))
    report = replace(report, elided_weights=loaded.is_elided)
    return Compiled(name, report, files, reference, clocked, job.requantize != "fixed")


def check_options(job: Job, whole: Sequence[ModulePass], passes: Sequence[ModulePass]) -> None:
    """Check that text from the middle of the road leaves the passes that options are for.

    `whole` is the pipeline, `passes` what is left of it.

    Raises: UserError for an option whose pass has run.
    """
    names = {each.name for each in passes}
    needed = {
        "--overlap": FUSE if job.overlap is not None else None,
        "--strategy": ASSIGN_OFFSETS if job.strategy is not None else None,
        "--weights-in-sram": PLACE_WEIGHTS if job.weights_in_sram is not None else None,
        "--keep-constants": KEEP if job.keep_constants else None,
        "--calibrate": MEASURE if job.calibrate is not None else None,
        "--plan-as": PLAN_AS if job.plan_as is not None else None,
        "--stream-input": STREAM_INPUT if job.stream_input else None,
    }
    early = {"--io": job.io != "model", "--keep-state": bool(job.keep_state)}
    wrong = [name for name, each in needed.items() if each is not None and each not in names]
    if len(passes) < len(whole):
        wrong += [name for name, given in early.items() if given]
    if wrong:
        raise UserError(f"{job.model}: its maps are buffers already: expected no {wrong[0]}")


def telling(each: ModulePass) -> ModulePass:
    """`npu-tile-loops` as a pass that shows its progress; any other pass as it is."""
    if each.name != TILE_LOOPS:
        return each
    from npu_tools.shared.tile_progress import telling_tiles  # few programs have tiles

    return telling_tiles(each)


def prepare(module: ModuleOp, job: Job) -> None:
    """Apply the options that change what the network computes.

    This happens before the first observer runs, so `--check-passes` compares with the result.
    """
    if job.io == "int8":
        from npu_passes.graph.integer_io import IntegerIoPass

        IntegerIoPass().apply(context(), module)
    if job.keep_state:
        from npu_passes.graph.keep_state import KeepStatePass

        KeepStatePass(job.keep_state).apply(context(), module)
    if job.requantize is not None:
        from npu_passes.graph.requantize_mode import RequantizeModePass

        RequantizeModePass(job.requantize).apply(context(), module)
    if job.flash is not None or job.flash_bytes is not None:
        from npu_passes.graph.use_flash import UseFlashPass

        UseFlashPass(job.flash, job.flash_bytes).apply(context(), module)


def check_flash(report: Report, machine: Machine, limit: int | None) -> None:
    """Check that the weights fit into the machine's flash, and into a limit of bytes.

    Raises: UserError if they do not; it names the bytes that are needed and available.
    """
    needed = max(report.weights_bytes, report.stored_bytes or 0)
    if limit is not None and needed > limit <= machine.flash_bytes:
        raise UserError(
            f"{report.model}: {needed} bytes of flash needed for the constants, {limit} allowed: "
            "expected a larger --flash-bytes, or --flash small"
        )
    if needed > machine.flash_bytes:
        raise UserError(
            f"{report.model}: {needed} bytes of flash needed for the weights, "
            f"{machine.flash_bytes} available on {machine.name}"
        )


def place_of_weights(job: Job, report: Report) -> Literal["c", "bin"]:
    """Where the weights go: `c` for C arrays, `bin` for a file.

    With `--weights=auto` it is a file if they have more than `LARGEST_ARRAYS` bytes, unless several
    read-only memories hold them.
    """
    if job.weights != "auto":
        return job.weights
    if report.stored_constants:
        return "c"
    return "bin" if report.weights_bytes > LARGEST_ARRAYS else "c"


def job_passes(job: Job, machine: Machine) -> tuple[ModulePass, ...]:
    """The passes of a job: its pipeline, changed by the options of the command line.

    Raises: UserError for a wrong pipeline text, or if the pipeline lacks the pass that an option
    is for.
    """
    available = available_passes()
    specs = list(pass_specs(available, pipeline_for(job.pipeline, machine)))
    if job.overlap is not None:
        specs = with_option(specs, FUSE, "overlap", job.overlap)
    if job.strategy is not None:
        specs = with_strategy(specs, job.strategy)
    if any(spec.name == TILE_LOOPS for spec in specs):
        specs = with_option(specs, TILE_LOOPS, "jobs", job.jobs)
    if job.objective is not None:
        specs = with_option(specs, TILE_LOOPS, "minimize", job.objective)
    if job.weights_in_sram is not None:
        place = index_of(specs, BUFFERIZE) + 1
        specs.insert(place, ArgSpec(PLACE_WEIGHTS, {"bytes": (job.weights_in_sram,)}))
    if job.calibrate is not None:
        given = specs[index_of(specs, COMPRESS)].parameters
        sizes = {key: value for key, value in given.items() if key in BLOCK_SIZE}
        data = ArgSpec(MEASURE, {**sizes, "data": (str(job.calibrate),)})
        specs.insert(index_of(specs, BUFFERIZE), data)
    if job.stream_input:
        specs = streamed(specs)
    specs = stored_together(specs, machine, job.weights)
    specs = keeping(specs, machine) if job.keep_constants else specs
    specs = marked(specs) if job.clock and machine.dma_channels else specs
    specs = measuring_zeros(specs) if job.instructions else specs
    if job.plan_as is not None:
        specs = planned_as(specs, job.plan_as)
    passes = tuple(build_pass(available[spec.name](), spec) for spec in specs)
    return through_offsets(passes) if job.plan_as else passes


def with_strategy(specs: Sequence[ArgSpec], strategy: str) -> list[ArgSpec]:
    """The pipeline with a strategy of the offsets, and what other passes have to know about it."""
    found = with_option(list(specs), ASSIGN_OFFSETS, "strategy", strategy)
    sharing = {
        ASSIGN_MEMORIES: strategy != "none",
        TILE_SLOW_MAPS: strategy not in ("none", "ping-pong"),
    }
    for name, shares in sharing.items():
        found = with_value(found, name, "sharing", shares)
    return found


def streamed(specs: Sequence[ArgSpec]) -> list[ArgSpec]:
    """The pipeline for an input whose rows arrive one at a time.

    If it makes no regions of layers that run row by row, it gets one that reads the input.

    Raises: UserError if the pipeline has no `npu-bufferize`.
    """
    found, place = [*specs, ArgSpec(SPLIT_STREAM, {})], index_of(specs, BUFFERIZE)
    if not any(spec.name == FUSE_REGIONS for spec in specs):
        found.insert(place, ArgSpec(FUSE_REGIONS, {"when": ("input",)}))
    found.insert(behind_constants(specs), ArgSpec(STREAM_INPUT, {}))
    return found


def behind_constants(specs: Sequence[ArgSpec]) -> int:
    """The place behind the passes of `ON_CONSTANTS` at the start of a pipeline."""
    others = (place for place, spec in enumerate(specs) if spec.name not in ON_CONSTANTS)
    return next(others, len(specs))


def planned_as(specs: Sequence[ArgSpec], element: str) -> list[ArgSpec]:
    """The pipeline with `npu-plan-as{type=...}` as its first pass.

    Passes of `ON_CONSTANTS` at the start stay in front, as `npu-plan-as` drops the values.
    """
    place = behind_constants(specs)
    return [*specs[:place], ArgSpec(PLAN_AS, {"type": (element,)}), *specs[place:]]


def index_of(specs: Sequence[ArgSpec], name: str) -> int:
    """The index of the first pass of a name in a pipeline.

    Raises: UserError if there is none.
    """
    for index, spec in enumerate(specs):
        if spec.name == name:
            return index
    raise UserError(f"pass pipeline: expected {name} for the options that were given")


def with_option(specs: list[ArgSpec], name: str, option: str, value: str | int) -> list[ArgSpec]:
    """The pipeline with one option set on each pass of a name.

    Raises: UserError if there is no such pass.
    """
    index_of(specs, name)
    return with_value(specs, name, option, value)


def through_offsets(passes: Sequence[ModulePass]) -> tuple[ModulePass, ...]:
    """The passes up to the last one that decides SRAM offsets, or transfers; all if none does."""
    ends = [end for end, each in enumerate(passes, 1) if each.name in (*DECIDE, SPLIT_TRANSFERS)]
    return tuple(passes[: max(ends, default=len(passes))])


def run_passes(
    module: ModuleOp, passes: Sequence[ModulePass], observers: Sequence[Observer]
) -> None:
    """Run passes. Before the first and after each of them, verify and then call the observers.

    There is nothing to verify after a pass that only reads, nor in functions that a pass has left
    as they were.

    Raises: VerifyException for IR that is wrong; what passes and observers raise.
    """
    verifier = Verifier()

    def after(previous: ModulePass | None, module: ModuleOp, _: ModulePass | None) -> None:
        if not (isinstance(previous, RefusingPass) and previous.ONLY_READS):
            check_attributes(module, right=verifier.verify(module))
        for observer in observers:
            observer(previous.name if previous else "import", module)

    PassPipeline(tuple(passes), after).apply(context(), module)


def baseline_bytes(module: ModuleOp, job: Job) -> dict[str, int | None]:
    """The arena in bytes if every map has its own place: without fusion and with fusion.

    The pipelines `naive` and `fused` run on clones of the module. The clones have no machine, so an
    arena that is too large is a number here and not an error.
    """
    found: dict[str, int | None] = {}
    available = available_passes()
    for key, pipeline in (("naive_bytes", "naive"), ("fused_bytes", "fused")):
        specs = list(pass_specs(available, PIPELINES[pipeline].text))
        if job.plan_as:
            specs = planned_as(specs, job.plan_as)
        passes = through_offsets([build_pass(available[spec.name](), spec) for spec in specs])
        clone = module.clone()
        TARGET.drop(clone)
        PassPipeline(passes).apply(context(), clone)
        function = planned_function(clone)
        found[key] = arena_bytes(function) if function else None
    return found
