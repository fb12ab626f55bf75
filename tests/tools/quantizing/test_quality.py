"""npu-quantize says what a quantisation costs."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from helpers.paths import LENET5_FOLDER
from helpers.quantized.tool import inputs, rejected, save
from helpers.small_models import Weights, model_of, small_net
from npu_tools.commands.quantize import main
from npu_tools.quantizing.fidelity import Noise, classes


def printed(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> tuple[Any, str]:
    """What a run with `--json` says, and what it says to standard error."""
    assert main([*arguments, "--json"]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def sparse_net(scale: float = 1.0) -> ModelProto:
    """A network whose input and maps are mostly zeros."""
    rng = np.random.default_rng(2)
    shapes = {"w1": (8, 1, 3, 3), "w2": (8, 8, 3, 3), "w3": (5, 8 * 24 * 24)}
    weights: Weights = {
        name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()
    }
    weights["c"] = np.array([[scale, 1, 1, 1, 1]], np.float32)
    nodes = [
        helper.make_node("Conv", ["input", "w1"], ["c1"], "first", pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], "second", pads=[1] * 4),
        helper.make_node("Relu", ["c2"], ["r2"], "relu2"),
        helper.make_node("Flatten", ["r2"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "w3"], ["g"], "last", transB=1),
        helper.make_node("Mul", ["g", "c"], ["y"], "scaled"),
    ]
    return model_of(nodes, weights, (1, 1, 24, 24), "y")


def sparse_inputs(count: int, seed: int) -> Any:
    """Pictures with a small blot on zeros."""
    pictures = np.zeros((count, 1, 24, 24), np.float32)
    pictures[:, :, 8:14, 8:14] = np.random.default_rng(seed).uniform(0, 1, (count, 1, 6, 6))
    return pictures


@pytest.mark.parametrize("method", ["minmax", "mse", "percentile"])
def test_maps_of_many_zeros(method: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No method takes the many zeros for the map: each keeps the outputs."""
    arguments = save(folder, sparse_net(), input=sparse_inputs(24, 1))
    labels = np.zeros(24, np.int64)
    np.savez("other.npz", allow_pickle=True, input=sparse_inputs(24, 2), y=labels)
    said, _ = printed(capsys, [*arguments, "--method", method, "--evaluate", "other.npz"])
    for what in ("calibration", "evaluation"):
        (output,) = said[what]["outputs"]
        assert said[what]["samples"] == 24
        assert output["snr_db"] > 30
        assert output["same_class"] >= 0.9
    accuracy = said["evaluation"]["accuracy"]
    assert abs(accuracy["float32"] - accuracy["quantised"]) <= 0.1


@pytest.mark.parametrize("form", ["qdq", "operators"])
def test_tables(form: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*save(folder, small_net(), input=inputs(9)), "--format", form]
    said, _ = printed(capsys, arguments)
    assert said["calibration"]["outputs"][0]["within_step"] > 0.5
    assert said["evaluation"] is None
    assert all(layer["snr_db"] > 25 for layer in said["layers"])
    assert ("conv1", "Conv, Relu") in [(layer["name"], layer["op"]) for layer in said["layers"]]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    for part in ("output, calibration data", "scores", "layers that lose most", "wrote int8.onnx"):
        assert part in text


def test_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One number that is a million times the others takes all of the steps."""
    arguments = save(folder, sparse_net(1e-6), input=sparse_inputs(8, 1))
    proto = sparse_net()
    proto.graph.node[-1].op_type = "Add"
    proto.graph.initializer[-1].CopyFrom(
        helper.make_tensor("c", 1, (1, 5), [1e4, 0.0, 0.0, 0.0, 0.0])
    )
    proto.graph.node.append(helper.make_node("Sub", ["y", "c"], ["z"], "back"))
    proto.graph.output[0].name = "z"
    arguments = save(folder, proto, input=sparse_inputs(8, 1))
    said, warned = printed(capsys, arguments)
    assert said["calibration"]["outputs"][0]["snr_db"] < 20
    assert warned.startswith("npu-quantize: warning: net.onnx: output 'z' has a signal to noise of")
    assert len(said["warnings"]) == 1


BAD_LABELS = {
    "many": (np.zeros(9, np.int64), "holds 9 numbers of int64; expected a class number"),
    "floats": (np.zeros(8, np.float32), "holds 8 numbers of float32; expected a class number"),
    "text": (np.full(8, "a"), "holds 8 numbers of <U1; expected a class number"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(case: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, part = BAD_LABELS[case]
    arguments = save(folder, small_net(), input=inputs())
    np.savez("other.npz", allow_pickle=True, input=inputs(), y=labels)
    rejected(
        folder, capsys, [*arguments, "--evaluate", "other.npz"], f"other.npz: array 'y' {part}"
    )
    rejected(folder, capsys, [*arguments, "--evaluate", "none.npz"], "none.npz")


def test_lenet5_keeps_its_digits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = np.load(LENET5_FOLDER / "heldout.npz")
    images = np.where(held["images"] < 100, 0, held["images"]).astype(np.float32)[:, None] / 255
    proto = ModelProto.FromString((LENET5_FOLDER / "lenet5.onnx").read_bytes())
    arguments = save(folder, proto, image=images[:64])
    np.savez("other.npz", allow_pickle=True, image=images[64:160], y=held["labels"][64:160])
    said, _ = printed(capsys, [*arguments, "--method", "mse", "--evaluate", "other.npz"])
    accuracy = said["evaluation"]["accuracy"]
    assert accuracy["quantised"] >= accuracy["float32"] - 0.02
    assert accuracy["float32"] > 0.95


def test_noise() -> None:
    noise = Noise()
    assert noise.decibels == inf
    noise.add(np.array([3, 4]), np.array([3, 4.5]))
    assert noise.decibels == pytest.approx(20)
    silent = Noise()
    silent.add(np.zeros(2, np.float32), np.ones(2, np.float32))
    assert silent.decibels == -inf


def test_classes() -> None:
    rows = np.array([[1, 3, 2], [5, 4, 4]], np.float32)
    for shape in ((2, 3), (2, 3, 1, 1)):
        found = classes(rows.reshape(shape))
        assert found is not None
        assert found.tolist() == [1, 0]
    assert classes(rows[:, :1]) is None
    assert classes(rows[..., None].repeat(2, 2)) is None
