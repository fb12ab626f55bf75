"""Maps of 16 bits: all of them, or those that a goal needs."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from helpers.quantized.tool import inputs, quantised_small, rejected, save
from helpers.small_models import small_net
from npu_tools.commands.compile import main as compile_main
from npu_tools.commands.quantize import main
from npu_tools.quantizing.mixed_precision import CLOSE_DB, bounded_maps, groups_of, sensitive_maps


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.floats(0, 60),
)
def test_the_goal_is_reached(worth: list[int], goal: float) -> None:
    """Each map adds its worth to 10 dB, so the most worthy come first and none is too many."""
    groups = [(f"a{index}", f"b{index}") for index in range(len(worth))]

    def measure(wide: Collection[str]) -> float:
        return 10.0 + sum(worth[int(name[1:])] for name in wide if name[0] == "a")

    found = sensitive_maps(groups, measure, goal)
    everything = measure([name for group in groups for name in group])
    assert measure(found) >= min(goal, everything - CLOSE_DB)
    assert len(found) % 2 == 0
    assert not found or measure(found[:-2]) < goal
    taken = [worth[int(name[1:])] for name in found[::2]]
    assert taken == sorted(worth, reverse=True)[: len(taken)]


def test_groups() -> None:
    proto = small_net()
    names = ["input", "c1", "r1", "p1", "f1", "g2", "r2", "scores"]
    groups = [("input",), ("c1", "r1", "p1", "f1"), ("g2", "r2"), ("scores",)]
    assert groups_of(proto, names) == groups
    assert bounded_maps(proto) == {"c1": "r1", "g2": "r2"}
    proto.graph.output.append(helper.make_tensor_value_info("c1", 1, None))
    assert groups_of(proto, names)[1:3] == [("c1",), ("r1", "p1", "f1")]


def said(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> Any:
    """What a run with `--json` says."""
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_all_maps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Maps of 16 bits lose less, and C computes them as onnxruntime does."""
    arguments = save(folder, small_net(), input=inputs())
    narrow = said(capsys, arguments)
    wide = said(capsys, [*arguments, "--int16"])
    assert narrow["int16_maps"] == []
    assert wide["int16_maps"] == ["input", "c1", "r1", "p1", "f1", "g2", "r2", "scores"]
    assert wide["calibration"]["outputs"][0]["snr_db"] > (
        narrow["calibration"]["outputs"][0]["snr_db"] + 5
    )
    np.savez("verify.npz", allow_pickle=True, input=inputs(3))
    code = compile_main(["int8.onnx", "--target", "host", "-o", "out", "--verify=verify.npz"])
    assert code == 0, capsys.readouterr().err
    layers = json.loads(Path("out/report.json").read_text())["layers"]
    ops = [layer["op"] for layer in layers if layer["op"] != "npu.reshape"]
    assert ops == [
        "npu.quantize",
        "npu.conv2d",
        "npu.fully_connected",
        "npu.fully_connected",
        "npu.dequantize",
    ]


def test_some_maps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = save(folder, small_net(), input=inputs())
    ends = [said(capsys, arguments), said(capsys, [*arguments, "--int16"])]
    low, high = (each["calibration"]["outputs"][0]["snr_db"] for each in ends)
    goal = (low + high) / 2
    auto = [*arguments, "--int16", "auto", "--goal-db"]
    some = said(capsys, [*auto, str(goal)])
    assert some["calibration"]["outputs"][0]["snr_db"] >= goal
    assert 0 < len(some["int16_maps"]) < len(ends[1]["int16_maps"])
    assert some["warnings"] == []
    assert said(capsys, [*auto, str(goal)]) == some
    assert said(capsys, [*auto, str(low - 1)])["int16_maps"] == []
    (warning,) = said(capsys, [*auto, "90"])["warnings"]
    assert warning.startswith("the goal of 90.0 dB is not reached")


def test_int16_of_an_older_domain(folder: Path) -> None:
    """Before opset 21, onnxruntime's quantiser takes QuantizeLinear of its own domain."""
    proto = quantised_small([*save(folder, small_net(), input=inputs()), "--int16"])
    for node in proto.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            node.domain = "com.microsoft"
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    Path("old.onnx").write_bytes(proto.SerializeToString())
    np.savez("verify.npz", allow_pickle=True, input=inputs(2))
    assert compile_main(["old.onnx", "--target", "host", "-o", "o", "--verify=verify.npz"]) == 0
    assert Path("o/old.c").exists()


def test_bad_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = save(folder, small_net(), input=inputs())
    rejected(folder, capsys, [*arguments, "--int16", "--format", "operators"], "no operators of")
    rejected(folder, capsys, [*arguments, "--int16", "some"], "--int16: invalid choice: 'some'")
    wrong = [*arguments, "--int16", "auto", "--goal-db", "nan"]
    rejected(folder, capsys, wrong, "--goal-db nan: expected a number")
