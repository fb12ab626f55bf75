"""npu-compile --pareto: the front of plans, its estimates, and what --sram picks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from helpers.paths import LENET5
from helpers.small_models import SaveModel, model_of
from npu_tools.commands.compile import main
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.compiling.pareto import Plan, explore, front_of
from npu_tools.shared.errors import UserError
from npu_tools.verifying.emulators import Interface, run_on

plans = st.lists(
    st.builds(Plan, st.sampled_from("abcd"), st.integers(1, 9), st.integers(1, 9)), min_size=1
)


@given(plans)
@settings(max_examples=100, deadline=None)
def test_the_front_is_what_no_other_plan_beats(found: list[Plan]) -> None:
    front = front_of(found, "work")
    beaten = {
        plan
        for plan in found
        for other in found
        if (other.arena <= plan.arena and other.cost <= plan.cost)
        and (other.arena, other.cost) != (plan.arena, plan.cost)
    }
    points = {(plan.arena, plan.cost) for plan in found if plan not in beaten}
    assert {(plan.arena, plan.cost) for plan in front.plans} == points
    assert len(front.plans) == len(points)
    assert front.reference == found[0].cost


def test_the_cheapest_plan_that_fits_is_picked() -> None:
    front = front_of([Plan("default", 90, 100), Plan("b", 50, 105), Plan("c", 40, 150)], "work")
    assert [front.pick(sram, 10).pipeline for sram in (90, 89, 50)] == ["default", "b", "b"]
    assert front.pick(49, 50).pipeline == "c"
    with pytest.raises(UserError, match=r"--sram 49: the plan of 40 bytes costs 50\.0 % more"):
        front.pick(49, 49.9)
    with pytest.raises(UserError, match="--sram 39: the smallest plan needs 40 bytes of SRAM"):
        front.pick(39, 1000)


@pytest.fixture
def model(save: SaveModel) -> Path:
    """Two convolutions with a large map between them, whose rows cost some per cent."""
    weights, others = np.ones((16, 8, 3, 3), np.float32), np.ones((4, 16, 3, 3), np.float32)
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["a"], "first", pads=[1] * 4),
        helper.make_node("Conv", ["a", "v"], ["output"], "second", pads=[1] * 4, strides=[2, 2]),
    ]
    return save(model_of(nodes, {"w": weights, "v": others}, (1, 8, 32, 32), "output"))


def test_the_table_is_printed_and_nothing_written(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = model.parent / "out"
    run = [str(model), "--target", "cortex-m4", "-o", str(out), "--pareto"]
    assert main([*run, "--candidate", "naive"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["SRAM", "bytes", "work", "change", "pipeline"]
    arenas = [int(line.split()[0]) for line in lines[1:]]
    assert arenas == sorted(arenas, reverse=True)
    work = [int(line.split()[1]) for line in lines[1:]]
    assert work == sorted(work), "a larger plan is on the front for its work alone"
    assert [line.split()[-1] for line in (lines[1], lines[-1])] == ["naive", "rows"]
    assert not out.exists()
    assert main([*run, "--json"]) == 0
    front = json.loads(capsys.readouterr().out)["pareto"]
    assert [plan["arena_bytes"] for plan in front] == arenas[1:], "without the candidate"


@pytest.mark.slow
def test_a_picked_plan_is_compiled(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = model.parent / "out"
    run = [str(model), "--target", "cortex-m4", "-o", str(out), "--pareto", "--json"]
    least = explore(Job(model, "cortex-m4")).plans[-1]
    run += ["--max-slowdown", "500", "--sram"]
    assert main([*run, str(least.arena)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["arena_bytes"] == least.arena
    assert report["pareto"][-1]["pipeline"] == least.pipeline
    assert (out / "report.json").exists()
    assert main([*run, str(least.arena - 1)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"the smallest plan needs {least.arena} bytes of SRAM" in said.err


def test_with_dma_the_bytes_that_cross_the_border_count(model: Path) -> None:
    front = explore(Job(model, "exynos-npu"))
    assert front.unit == "bytes off chip"
    report = compile_model(Job(model, "exynos-npu")).report
    assert front.plans[0] == Plan("default", report.arena_bytes, report.off_chip.overall_bytes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sram", "100"], "--sram is for --pareto: expected both"),
        (["--max-slowdown", "5"], "--max-slowdown is for --pareto"),
        (["--candidate", "rows"], "--candidate is for --pareto"),
        (["--pareto", "--html", "page.html"], "--html is for one plan: expected --sram N"),
        (["--pareto", "--verify"], "--verify is for one plan: expected --sram N"),
        (["--pareto", "--max-slowdown", "nan"], "expected a number of at least 0, got 'nan'"),
        (["--pareto", "--candidate", "npu-fold-batch-norm"], "expected a pipeline that plans"),
        (["--pareto", "--candidate", "no-such"], "no-such"),
    ],
)
def test_mistakes_are_one_message(
    model: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main([str(model), "--target", "cortex-m4", *options]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.count("\n") == 1


@pytest.mark.slow
def test_the_estimate_compares_pipelines_as_an_emulator_does(tmp_path: Path) -> None:
    def instructions(pipeline: str) -> int:
        out = tmp_path / pipeline
        run = [str(LENET5), "--target", "cortex-m4", "--prefix", "net", "-o", str(out)]
        assert main([*run, "--pipeline", pipeline]) == 0
        inputs = Interface.read(out / "net.h").inputs
        zeros = {each.name: np.zeros(each.elements, each.dtype) for each in inputs}
        return run_on("cortex-m4", out / "net.c", [zeros]).runs[0].instructions

    job = Job(LENET5, "cortex-m4")
    work = {plan.pipeline: plan.cost for plan in explore(job, ("unlu2020", "naive")).plans}
    measured = {name: instructions(name) for name in work}
    least = min(measured, key=lambda name: measured[name])
    for name in work:
        assert work[name] / work[least] == pytest.approx(measured[name] / measured[least], rel=0.1)
