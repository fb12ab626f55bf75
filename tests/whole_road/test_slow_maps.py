"""Maps in slow memory whose tiles the core copies, from the model to C: on the host, on a board."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.emulated import require
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY, build
from helpers.onnx_models import chain
from helpers.paths import ROOT
from npu_passes.pipelines import DEFAULT, PIPELINES
from npu_tools.commands import compile as command
from npu_tools.compiling.check import MeaningCheck, random_inputs
from npu_tools.compiling.driver import Job, compile_model, prepare
from npu_tools.compiling.plan_check import PlanCheck
from npu_tools.importers.frontends import load
from npu_tools.reports.report import Report
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import run_on
from npu_tools.verifying.verify import verify

IN_PLACE = PIPELINES[DEFAULT].text.replace("npu-tile-slow-maps,", "")
"""The pipeline without copies of tiles."""

BOARD = """\
name = "board"
registers = 16
clock_hz = 1000000
macs_per_cycle = {{ f32 = 0.5, i8 = 0.5 }}
[[memory]]
name = "fast"
bytes = {fast}
read_bytes_per_cycle = 4
[[memory]]
name = "slow"
bytes = 4000000
read_bytes_per_cycle = 0.5
[[memory]]
name = "flash"
bytes = 4000000
read_bytes_per_cycle = 1
read_only = true
"""


def board(folder: Path, fast: int) -> str:
    """The file of a machine with `fast` bytes of fast memory."""
    path = folder / "board.toml"
    path.write_text(BOARD.format(fast=fast), encoding="utf-8")
    return str(path)


def time_of(report: Report) -> int:
    """The cycles of a run."""
    assert report.time is not None
    return int(report.time["cycles"])


def test_what_a_user_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each layer, with the shape of its first tile; it waits less for slow memory."""
    path = tmp_path / "net.onnx"
    path.write_bytes(chain().SerializeToString())
    reports: list[dict[str, Any]] = []
    for pipeline in (IN_PLACE, DEFAULT):
        options = ["--target", board(tmp_path, 300), "--pipeline", pipeline, "--json"]
        assert command.main([str(path), *options, "-o", str(tmp_path / "out")]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    plain, tiled = reports
    names = [[layer["name"] for layer in each["layers"]] for each in reports]
    assert names[0] == names[1]
    tiles = {layer["name"] for layer in tiled["layers"] if layer["tile"]}
    assert tiles
    assert not [layer for layer in plain["layers"] if layer["tile"]]
    before, after = (
        {row["name"]: row.get("memory_cycles", 0) for row in each["time"]["layers"]}
        for each in reports
    )
    assert all(after[name] < before[name] for name in tiles)
    assert all(after[name] == before[name] for name in before.keys() - tiles)


@pytest.mark.slow
def test_a_network(tmp_path: Path) -> None:
    """After each pass the meaning and the plan are checked, and the C against onnxruntime."""
    path = tmp_path / "net.onnx"
    path.write_bytes(build("resnet8", **TINY["resnet8"]).SerializeToString())
    whole = compile_model(Job(path, board(tmp_path, 4000000))).report.arena_bytes
    job = Job(path, board(tmp_path, whole // 4))
    checks = (MeaningCheck(random_inputs(load(path, {}).module, seed=1)), PlanCheck())
    done = compile_model(replace(job, observers=checks))
    assert any(layer.tile for layer in done.report.layers)
    assert verify(done, None, 1).close
    plain = compile_model(replace(job, pipeline=IN_PLACE))
    assert time_of(done.report) < time_of(plain.report)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "int8"])
def test_the_same_bits_on_a_board(kind: str, tmp_path: Path) -> None:
    """In place and in tiles: the outputs are equal, and copies take few instructions.

    The emulator counts instructions, and does not wait for memories.
    """
    require("mps3-an547")
    file = resources.files("npu_dialect.targets") / "mps3-an547.toml"
    text = file.read_text(encoding="utf-8")
    if kind == "int8":
        path = saved_int8(tmp_path, "resnet8", **TINY["resnet8"])
        job = Job(path, "mps3-an547", io="int8", requantize="fixed")
    else:
        path = tmp_path / "net.onnx"
        path.write_bytes(build("resnet8", **TINY["resnet8"]).SerializeToString())
        job = Job(path, "mps3-an547")
    size = compile_model(job).report.arena_bytes * 4 // 10
    text = text.replace("bytes = 524288 ", f"bytes = {size} ")
    (tmp_path / "board.toml").write_text(text, encoding="utf-8")
    job = replace(job, target=str(tmp_path / "board.toml"))
    module = load(path, {}).module
    prepare(module, job)
    (image,) = random_inputs(module, seed=3)
    found: list[tuple[Any, int, int]] = []
    for pipeline in (IN_PLACE, DEFAULT):
        done = compile_model(replace(job, pipeline=pipeline))
        assert [each.memory for each in done.report.arenas] == ["dtcm", "sram"]
        write_files(tmp_path, done.files)
        result = run_on(job.target, tmp_path / f"{done.name}.c", [{"image": image}])
        run = result.runs[0]
        found.append((run.outputs["output"], run.instructions, time_of(done.report)))
    (plain, counted, cycles), (tiled, more, fewer) = found
    np.testing.assert_array_equal(plain, tiled)
    assert more <= 1.02 * counted
    assert fewer < cycles


@pytest.mark.slow
def test_the_table(tmp_path: Path) -> None:
    """A row of docs/memory.md; the figures in tiles of both rows are in another table, too."""
    name, path = "squeezenet1_1", tmp_path / "net.onnx"
    path.write_bytes(build(name).SerializeToString())
    job = Job(path, "esp32s3", weights="bin")
    reports = [compile_model(replace(job, pipeline=each)).report for each in (IN_PLACE, DEFAULT)]
    layers = len({layer.name for layer in reports[1].layers if layer.tile})
    millions = (f"{time_of(each) / 1e6:,.2f}".replace(",", " ") for each in reports)
    page = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    assert f"| `{name}`, 224x224 | `esp32s3` | {' | '.join(millions)} | {layers} |" in page
    assert reports[0].arenas == reports[1].arenas
