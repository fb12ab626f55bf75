"""Pad among quantised layers: pads of a convolution, or a layer of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.quantized.build import Graph, compare, integers
from npu_tools.commands.compile import main

KINDS = ("int8", "uint8")
POINTS = {"int8": -3, "uint8": 131}
AROUND = np.array([0, 0, 1, 0, 0, 0, 2, 3], np.int64)


def weights_of(graph: Graph, filters: int = 6) -> str:
    """Add the dequantised weights of a convolution of 4 channels; returns their name."""
    graph.constant("w", integers(2, "int8", filters, 4, 3, 3))
    return graph.dequantize("w", np.full(filters, 0.01), np.zeros(filters), "int8", axis=0)


def padded(graph: Graph, source: str, fill: float | None = None, pads: Any = AROUND) -> str:
    """Add Pad behind DequantizeLinear; returns its output."""
    inputs = [source, graph.constant("pads", pads)]
    if fill is not None:
        inputs.append(graph.constant("fill", fill, np.float32))
    return graph.add("Pad", inputs, "padded")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("fill", [None, 0.0])
def test_zeros_become_pads_of_a_convolution(fill: float | None, between: bool, kind: str) -> None:
    x, graph, point = integers(1, kind, 1, 4, 6, 7), Graph(), POINTS[kind]
    real = padded(graph, graph.dequantize("x", 0.1, point, kind), fill)
    if between:
        real = graph.dequantize(graph.quantize(real, 0.1, point, kind), 0.1, point, kind)
    y = graph.add("Conv", [real, weights_of(graph)], "y", pads=[0, 1, 0, 0])
    out = graph.quantize(y, 1.0, 3, kind)
    assert compare(graph, {"x": x}, out, kind, close=True) == ["conv2d", "requantize"]


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_of_another_scale(kind: str) -> None:
    x, graph, point = integers(1, kind, 1, 4, 6, 7), Graph(), POINTS[kind]
    real = padded(graph, graph.dequantize("x", 0.1, point, kind))
    real = graph.dequantize(graph.quantize(real, 0.15, 7, kind), 0.15, 7, kind)
    y = graph.add("Conv", [real, weights_of(graph)], "y")
    out = graph.quantize(y, 1.0, 3, kind)
    found = compare(graph, {"x": x}, out, kind, close=True)
    assert found == ["requantize", "conv2d", "requantize"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill", [1.3, -0.77, 1e9, -np.inf])
def test_other_numbers_are_a_layer(fill: float, kind: str) -> None:
    x, graph = integers(1, kind, 1, 4, 6, 7), Graph()
    real = padded(graph, graph.dequantize("x", 0.1, POINTS[kind], kind), fill)
    out = graph.quantize(real, 0.15, 7, kind)
    assert compare(graph, {"x": x}, out, kind) == ["requantize", "pick"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("op", "more", "found"),
    [
        ("MaxPool", {"kernel_shape": [2, 2]}, ["max_pool2d"]),
        ("AveragePool", {"kernel_shape": [2, 2]}, ["quantized_avg_pool2d"]),
        ("GlobalAveragePool", {}, ["quantized_avg_pool2d"]),
        ("Relu", {}, ["clamp"]),
        ("Flatten", {}, ["reshape"]),
        ("Identity", {}, []),
    ],
)
def test_pads_in_front_of_others(
    op: str, more: dict[str, Any], found: list[str], kind: str
) -> None:
    x, graph, point = integers(1, kind, 1, 4, 6, 7), Graph(), POINTS[kind]
    real = padded(graph, graph.dequantize("x", 0.1, point, kind))
    real = graph.dequantize(graph.quantize(real, 0.1, point, kind), 0.1, point, kind)
    out = graph.quantize(graph.add(op, [real], "y", **more), 0.1, point, kind)
    assert compare(graph, {"x": x}, out, kind) == ["pick", *found]


@pytest.mark.parametrize("kind", KINDS)
def test_pads_of_a_sum_of_maps(kind: str) -> None:
    x, graph, point = integers(1, kind, 1, 4, 6, 7), Graph(), POINTS[kind]
    real = padded(graph, graph.dequantize("x", 0.1, point, kind), pads=AROUND[[0, 1, 2, 0] * 2])
    y = graph.add("Add", [real, real], "y")
    found = compare(graph, {"x": x}, graph.quantize(y, 0.3, 5, kind), kind)
    assert found[-1] == "quantized_add"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 4, 9), (2, 3, 5, 4)])
def test_outputs(shape: tuple[int, ...], kind: str) -> None:
    x, graph, pads = integers(1, kind, *shape), Graph(), AROUND[len(shape) == 3 :]
    pads = np.array([0, 0, 1, 0, 0, 2] if len(shape) == 3 else AROUND, np.int64)
    real = padded(graph, graph.dequantize("x", 0.1, POINTS[kind], kind), pads=pads)
    compare(graph, {"x": x}, graph.quantize(real, 0.1, POINTS[kind], kind), kind)


def qlinear_conv(graph: Graph, source: str, point: int, kind: str) -> str:
    """Add a QLinearConv of 4 channels; returns its output."""
    graph.constant("w", integers(2, "int8", 6, 4, 3, 3))
    inputs = [source, *graph.params("x", 0.5, point, kind), "w", *graph.params("w", 0.1, 0, "int8")]
    return graph.add("QLinearConv", [*inputs, *graph.params("y", 60.0, 12, kind)], "y")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill", [None, "point", 5])
def test_pads_of_integers(fill: str | int | None, kind: str) -> None:
    x, graph, point = integers(1, kind, 1, 4, 6, 7), Graph(), POINTS[kind]
    inputs = ["x", graph.constant("pads", AROUND)]
    if fill is not None:
        inputs.append(graph.constant("fill", point if fill == "point" else fill, kind))
    y = qlinear_conv(graph, graph.add("Pad", inputs, "padded"), point, kind)
    picked = [] if fill == "point" else ["pick"]
    assert compare(graph, {"x": x}, y, kind) == [*picked, "conv2d", "requantize"]


def test_two_pads() -> None:
    x, graph = integers(1, "int8", 1, 4, 6, 7), Graph()
    pads, fill = graph.constant("pads", AROUND), graph.constant("fill", -3, "int8")
    once = graph.add("Pad", ["x", pads, fill], "once")
    twice = graph.add("Pad", [once, pads, fill], "twice")
    found = compare(graph, {"x": x}, qlinear_conv(graph, twice, -3, "int8"), "int8")
    assert found == ["conv2d", "requantize"]
    graph.nodes[1].input[2] = graph.constant("other", 9, "int8")
    found = compare(graph, {"x": x}, "y", "int8")
    assert found == ["pick", "pick", "conv2d", "requantize"]


def test_pads_of_integer_sums() -> None:
    x, graph = integers(1, "uint8", 1, 4, 6, 7), Graph()
    fill = graph.constant("fill", 5, "uint8")
    padded = graph.add("Pad", ["x", graph.constant("pads", AROUND), fill], "padded")
    graph.constant("w", integers(2, "uint8", 6, 4, 3, 3))
    y = graph.add("ConvInteger", [padded, "w", fill], "y")
    assert compare(graph, {"x": x}, y, np.int32) == ["conv2d"]


@pytest.mark.parametrize("io", ["model", "int8"])
def test_in_c(io: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In C, a Pad is a layer before a pool, and becomes the pads of a convolution."""
    graph, point = Graph(), -3
    real = graph.dequantize(graph.quantize("x", 0.1, point, "int8"), 0.1, point, "int8")
    real = padded(graph, real)
    real = graph.dequantize(graph.quantize(real, 0.1, point, "int8"), 0.1, point, "int8")
    y = graph.add("MaxPool", [real], "pooled", kernel_shape=[2, 2])
    y = graph.dequantize(graph.quantize(y, 0.1, point, "int8"), 0.1, point, "int8")
    y = graph.add("Conv", [graph.add("Pad", [y, "pads"], "again"), weights_of(graph)], "y")
    y = graph.dequantize(graph.quantize(y, 1.0, 3, "int8"), 1.0, 3, "int8")
    proto = graph.model({"x": np.zeros((1, 4, 6, 7), np.float32)}, y, np.float32, 13)
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    more = ["--target", "host", "-o", str(tmp_path / "out"), "--verify", "--io", io]
    assert main([str(tmp_path / "net.onnx"), *more]) == 0, capsys.readouterr().err
