"""All 132 cells of Table 1 of paper 001 (Kim et al.), and variations of its conventions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from helpers.networks.zoo import build
from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.module_attributes import PASSES, PEAK, PEAK_BOUND
from npu_dialect.target import TargetAttr
from npu_passes.modules.module_reader import modules_of, name_of
from npu_plans.modules.traffic import total
from npu_tools.commands.compile import main
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.compiling.remarks import remarks
from npu_tools.importers.frontends import load
from npu_tools.reports.module_report import ModulesReport, analyze_modules
from npu_tools.reports.module_table import kilobytes, rows
from npu_tools.shared.collector import paused_collector
from npu_tools.shared.installed import available_passes, context

PRINTED = """
inception_a1 249 2308.5 2557.5 0 249 9.74 0.00 8 8 0 0
inception_a2 270 2835 3105 0 270 8.70 0.00 8 8 0 0
inception_a3 277.5 3078 3355.5 0 277.5 8.27 0.00 8 8 0 0
reduction_a 1125 1798.5 2923.5 300 1425 48.74 16.68 5 5 0 3
inception_b1 1264 2700 3964 300 1564 39.46 11.11 11 11 1 0
inception_b2 1648 2850 4498 0 1648 36.64 0.00 11 11 0 0
inception_b3 1648 2850 4498 0 1648 36.64 0.00 11 11 0 0
inception_b4 2088 3000 5088 0 2088 41.04 0.00 11 11 0 0
reduction_b 1656 1580 3236 0 1656 51.17 0.00 7 7 0 0
inception_c1 4920 808 5728 0 4920 85.89 0.00 10 10 0 0
inception_c2 5928 1096 7024 0 5928 84.40 0.00 10 10 0 0
total 21073.5 24904 45977.5 600 21673.5 47.14 2.41 100 100 1 3
"""
"""The table as printed: W; naive maps, overall; proposed maps, overall; ratios; accesses."""

TABLE = [tuple(line.split()) for line in PRINTED.split("\n") if line]
KB = 1024


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "inception_v3.onnx"
    path.write_bytes(build("inception_v3").SerializeToString())
    return path


@pytest.fixture(scope="module")
def detected(model: Path) -> ModuleOp:
    """Inception-V3 in int8 with its modules, before Algorithm 3."""
    with paused_collector():
        module = load(model, {}).module
        run(
            module,
            "npu-plan-as,npu-fold-batch-norm,npu-fuse-conv-relu-pool{overlap=none},"
            "npu-detect-modules",
        )
    return module


def run(module: ModuleOp, pipeline: str) -> None:
    PassPipeline(parse_passes(available_passes(), pipeline)).apply(context(), module)
    module.verify()


def planned(
    detected: ModuleOp, options: str, *, reorder: bool = True, **changed: Any
) -> ModulesReport:
    """The plan for exynos-npu with some numbers changed; `options` are given to both passes."""
    module = detected.clone()
    machine = replace(Machine.load("exynos-npu"), **changed)
    TARGET.set(module, TargetAttr.of(machine))
    model = "working-memory=stride-1-map"
    first = f"npu-reorder-branches{{{model}}}," if reorder else ""
    run(module, f"{first}npu-plan-modules{{{model} {options}}}")
    report = analyze_modules(module)
    assert report is not None
    return report


def second(report: ModulesReport) -> list[str]:
    return [each.name for each in report.modules if each.policy == "II"]


@pytest.mark.slow
def test_npu_compile_prints_the_table(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--target", "exynos-npu", "--plan-as", "i8", "--pipeline", "kim2019"]
    assert main([str(model), *options, "-o", str(tmp_path)]) == 0
    printed = [tuple(line.split()) for line in capsys.readouterr().out.splitlines()]
    cells = [row for row in printed if len(row) == 12 and row[0] in {row[0] for row in TABLE}]
    assert sum(len(row) - 1 for row in TABLE) == 132
    assert cells == TABLE
    report = json.loads((tmp_path / "report.json").read_text())
    assert [each["name"] for each in report["modules"]] == [row[0] for row in TABLE[:-1]]
    assert report["arena_bytes"] == 944 * KB
    maps = {
        key: report[key]["feature_map_read_bytes"] + report[key]["feature_map_write_bytes"]
        for key in ("naive", "off_chip")
    }
    assert {key: round(size / KB) for key, size in maps.items()} == {
        "naive": 34663,
        "off_chip": 10359,
    }
    assert round(report["off_chip"]["weight_bytes"] / KB, 1) == 23241.3


@pytest.mark.parametrize("kilobytes_of_sram", [944, 1024, 1040.5])
@pytest.mark.parametrize("weight_buffers", [1, 2])
def test_the_same_outcome_in_a_range_of_memories(
    detected: ModuleOp, kilobytes_of_sram: float, weight_buffers: int
) -> None:
    report = planned(
        detected,
        "policy=auto",
        sram_bytes=int(kilobytes_of_sram * KB),
        weight_buffers=weight_buffers,
    )
    assert list(rows(report.rows())) == TABLE


def test_reduction_a(detected: ModuleOp) -> None:
    """Policy I needs 1041.0 or 1081.5 KB, with weights once or twice on chip; policy II 944.0."""

    def peak(policy: str, **changed: Any) -> float:
        report = planned(detected, f"policy={policy}", sram_bytes=2**30, **changed)
        return next(each for each in report.modules if each.name == "reduction_a").peak_bytes / KB

    assert peak("I", weight_buffers=1) == 1041.0
    assert peak("I") == 1081.5
    assert peak("II") == 944.0


def test_without_reordering_inception_a3_takes_the_second_policy_too(detected: ModuleOp) -> None:
    report = planned(detected, "policy=auto", reorder=False)
    assert second(report) == ["inception_a3", "reduction_a"]
    large = planned(detected, "policy=I", reorder=False, sram_bytes=2**30)
    third = next(each for each in large.modules if each.name == "inception_a3")
    # Maps alone, without the partial weights of the 1x1 behind the pool.
    assert third.peak_bytes / KB == 1093.5 + 2 * 16 * 288 / KB


def test_a_policy_for_each_branch(detected: ModuleOp) -> None:
    report = planned(detected, "granularity=branch")
    assert second(report) == []
    traffic = {each.name: each.off_chip for each in report.modules}
    assert traffic["reduction_a"].feature_map_write_bytes == 150 * KB
    assert traffic["reduction_a"].feature_map_writes == 1
    assert traffic["inception_b1"].feature_map_read_bytes == 150 * KB
    assert traffic["inception_b1"].feature_map_reads == 1
    last = list(rows(report.rows()))[-1]
    assert last[4] == "300"
    assert last[-2:] == ("1", "1")


def test_reduction_a_in_two_passes(detected: ModuleOp) -> None:
    """With the paper's own model of working memory, nothing leaves the chip."""
    report = planned(detected, "channel-passes=2")
    assert second(report) == []
    traffic = total(each.off_chip for each in report.modules)
    assert (traffic.feature_map_bytes, traffic.feature_map_reads, traffic.feature_map_writes) == (
        0,
        0,
        0,
    )
    assert report.peak_bytes == 838.5 * KB
    peaks = {each.name: each.peak_bytes / KB for each in report.modules}
    assert peaks["reduction_a"] == 838.5
    one = planned(detected, "channel-passes=1")
    assert list(rows(one.rows())) == TABLE


