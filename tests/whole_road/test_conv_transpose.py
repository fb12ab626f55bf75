"""Transposed convolutions from ONNX to C: their phases write into one map, without a copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from helpers.onnx_models import model, node, numbers
from helpers.quantized.build import Graph, integers
from helpers.road import Road, travel
from npu_tools.commands.compile import main

PIPELINES = ("default", "naive")


def decoder() -> ModelProto:
    """Four layers: with a batch normalisation, in groups, larger than the kernel, 1x1."""
    weights = {
        "w1": numbers(3, 4, 4, 4),
        "w2": numbers(4, 2, 3, 3, seed=2),
        "b2": numbers(4, seed=4),
        "w3": numbers(4, 2, 2, 2, seed=3),
        "w4": numbers(2, 2, 1, 1),
        **{name: numbers(4, seed=seed) ** 2 for seed, name in enumerate("sbmv", 7)},
    }
    nodes = [
        node("ConvTranspose", "x w1", "a", strides=[2, 2], pads=[1, 1, 1, 1], name="up1"),
        node("BatchNormalization", "a s b m v", "n", name="norm"),
        node("Relu", "n", "c", name="relu1"),
        node("ConvTranspose", "c w2 b2", "d", strides=[2, 1], group=2, name="up2"),
        node("Clip", "d low high", "e", name="clip"),
        node("ConvTranspose", "e w3", "f", strides=[3, 3], pads=[1, 1, 0, 1], name="up3"),
        node("ConvTranspose", "f w4", "y", name="up4"),
    ]
    bounds = {"low": np.array(-1, np.float32), "high": np.array(2, np.float32)}
    return model(nodes, {"x": (1, 3, 5, 4)}, weights={**weights, **bounds})


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_floats(pipeline: str, tmp_path: Path) -> None:
    check = pipeline == "default"
    road = Road(16, pipeline, None, None, "c", None, "c", in_arena=False, check_passes=check)
    travel(tmp_path, decoder(), {"x": numbers(1, 3, 5, 4)}, road)


def report(
    folder: Path, capsys: pytest.CaptureFixture[str], proto: ModelProto, *more: str
) -> dict[str, Any]:
    """The report of a verified compilation."""
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    run = [str(folder / "net.onnx"), "-o", str(folder / "out"), "--json", "--verify", *more]
    code = main(run)
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", "zynq7020"])
def test_nothing_is_copied(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(tmp_path, capsys, decoder(), "--target", target)
    assert {layer["op"] for layer in found["layers"]} == {"npu.conv2d"}
    assert len(found["layers"]) == 4 + 2 + 9 + 1


def upscaled(size: int) -> ModelProto:
    """A network whose last map, of 8 * 16 * size^2 elements, is much larger than its first one."""
    weights = {"w": numbers(8, 8, 4, 4), "v": numbers(8, 8, 3, 3, seed=2)}
    up = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    nodes = [
        node("ConvTranspose", "x w", "a", name="up1", **up),
        node("Conv", "a v", "b", pads=[1, 1, 1, 1], name="conv"),
        node("ConvTranspose", "b w", "y", name="up2", **up),
    ]
    return model(nodes, {"x": (1, 8, size, size)}, weights=weights)


@pytest.mark.slow
def test_a_map_that_does_not_fit_moves_channel_by_channel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(tmp_path, capsys, upscaled(32), "--target", "zynq7020")
    assert "npu.interleave" in {layer["op"] for layer in found["layers"]}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["zynq7020", "cortex-m4"])
def test_too_large(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.onnx").write_bytes(upscaled(64).SerializeToString())
    run = [str(tmp_path / "net.onnx"), "--target", target, "-o", str(tmp_path / "out")]
    assert main(run) == 1
    assert "of SRAM" in capsys.readouterr().err


def quantised() -> ModelProto:
    """Three layers on int8 maps; in the second one, each phase reads one pixel of its input."""
    graph = Graph()
    graph.constant("w", integers(1, "int8", 8, 8, 4, 4))
    graph.constant("u", integers(4, "int8", 8, 8, 2, 2))
    graph.constant("v", integers(2, "int8", 8, 3, 2, 2))
    first = graph.dequantize("w", np.exp2(-np.arange(6, 14)), np.zeros(8), "int8", axis=1)
    inner = graph.dequantize("u", 2.0**-9, 0, "int8")
    second = graph.dequantize("v", 0.01, 0, "int8")
    real = graph.dequantize("x", 0.25, 4, "int8")
    up = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    positive = graph.add("Relu", [graph.add("ConvTranspose", [real, first], "a", **up)], "r")
    again = graph.dequantize(graph.quantize(positive, 0.5, -128, "int8"), 0.5, -128, "int8")
    middle = graph.quantize(
        graph.add("ConvTranspose", [again, inner], "m", strides=[2, 2]), 0.5, 3, "int8"
    )
    again = graph.dequantize(middle, 0.5, 3, "int8")
    last = graph.add("ConvTranspose", [again, second], "c", strides=[3, 2], pads=[1, 1, 1, 1])
    out = graph.quantize(last, 0.75, 5, "int8")
    return graph.model({"x": integers(3, "int8", 1, 8, 5, 4)}, out, "int8", 13)


@pytest.mark.parametrize(
    "target",
    ["cortex-m4", *(pytest.param(name, marks=pytest.mark.slow) for name in ("host", "zynq7020"))],
)
def test_integers(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(tmp_path, capsys, quantised(), "--target", target)
    assert found["verify"]["outputs"][0]["steps"] <= 1
    layers = [layer for layer in found["layers"] if layer["name"] != "x_copy"]
    assert {layer["op"] for layer in layers} == {"npu.conv2d"}
