"""Plans for Inception-V3 on the neural processor: the figures in int8, and the same in float32."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from helpers.networks.machines import KB, SRAM_BYTES, machine_file
from helpers.networks.zoo import build
from helpers.paths import ROOT
from npu_dialect import dram, sram
from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.spilling.reader import Reader
from npu_passes.spilling.spill_maps import needs_of
from npu_passes.spilling.tile_bytes import least_bytes
from npu_plans.spills.cheapest import cheapest
from npu_tools.commands.compile import main
from npu_tools.compiling.driver import (
    Job,
    compile_model,
    job_passes,
    run_passes,
    through_offsets,
)
from npu_tools.compiling.stops import Measurements
from npu_tools.importers.frontends import load
from npu_tools.reports.report import Report
from npu_tools.shared.collector import paused_collector

IMAGE_AND_SCORES = 3 * 299 * 299 + 1000
"""Elements that must cross the border of the chip, besides the weights."""


def saved(folder: Path, name: str) -> Path:
    """The file of a network without biases."""
    path = folder / f"{name}.onnx"
    path.write_bytes(build(name, bias=False).SerializeToString())
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("networks"), "inception_v3")


def report_of(model: Path, folder: Path, sram_bytes: int) -> dict[str, Any]:
    """report.json of npu-compile for int8, with the default pipeline."""
    target = machine_file(folder, sram_bytes)
    assert main([str(model), "--target", target, "--plan-as", "i8", "-o", str(folder / "out")]) == 0
    return json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))


def maps_moved(traffic: dict[str, int]) -> int:
    return traffic["feature_map_read_bytes"] + traffic["feature_map_write_bytes"]


@pytest.mark.slow
@pytest.mark.parametrize("sram_bytes", [SRAM_BYTES, 819 * KB])
def test_only_image_and_scores_and_weights_cross_the_border(
    model: Path, tmp_path: Path, sram_bytes: int
) -> None:
    report = report_of(model, tmp_path, sram_bytes)
    moved, naive = report["off_chip"], report["naive"]
    assert report["arena_bytes"] <= sram_bytes
    assert len(report["modules"]) == 11
    for module in report["modules"]:
        counts = {key: count for key, count in module["off_chip"].items() if "weight" not in key}
        assert counts == dict.fromkeys(counts, 0), module["name"]
    weights = moved["weight_bytes"]
    assert weights == report["weights_bytes"]  # each crosses once
    assert round(weights / KB, 1) == 23241.3
    assert maps_moved(moved) == IMAGE_AND_SCORES <= 265 * KB
    assert (moved["feature_map_reads"], moved["feature_map_writes"]) == (1, 1)
    assert (weights + maps_moved(moved)) / (naive["weight_bytes"] + maps_moved(naive)) <= 0.406


class Plan(NamedTuple):
    """A planned program: layers on buffers at their offsets, with transfers."""

    module: ModuleOp
    report: Report
    width: int
    """Bytes of an element."""

    def places(self) -> list[tuple[str, int]]:
        """The shape and strides of each buffer, and its offset in elements."""
        allocs = [op for op in self.module.walk() if isinstance(op, sram.AllocOp | dram.AllocOp)]
        return [(self.kind(op.results[0].type), self.offset(op)) for op in allocs]

    def kind(self, kind: Attribute) -> str:
        """The text of a type without its element type."""
        return re.sub(r"\b(.*x)?(f32|i8)\b", r"\1element", str(kind), count=1)

    def offset(self, op: sram.AllocOp | dram.AllocOp) -> int:
        """The offset of a buffer, in elements."""
        assert op.offset is not None
        elements, rest = divmod(op.offset.value.data, self.width)
        assert rest == 0
        return elements

    def steps(self) -> list[tuple[str, ...]]:
        """Buffers, transfers, layers, and the loops around these, in the order of the program.

        How rows are moved inside of a window depends on the type: bytes are copied by words.
        """
        return [self.step(op) for op in self.module.walk() if any(map(is_planned, op.walk()))]

    def step(self, op: Operation) -> tuple[str, ...]:
        """The op as a tuple: its name, types and layer, and the bounds of a loop."""
        values = [*op.operands, *op.results]
        kinds = [self.kind(value.type) for value in values]
        bounds = [value.owner for value in values if isinstance(value.owner, arith.ConstantOp)]
        numbers = [str(each.value) for each in bounds if isinstance(each.value.type, IndexType)]
        return (op.name, str(op.attributes.get("npu.layer")), *numbers, *kinds)

    def traffic(self) -> dict[str, dict[str, int]]:
        """The traffic of each module and of the whole network, in elements and accesses."""
        parts = {**self.report.module_traffic, "": self.report.off_chip}
        return {name: self.in_elements(asdict(moved)) for name, moved in parts.items()}

    def in_elements(self, counts: dict[str, int]) -> dict[str, int]:
        """The counters with bytes converted to elements."""
        scale = {key: self.width if key.endswith("_bytes") else 1 for key in counts}
        assert not any(count % scale[key] for key, count in counts.items())
        return {key: count // scale[key] for key, count in counts.items()}


def is_planned(op: Operation) -> bool:
    """Whether an op is a buffer, a transfer or a layer."""
    return op.name.partition(".")[0] in ("npu", "dma", "sram", "dram")


def planned(model: Path, target: str, element: str | None) -> Plan:
    """The plan for a machine, with another element type if `element` is given."""
    machine = Machine.load(target)
    passes = through_offsets(job_passes(Job(model, target, plan_as=element), machine))
    measurements = Measurements(model.name)
    with paused_collector():
        module = load(model, {}).module
        TARGET.set(module, TargetAttr.of(machine))
        run_passes(module, passes, (measurements,))
    assert measurements.report is not None
    return Plan(module, measurements.report, 1 if element == "i8" else 4)


@pytest.mark.parametrize(
    ("name", "count"),
    [("inception_small", 10), pytest.param("inception_v3", 100, marks=pytest.mark.slow)],
)
def test_int8_in_1024_and_float32_in_4096_kilobytes_have_the_same_plan(
    name: str, count: int, tmp_path: Path
) -> None:
    model = saved(tmp_path, name)
    small = planned(model, machine_file(tmp_path, SRAM_BYTES), "i8")
    large = planned(model, machine_file(tmp_path, 4 * SRAM_BYTES, times=4), None)
    assert large.report.arena_bytes == 4 * small.report.arena_bytes
    assert large.traffic() == small.traffic()
    layers = [(each.name, each.op, each.shape, each.tile) for each in small.report.layers]
    assert layers == [(each.name, each.op, each.shape, each.tile) for each in large.report.layers]
    assert len(layers) > count
    assert large.places() == small.places()
    assert large.steps() == small.steps()


@pytest.mark.slow
def test_the_table_in_docs_is_what_the_bench_prints() -> None:
    page = (ROOT / "docs" / "off-chip.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| [\w:]+ \| [\d.]+ ", line)]
    command = page[page.index("python bench/off_chip.py") :].partition("\n\n")[0]
    assert len(rows) == 19
    done = subprocess.run(
        [sys.executable, *command.replace("\\", " ").split()[1:]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,  # fails if our plan moves more than the paper's
    )
    assert done.stdout.splitlines()[2:] == rows


@pytest.mark.slow
def test_cells_that_need_the_whole_chip(tmp_path: Path) -> None:
    """docs/off-chip.md says what nasnet_a moves at 64x64, where no plan leaves a gap."""
    path = tmp_path / "cells.onnx"
    model = build("nasnet_a", bias=False, size=(64, 64))
    path.write_bytes(model.SerializeToString())
    moved = report_of(path, tmp_path, SRAM_BYTES)["off_chip"]
    assert maps_moved(moved) == 1676 * KB + 10
    page = (ROOT / "docs" / "off-chip.md").read_text(encoding="utf-8")
    assert "1676 KB of maps" in page


@pytest.mark.slow
def test_cells_with_little_room(tmp_path: Path) -> None:
    """All bytes are taken where two layers share tiles, and one of them writes a first slice."""
    path = tmp_path / "cells.onnx"
    path.write_bytes(build("nasnet_a").SerializeToString())
    assert maps_moved(report_of(path, tmp_path, 160 * KB)["off_chip"]) < 1700 * KB


@pytest.mark.slow
def test_the_bound_of_cells_that_need_the_whole_chip(tmp_path: Path) -> None:
    """docs/off-chip.md says which maps would have to leave if only sums of live bytes counted."""
    path, target = tmp_path / "cells.onnx", machine_file(tmp_path, SRAM_BYTES)
    path.write_bytes(build("nasnet_a", bias=False, size=(64, 64)).SerializeToString())
    machine, found = Machine.load(target), list[tuple[int, int]]()

    def see(name: str, module: ModuleOp) -> None:
        if name != "npu-concat-in-place":
            return
        (function,) = (op for op in module.ops if isinstance(op, FuncOp))
        needs = needs_of(least_bytes, machine)
        problem = Reader.of(function).read(needs, machine.alignment).problem
        chosen = cheapest(problem, machine.sram_bytes, frozenset())
        assert chosen is not None
        found.append((len(chosen), problem.cost(chosen)))

    compile_model(Job(path, target, plan_as="i8", observers=(see,)))
    assert found == [(4, 2176 * KB)]
    page = (ROOT / "docs" / "off-chip.md").read_text(encoding="utf-8")
    assert "moves 2176 KB" in page