def test_which_layers_run_in_passes(detected: ModuleOp) -> None:
    module = detected.clone()
    model = "working-memory=stride-1-map"
    TARGET.set(module, TargetAttr.of(Machine.load("exynos-npu")))
    run(module, f"npu-reorder-branches{{{model}}},npu-plan-modules{{{model} channel-passes=3}}")
    split = [op for op in module.walk() if PASSES.is_on(op)]
    assert [name_of(op) for op in split] == ["reduction_a/branch3x3"]
    assert PASSES.get(split[0]) == 2


def test_without_working_memory_all_modules_stay_on_chip(detected: ModuleOp) -> None:
    module = detected.clone()
    TARGET.set(module, TargetAttr.of(Machine.load("exynos-npu")))
    run(module, "npu-reorder-branches,npu-plan-modules")
    report = analyze_modules(module)
    assert report is not None
    assert second(report) == []
    assert kilobytes(sum(each.off_chip.feature_map_bytes for each in report.modules)) == "0"
    assert report.peak_bytes == 819 * KB


@pytest.mark.parametrize(("kernels", "peak"), [(0, 810), (16, 819)])
def test_the_best_order_of_branches(detected: ModuleOp, kernels: int, peak: int) -> None:
    """810 KB of maps, 819 with the kernels in use. No order of the layers needs less."""
    module = detected.clone()
    machine = replace(Machine.load("exynos-npu"), kernel_group=kernels, sram_bytes=peak * KB)
    TARGET.set(module, TargetAttr.of(machine))
    run(module, "npu-reorder-branches{order=liveness},npu-plan-modules")
    peaks = {name_of(op): (PEAK.get(op) or 0) / KB for op in modules_of(module)}
    bounds = {name_of(op): (PEAK_BOUND.get(op) or 0) / KB for op in modules_of(module)}
    assert max(peaks.values()) == peaks["inception_a3"] == max(bounds.values()) == peak
    assert all(bounds[name] <= peaks[name] for name in peaks)
    report = analyze_modules(module)
    assert report is not None
    assert second(report) == []
    assert report.peak_bytes == peak * KB
    assert len(set(remarks(module))) == len(peaks)


def test_names_and_order_of_branches(detected: ModuleOp) -> None:
    report = planned(detected, "policy=auto")
    order = {each.name: [branch["part"] for branch in each.branches] for each in report.modules}
    assert order["inception_a3"] == [3, 2, 1, 0]
    assert order["reduction_a"] == [0, 1, 2]
    for each in report.modules:
        needs = [branch["required"] for branch in each.branches]
        assert needs == sorted(needs, reverse=True)
