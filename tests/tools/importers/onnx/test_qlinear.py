"""Operators with scales and zero points as operands give the bits of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.quantized.build import NICE, Array, Graph, compare, integers, rng

KINDS = ("int8", "uint8")


def random_params(seed: int, kind: str, count: int) -> list[tuple[float, int]]:
    """Random scales, which give ties, and random zero points of a type."""
    generator, limits = rng(seed), np.iinfo(kind)
    points = generator.integers(limits.min, limits.max + 1, count)
    return [(float(s), int(z)) for s, z in zip(generator.choice(NICE, count), points, strict=True)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_axis", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_qlinear_conv(bias: bool, per_axis: bool, kind: str, seed: int) -> None:
    x, w, graph = integers(seed, kind, 1, 4, 9, 11), integers(seed + 1, "int8", 6, 2, 3, 3), Graph()
    (sx, zx), (sy, zy) = random_params(seed, kind, 2)
    generator = rng(seed)
    graph.constant("w", w)
    count = 6 if per_axis else 1
    sw: Any = generator.choice(NICE, count) if per_axis else 0.1
    inputs = ["x", *graph.params("x", sx, zx, kind), "w"]
    inputs += graph.params("w", sw, np.zeros(count) if per_axis else 0, "int8")
    inputs += graph.params("y", sy * 40, zy, kind)
    if bias:
        inputs.append(graph.constant("b", generator.integers(-9000, 9000, 6), np.int32))
    y = graph.add("QLinearConv", inputs, "y", group=2, pads=[1, 1, 0, 2], dilations=[2, 1])
    assert compare(graph, {"x": x}, y, kind) == ["conv2d", "requantize"]


@pytest.mark.parametrize("point", [0, 128, 7])
def test_qlinear_conv_of_uint8_weights(point: int) -> None:
    x, w, graph = integers(1, "uint8", 1, 4, 9, 11), integers(2, "uint8", 6, 4, 3, 3), Graph()
    graph.constant("w", w)
    inputs = [
        "x",
        *graph.params("x", 0.5, 9, "uint8"),
        "w",
        *graph.params("w", 0.1, point, "uint8"),
    ]
    y = graph.add("QLinearConv", [*inputs, *graph.params("y", 60.0, 128, "uint8")], "y")
    assert compare(graph, {"x": x}, y, "uint8") == ["conv2d", "requantize"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_qlinear_matmul(kind: str, seed: int) -> None:
    x, w, graph = integers(seed, kind, 4, 30), integers(seed + 1, "int8", 30, 7), Graph()
    (sx, zx), (sy, zy) = random_params(seed, kind, 2)
    graph.constant("w", w)
    inputs = ["x", *graph.params("x", sx, zx, kind), "w", *graph.params("w", 0.1, 0, "int8")]
    y = graph.add("QLinearMatMul", [*inputs, *graph.params("y", sy * 40, zy, kind)], "y")
    assert compare(graph, {"x": x}, y, kind) == ["fully_connected", "requantize"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("swap", [0, 1])
@pytest.mark.parametrize("to_float", [False, True])
def test_qgemm(to_float: bool, swap: int, kind: str, seed: int) -> None:
    x, w, graph = integers(seed, kind, 4, 30), integers(seed + 1, "int8", 30, 7), Graph()
    (sx, zx), (sy, zy) = random_params(seed, kind, 2)
    graph.constant("w", w.T if swap else w)
    graph.constant("b", rng(seed).integers(-900, 900, 7), np.int32)
    inputs = ["x", *graph.params("x", sx, zx, kind), "w"]
    inputs += [*graph.params("w", rng(seed).choice(NICE, 7), np.zeros(7), "int8"), "b"]
    inputs += [] if to_float else graph.params("y", sy * 40, zy, kind)
    y = graph.add("QGemm", inputs, "y", transB=swap, alpha=0.5)
    last = "dequantize" if to_float else "requantize"
    found = compare(graph, {"x": x}, y, np.float32 if to_float else kind)
    assert found == ["fully_connected", last]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("op", "layer"), [("QLinearAdd", "quantized_add"), ("QLinearMul", "quantized_binary")]
)
def test_qlinear_pairs(op: str, layer: str, kind: str, seed: int) -> None:
    a, b = (array.astype(kind) for array in np.meshgrid(*2 * [np.arange(256)]))
    graph, ((sa, za), (sb, zb), (sy, zy)) = Graph(), random_params(seed, kind, 3)
    inputs = ["a", *graph.params("a", sa, za, kind), "b", *graph.params("b", sb, zb, kind)]
    y = graph.add(op, [*inputs, *graph.params("y", sy, zy, kind)], "y")
    assert compare(graph, {"a": a, "b": b}, y, kind) == [layer]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "window",
    [
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2], "strides": [2, 1]},
        {"kernel_shape": [3, 2], "pads": [1, 1, 0, 0], "count_include_pad": 1},
        {"kernel_shape": [8, 7]},
        None,
    ],
)
def test_qlinear_average_pools(window: dict[str, Any] | None, kind: str, seed: int) -> None:
    x, graph = integers(seed, kind, 1, 100, 8, 7), Graph()
    (sx, zx), (sy, zy) = random_params(seed, kind, 2)
    inputs = ["x", *graph.params("x", sx, zx, kind), *graph.params("y", sy, zy, kind)]
    op = "QLinearGlobalAveragePool" if window is None else "QLinearAveragePool"
    y = graph.add(op, inputs, "y", **(window or {"channels_last": 0}))
    assert compare(graph, {"x": x}, y, kind) == ["quantized_avg_pool2d"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_qlinear_concat(kind: str, seed: int) -> None:
    a, b = integers(seed, kind, 1, 300), integers(seed + 1, kind, 1, 500)
    graph, ((sa, za), (sb, zb), (sy, zy)) = Graph(), random_params(seed, kind, 3)
    inputs = [*graph.params("y", sy, zy, kind), "a", *graph.params("a", sa, za, kind)]
    y = graph.add("QLinearConcat", [*inputs, "b", *graph.params("b", sb, zb, kind)], "y", axis=1)
    assert compare(graph, {"a": a, "b": b}, y, kind)[-1] == "concat"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("points", [False, True])
def test_integer_sums(points: bool, kind: str) -> None:
    x, w, graph = integers(1, kind, 1, 4, 9, 11), integers(2, "uint8", 6, 4, 3, 3), Graph()
    graph.constant("w", w)
    more = [graph.constant("xz", 5, kind), graph.constant("wz", 127, "uint8")] if points else []
    if kind == "uint8":  # onnxruntime has no others
        y = graph.add("ConvInteger", ["x", "w", *more], "y", pads=[1, 1, 1, 1])
        assert compare(graph, {"x": x}, y, np.int32) == ["conv2d"]
    rows, graph = integers(1, kind, 4, 30), Graph()
    graph.constant("w", integers(2, "int8", 30, 7))
    more = [graph.constant("xz", 5, kind), graph.constant("wz", -7, "int8")] if points else []
    y = graph.add("MatMulInteger", ["x", "w", *more], "y")
    assert compare(graph, {"x": rows}, y, np.int32) == ["fully_connected"]


def test_sums_become_real_by_cast_and_factor() -> None:
    x, graph = integers(1, "uint8", 4, 30), Graph()
    graph.constant("w", integers(2, "int8", 30, 7))
    sums = graph.add("MatMulInteger", ["x", "w", graph.constant("xz", 5, "uint8")], "sums")
    real = graph.add("Cast", [sums], "real", to=1)
    y = graph.add("Mul", [real, graph.constant("scale", 0.01, np.float32)], "y")
    found = compare(graph, {"x": x}, y, np.float32)
    assert found == ["fully_connected", "dequantize"]


def test_moving_layers_between_operators() -> None:
    x: Array = integers(1, "int8", 1, 4, 8, 8)
    graph = Graph()
    graph.constant("w", integers(2, "int8", 6, 4, 3, 3))
    inputs = ["x", *graph.params("x", 0.5, 9, "int8"), "w", *graph.params("w", 0.1, 0, "int8")]
    y = graph.add("QLinearConv", [*inputs, *graph.params("y", 60.0, 12, "int8")], "y")
    z = graph.add("Flatten", [graph.add("MaxPool", [y], "p", kernel_shape=[2, 2])], "z")
    found = compare(graph, {"x": x}, z, "int8")
    assert found == ["conv2d", "requantize", "max_pool2d", "reshape"]
