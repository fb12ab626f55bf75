"""The memory of networks: the tables of docs/memory.md are what npu-compile prints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from helpers.c_harness import run_c
from helpers.networks.int8 import NAMES, saved_int8
from helpers.networks.zoo import TINY, build, image, run
from helpers.paths import ROOT
from helpers.road import c_files
from npu_dialect.attributes import ARENA, TARGET
from npu_dialect.machine import Machine
from npu_dialect.module_attributes import PEAK, PEAK_BOUND
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.target import TargetAttr
from npu_passes.analysis.lifetimes import lifetimes_of
from npu_passes.buffers.spaces import Spaces
from npu_passes.modules.layer_reader import read_layers
from npu_passes.pipelines import FREE_REGIONS, ORDER, PIPELINES
from npu_tools.compiling.driver import (
    Job,
    compile_model,
    job_passes,
    prepare,
    run_passes,
    through_offsets,
)
from npu_tools.importers.frontends import load

PAGE = ROOT / "docs" / "memory.md"
SMALLEST = "LeNet-5 of paper 002"
DEFAULT = PIPELINES["default"].text
WHOLE_LAYERS = DEFAULT.replace(f"{FREE_REGIONS},", "")
IN_FILE_ORDER = WHOLE_LAYERS.replace(f"{ORDER},", "")
OVERLAYS = (
    f"{FREE_REGIONS},",
    "{rows=true}",
    ",npu-reorder-inputs",
    "npu-overlay-maps,",
    "npu-turn-layers,",
    ",npu-check-overlays",
)
"""What `default` adds to a pipeline whose layers write beside their inputs."""


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of the page, without its two first lines."""
    text = PAGE.read_text(encoding="utf-8")
    lines = text[text.index(heading) :].splitlines()[1:]
    table = [line for line in lines[: end_of(lines)] if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def end_of(lines: list[str]) -> int:
    """The line of the next heading."""
    ends = (place for place, line in enumerate(lines) if line.startswith("#"))
    return next(ends, len(lines))


def number(cell: str) -> int:
    return int(re.sub(r"[^\d]", "", cell))


def saved(folder: Path, name: str) -> Path:
    """The file of a network; `randwire 1` has seed 1."""
    name, _, seed = name.partition(" ")
    path = folder / f"{name}{seed}.onnx"
    path.write_bytes(build(name, bias=False, seed=int(seed or 0)).SerializeToString())
    return path


class Measured(NamedTuple):
    """The bytes of arena of a network, and all that `npu-order-layers` has noted."""

    arena: int
    notes: set[tuple[int | None, int | None]]


def measured(model: Path, pipeline: str) -> Measured:
    """Compile as npu-compile does, for int8 maps."""
    notes: set[tuple[int | None, int | None]] = set()

    def note(_: str, module: ModuleOp) -> None:
        notes.add(order_of(function(module)))

    job = Job(model, "host", pipeline=pipeline, plan_as="i8", observers=(note,))
    return Measured(compile_model(job).report.memory.arena_bytes, notes)


def order_of(network: func.FuncOp) -> tuple[int | None, int | None]:
    """What `npu-order-layers` has noted: peak and bound; nothing if it has changed nothing."""
    return PEAK.get(network), PEAK_BOUND.get(network)


def function(module: ModuleOp) -> func.FuncOp:
    """The network's function."""
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


def planned(job: Job) -> int:
    """The bytes of arena after the passes up to the offsets."""
    machine = Machine.load(job.target)
    passes = through_offsets(job_passes(job, machine))
    module = load(job.model, {}).module
    TARGET.set(module, TargetAttr.of(machine))
    prepare(module, job)
    run_passes(module, passes, ())
    return ARENA.get(function(module)) or 0


def side_by_side() -> str:
    """The pipeline `default` with outputs beside their inputs."""
    pipeline = DEFAULT
    for part in OVERLAYS:
        assert part in pipeline
        pipeline = pipeline.replace(part, "")
    return pipeline


@pytest.mark.slow
def test_the_overlays_of_the_table(tmp_path: Path) -> None:
    """The arena with outputs beside their inputs, and with outputs over them."""
    rows = [row for row in rows_of("## Outputs over inputs") if len(row) == 4]
    assert len(rows) == 4
    for name, before, after, change in rows:
        name = name.strip("`")
        model = ROOT / "examples" / "lenet5" / "lenet5.onnx"
        model = model if name == "lenet5" else saved(tmp_path, name)
        pipelines = side_by_side(), DEFAULT
        arenas = tuple(planned(Job(model, "host", pipeline=each)) for each in pipelines)
        assert arenas == (number(before), number(after)), name
        assert change == f"{100 * arenas[1] / arenas[0] - 100:.0f} %".replace("-0", "0"), name


@pytest.mark.slow
def test_the_streamed_inputs_of_the_table(tmp_path: Path) -> None:
    """The arena with the whole input, and with the rows of it that are still needed."""
    rows = [row for row in rows_of("## Input that arrives in rows") if len(row) == 3][2:]
    assert len(rows) == 4
    for name, whole, streamed in rows:
        model = ROOT / "examples" / "lenet5" / "lenet5.onnx"
        model = model if name == "`lenet5`" else saved(tmp_path, name.strip("`"))
        job = Job(model, "host", pipeline="rows")
        jobs = job, replace(job, stream_input=True)
        assert [planned(each) for each in jobs] == [number(whole), number(streamed)], name


def int8_cells(heading: str, name: str) -> list[str]:
    """The cells behind a name in the first table below a heading that has it; none without one."""
    return next((row[1:] for row in rows_of(heading) if row[0] == name), list[str]())


@pytest.mark.parametrize(
    "name",
    [NAME if NAME == SMALLEST else pytest.param(NAME, marks=pytest.mark.slow) for NAME in NAMES],
)
def test_the_int8_networks_of_the_tables(name: str, tmp_path: Path) -> None:
    """The arena on the Cortex-M4: side by side, `default`, `rows`, and with streamed inputs."""
    network, options = NAMES[name]
    model = saved_int8(tmp_path, network, **options)
    job = Job(model, "cortex-m4", io="int8")
    overlays = int8_cells("## Outputs over inputs", name)
    default = planned(job)
    assert [planned(replace(job, pipeline=side_by_side())), default] == [*map(number, overlays)]
    rows = int8_cells("## Rows through sums", name)
    assert [default, planned(replace(job, pipeline="rows"))] == [*map(number, rows[:2])]
    streamed = int8_cells("## Input that arrives in rows", name)
    if not streamed:
        return
    jobs = [replace(job, pipeline=each, stream_input=True) for each in ("default", "rows")]
    arenas = [compile_model(each).report.arena_bytes for each in jobs]
    assert [default, *arenas] == [number(streamed[place]) for place in (0, 1, 3)]


@pytest.mark.slow
def test_the_orders_of_the_table(tmp_path: Path) -> None:
    """The arena in the order of the file, in the best one, and with rows; the search's bound."""
    rows = rows_of("## The order of layers")
    assert len(rows) == 6
    for name, before, after, change, peak, bound, by_rows in rows:
        model = saved(tmp_path, name.strip("`"))
        best = measured(model, WHOLE_LAYERS)
        assert measured(model, "default").arena == number(by_rows), name
        arenas = measured(model, IN_FILE_ORDER).arena, best.arena
        assert arenas == (number(before), number(after)), name
        assert change == f"{100 * arenas[1] / arenas[0] - 100:.0f} %", name
        noted = (None, None) if peak == "-" else (number(peak), number(bound))
        assert best.notes == {(None, None), noted}, name


@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("inception_small", None),
        ("inception_small", "i8"),
        pytest.param("darts", None, marks=pytest.mark.slow),
        pytest.param("nasnet_a", "i8", marks=pytest.mark.slow),
        pytest.param("randwire", "i8", marks=pytest.mark.slow),
    ],
)
def test_the_peak_is_that_of_the_buffers(name: str, element: str | None, tmp_path: Path) -> None:
    """What the search counts on tensors is what the buffers need at least, before and after it.

    A part of a concatenation of bytes takes all of it here, and a few bytes less there.
    """
    path = tmp_path / "net.onnx"
    path.write_bytes(build(name, **TINY[name]).SerializeToString())
    machine = Machine.load("host")
    for pipeline in (IN_FILE_ORDER, WHOLE_LAYERS):
        passes = through_offsets(
            job_passes(Job(path, "host", pipeline=pipeline, plan_as=element), machine)
        )
        module = load(path, {}).module
        TARGET.set(module, TargetAttr.of(machine))
        names = [each.name for each in passes]
        place, end = (names.index(name) for name in ("npu-bufferize", "npu-overlay-maps"))
        run_passes(module, passes[:place], ())
        program = read_layers(function(module), Spaces.of_module(module))
        assert program is not None
        peak = program.graph.peak(range(len(program.units)))
        assert order_of(function(module))[0] in (None, peak)
        run_passes(module, passes[place:end], ())
        floor = lifetimes_of(function(module), SramSpace()).floor
        assert floor == peak if element is None else 0.98 * peak <= floor <= peak


