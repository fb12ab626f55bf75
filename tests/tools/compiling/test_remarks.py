"""npu-compile --verbose prints the remarks of the passes."""

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, helper

from helpers.small_models import SaveModel, Weights, model_of
from npu_tools.commands import compile

ROAD = "npu-bufferize,npu-assign-sram-offsets,npu-outline-layers,npu-lower-to-loops"
DETECT = f"npu-detect-modules{{max-depth=2}},npu-inline-modules,{ROAD}"


def branches() -> ModelProto:
    """A sum over a long skip-connection, and a product of two branches."""
    weights: Weights = {"w": np.ones((1, 1, 1, 1), np.float32)}
    chain = ["input", "a", "b", "c", "d"]
    nodes = [
        helper.make_node("Conv", [chain[i], "w"], [chain[i + 1]], f"conv_{chain[i + 1]}")
        for i in range(4)
    ]
    nodes += [
        helper.make_node("Add", ["a", "d"], ["sum"], "add"),
        helper.make_node("Conv", ["sum", "w"], ["left"], "conv_left"),
        helper.make_node("Conv", ["sum", "w"], ["right"], "conv_right"),
        helper.make_node("Mul", ["left", "right"], ["scores"], "mul"),
    ]
    return model_of(nodes, weights, (1, 1, 8, 8), "scores")


def said_of(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    out = str(path.parent / "out")
    assert compile.main([str(path), "--target", "host", "-o", out, *options]) == 0
    return capsys.readouterr().out


def test_modules(save: SaveModel, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(branches())
    said = said_of(path, capsys, "--pipeline", DETECT, "--verbose")
    assert said.count("add: a is a long skip-connection, which comes from off-chip memory\n") == 1
    assert said.count("mul: no module: ") == 1
    assert "no module" not in said_of(path, capsys, "--pipeline", DETECT)


def test_rows(save: SaveModel, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(branches())
    pipeline = f"npu-fuse-rows{{when=always}},{ROAD}"
    said = said_of(path, capsys, "--pipeline", pipeline, "--verbose")
    assert "conv_b, conv_c, conv_d, add: run row by row\n" in said


def test_json_stays_alone(save: SaveModel, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(branches())
    out = str(path.parent / "out")
    run = [str(path), "--target", "host", "-o", out, "--pipeline", DETECT, "--verbose", "--json"]
    assert compile.main(run) == 0
    said = capsys.readouterr()
    assert said.out.startswith("{")
    assert "add: a is a long skip-connection" in said.err
