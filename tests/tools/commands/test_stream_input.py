"""npu-compile --stream-input: what it writes and prints, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, helper

from helpers.paths import LENET5_FOLDER
from helpers.small_models import SaveModel, Weights, model_of
from npu_tools.commands import compile
from npu_tools.verifying.streamed import Streamed, whole_run

LENET5 = LENET5_FOLDER / "lenet5.onnx"


def test_lenet5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The C agrees with onnxruntime, and with each pass; stack, hooks and build files know it."""
    out = tmp_path / "out"
    options = ["--stream-input", "--pipeline", "rows", "--verify", "--emit=zephyr,arduino"]
    run = [str(LENET5), "--target", "cortex-m4", "-o", str(out), "--prefix", "net", *options]
    assert compile.main(run) == 0
    assert "verify: agrees with onnxruntime" in capsys.readouterr().out
    report = json.loads((out / "report.json").read_text())
    assert report["arena_bytes"] == 4068
    assert report["inputs"] == {"image": [1, 1, 32, 32]}
    assert report["stack_bytes"] is None or report["stack_bytes"] > 0
    source = (out / "net.c").read_text()
    hooks = re.findall(r'NET_ON_LAYER\((\d), "(\w+)"\);', source)
    assert sorted(set(hooks)) == list(zip("01234", ("conv1", "conv2", "fc1", "fc2", "fc3")))
    assert [layer["name"] for layer in report["layers"]] == [name for _, name in sorted(set(hooks))]
    words = (out / "arduino" / "net" / "keywords.txt").read_text()
    assert re.findall(r"^(net_\w+)\tKEYWORD2$", words, re.MULTILINE) == [
        "net_begin",
        "net_push_rows",
        "net_finish",
    ]
    assert not (out / "arduino" / "net" / "examples").exists()
    assert "net_begin(), net_push_rows(), net_finish()" in (out / "zephyr" / "Kconfig").read_text()


def chain(first: NodeProto) -> ModelProto:
    """A node on an image of three channels, and a convolution of three channels behind it."""
    random = np.random.default_rng(2)
    weights: Weights = {
        "w": random.standard_normal((3, 3, 3, 3), dtype=np.float32),
        "v": random.standard_normal((2, 3, 3, 3), dtype=np.float32),
    }
    nodes = [first, helper.make_node("Conv", ["a", "v"], ["y"], "conv2", strides=[2, 2])]
    return model_of(nodes, weights, (1, 3, 9, 5), "y")


def test_rows_of_several_channels(save: SaveModel, capsys: pytest.CaptureFixture[str]) -> None:
    model = save(chain(helper.make_node("Conv", ["input", "w"], ["a"], "conv1", pads=[1] * 4)))
    run = [str(model), "--target", "cortex-m4", "--stream-input", "-o", str(model.parent / "out")]
    assert compile.main([*run, "--pipeline", "rows", "--check-passes", "--verify"]) == 0
    assert compile.main([*run, "--weights", "bin", "--verify"]) == 0
    assert compile.main([*run, "--pareto"]) == 0
    assert re.search(r"\d+ +\d+ +\S+%  default", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], r"flip \(npu.transpose\) reads more of the input than some rows"),
        (["--target", "zynq7020"], r"expected a machine without DMA for a streamed input"),
        (["--keep-state", "input=y"], r"expected an input and an output of one type"),
    ],
)
def test_what_is_refused(
    options: list[str], said: str, save: SaveModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """One message with the layer's name, and no file."""
    model = save(chain(helper.make_node("Transpose", ["input"], ["a"], "flip", perm=[0, 1, 3, 2])))
    out = model.parent / "out"
    run = [str(model), "--target", "cortex-m4", "--stream-input", "-o", str(out), *options]
    assert compile.main(run) == 1
    error = capsys.readouterr().err
    assert re.search(said, error)
    assert len(error.splitlines()) == 1
    assert not out.exists()


def test_whole_runs() -> None:
    """Only a program without ID_run gets one."""
    assert whole_run("int net_run(const float *x, float *y, void *arena);\n") == ""
    header = (
        "int a_begin(void *arena, const void *weights);\n"
        "int a_push_rows(const int8_t *x, int32_t n, void *arena, const void *weights);\n"
        "int a_finish(float *y, void *arena, const void *weights);\n"
    )
    streamed = Streamed.of(header)
    assert streamed is not None
    assert streamed.macro == "A_X"
    assert "static int a_run(const int8_t *x, float *y, void *arena, const void *weights)" in (
        whole_run(header)
    )
    assert "a_push_rows(x + done * (A_X_ELEMENTS / A_X_ROWS), n, arena, weights)" in (
        whole_run(header)
    )