def test_one_map_of_several_that_may_not_be_overwritten(tmp_path: Path) -> None:
    """The best order of DARTS keeps the parts of concatenations from one of three maps only."""
    machine = Machine.load("host")
    job = Job(saved(tmp_path, "darts"), "host", pipeline=WHOLE_LAYERS, plan_as="i8")
    passes = job_passes(job, machine)
    names = [each.name for each in passes]
    module = load(job.model, {}).module
    TARGET.set(module, TargetAttr.of(machine))
    prepare(module, job)
    run_passes(module, passes[: names.index("npu-order-layers") + 1], ())
    assert order_of(function(module)) == (163840, 114688)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["inception_small", "darts"])
def test_the_new_order_computes_the_same(name: str, tmp_path: Path) -> None:
    model = build(name, **{**TINY[name], "width": 1 / 8})
    source = image(model, 1)
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    notes: set[tuple[int | None, int | None]] = set()

    def note(_: str, module: ModuleOp) -> None:
        notes.add(order_of(function(module)))

    compiled = compile_model(Job(path, "host", observers=(note,)))
    assert len(notes) == 2
    (wanted,) = run(model, source)
    (got,) = run_c(c_files(compiled), "net", [source], [wanted.shape])
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "pipeline"),
    [
        ("resnet18", "rows"),
        ("resnet18", "default"),
        ("mobilenet_v2", "rows"),
        ("squeezenet1_1", "default"),
        ("darts", "rows"),
    ],
)
def test_rows_of_floats_compute_the_same(name: str, pipeline: str, tmp_path: Path) -> None:
    """With rings and results over inputs, in C, in an arena of the planned bytes."""
    model = build(name, **TINY[name])
    source = image(model, 1)
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    compiled = compile_model(Job(path, "host", pipeline=pipeline))
    (wanted,) = run(model, source)
    (got,) = run_c(c_files(compiled), "net", [source], [wanted.shape])
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
