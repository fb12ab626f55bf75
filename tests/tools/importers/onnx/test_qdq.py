"""Float operators between DequantizeLinear and QuantizeLinear: on integers, equal to onnxruntime.

There, onnxruntime computes convolutions and matrix products as float32 sums in an unspecified
order. Nearly all of their results are equal, and none differs by more than one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.quantized.build import NICE, Array, Graph, compare, integers, rng

KINDS = ("int8", "uint8")
POINTS: dict[str, tuple[int, ...]] = {"int8": (-128, -3, 0, 127), "uint8": (0, 7, 128, 255)}


def scales(seed: int, count: int) -> list[float]:
    """Random scales, which give ties."""
    return [float(scale) for scale in rng(seed).choice(NICE, count)]


def sandwich(
    op: str,
    x: Array,
    seed: int,
    *,
    same: bool = False,
    inputs: tuple[str, ...] = (),
    **more: Any,
) -> tuple[Graph, str]:
    """DequantizeLinear, an operator, QuantizeLinear. `same`: both have the same scale."""
    graph, kind = Graph(), x.dtype.name
    before, after = scales(seed, 2)
    point, other = rng(seed).choice(POINTS[kind], 2)
    real = graph.dequantize("x", before, point, kind)
    y = graph.add(op, [real, *inputs], "y", **more)
    if same:
        after, other = before, point
    return graph, graph.quantize(y, after, other, kind)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["Relu", "Identity", "Flatten", "Transpose", "GlobalMaxPool"])
def test_moving(op: str, kind: str, seed: int) -> None:
    x = integers(seed, kind, 1, 3, 8, 11)
    graph, out = sandwich(op, x, seed)
    assert "dequantize" not in compare(graph, {"x": x}, out, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["Relu", "Identity", "Flatten"])
def test_of_the_same_scale_nothing_is_requantised(op: str, kind: str) -> None:
    x = integers(1, kind, 1, 3, 8, 11)
    graph, out = sandwich(op, x, 1, same=True)
    expected = {"Relu": ["clamp"], "Identity": [], "Flatten": ["reshape"]}[op]
    assert compare(graph, {"x": x}, out, kind) == expected


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_clip(kind: str, seed: int) -> None:
    x = integers(seed, kind, 4, 256)
    graph, out = sandwich("Clip", x, seed, inputs=("low", "high"))
    graph.constant("low", -1.07, np.float32)
    graph.constant("high", 6.0, np.float32)
    assert compare(graph, {"x": x}, out, kind)[-1] == "clamp"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "window",
    [
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2], "strides": [2, 1]},
        {"kernel_shape": [3, 2], "pads": [1, 1, 0, 0], "count_include_pad": 1},
    ],
)
def test_pools(window: dict[str, Any], kind: str, seed: int) -> None:
    x = integers(seed, kind, 1, 40, 7, 9)
    graph, out = sandwich("AveragePool", x, seed, **window)
    assert compare(graph, {"x": x}, out, kind) == ["quantized_avg_pool2d"]
    window.pop("count_include_pad", None)
    graph, out = sandwich("MaxPool", x, seed, **window)
    assert "max_pool2d" in compare(graph, {"x": x}, out, kind)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(7, 7), (8, 8), (3, 5), (1, 1), (25, 5)])
def test_global_averages(shape: tuple[int, int], kind: str, seed: int) -> None:
    x = integers(seed, kind, 1, 200, *shape)
    for op, more in (
        ("GlobalAveragePool", False),
        ("AveragePool", True),
    ):
        kernel: dict[str, Any] = {"kernel_shape": shape} if more else {}
        graph, out = sandwich(op, x, seed, **kernel)
        assert compare(graph, {"x": x}, out, kind) == ["quantized_avg_pool2d"]


@pytest.mark.parametrize("keep", [0, 1])
def test_mean(keep: int) -> None:
    x = integers(1, "int8", 1, 200, 4, 6)
    graph, out = sandwich("ReduceMean", x, 1, axes=[2, 3], keepdims=keep)
    compare(graph, {"x": x}, out, "int8", close=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ["", "Relu"])
def test_add(activation: str, kind: str, seed: int) -> None:
    a, b = (array.astype(kind) for array in np.meshgrid(*2 * [np.arange(256)]))
    graph = Graph()
    sa, sb, sy = scales(seed, 3)
    za, zb, zy = rng(seed).choice(POINTS[kind], 3)
    reals = [graph.dequantize("a", sa, za, kind), graph.dequantize("b", sb, zb, kind)]
    y = graph.add("Add", reals, "y")
    if activation:
        y = graph.add(activation, [y], "z")
    out = graph.quantize(y, sy, zy, kind)
    assert compare(graph, {"a": a, "b": b}, out, kind)[0] == "quantized_add"


def test_add_of_a_constant_and_of_mixed_types() -> None:
    x, graph = integers(1, "int8", 1, 6, 4, 4), Graph()
    real = graph.dequantize("x", 0.5, 3, "int8")
    graph.constant("c", integers(2, "uint8", 6, 1, 1))
    addend = graph.dequantize("c", 0.1, 128, "uint8")
    out = graph.quantize(graph.add("Add", [addend, real], "y"), 0.3, 9, "uint8")
    assert compare(graph, {"x": x}, out, "uint8") == ["quantized_add"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_concat(kind: str, seed: int) -> None:
    a, b, graph = integers(seed, kind, 1, 9, 8, 3), integers(seed + 9, kind, 1, 2, 8, 3), Graph()
    sa, sb, sy = scales(seed, 3)
    za, zb, zy = rng(seed).choice(POINTS[kind], 3)
    reals = [graph.dequantize("a", sa, za, kind), graph.dequantize("b", sb, zb, kind)]
    out = graph.quantize(graph.add("Concat", reals, "y", axis=1), sy, zy, kind)
    assert compare(graph, {"a": a, "b": b}, out, kind)[-1] == "concat"


def test_concat_of_one_scale() -> None:
    a, b, graph = integers(1, "int8", 1, 9), integers(2, "int8", 1, 2), Graph()
    reals = [graph.dequantize(name, 0.5, 3, "int8") for name in "ab"]
    out = graph.quantize(graph.add("Concat", reals, "y", axis=-1), 0.5, 3, "int8")
    assert compare(graph, {"a": a, "b": b}, out, "int8") == ["concat"]


def conv_graph(
    x: Array, w: Array, seed: int, *, per_axis: bool, bias: str, point: int, **more: Any
) -> tuple[Graph, str, str]:
    """A convolution in QDQ format: the graph, its real result, and the type of the output."""
    graph, kind = Graph(), x.dtype.name
    generator = rng(seed)
    count = len(w) if per_axis else 1
    sx, sw = float(generator.uniform(0.01, 0.1)), generator.uniform(0.005, 0.02, count)
    real = graph.dequantize("x", sx, generator.choice(POINTS[kind]), kind)
    graph.constant("w", w)
    points: Any = np.full(count, point) if per_axis else point
    weight = graph.dequantize(
        "w", sw if per_axis else sw[0], points, w.dtype.name, **({"axis": 0} if per_axis else {})
    )
    inputs = [real, weight]
    scale = (np.float32(sx) * sw.astype(np.float32)).astype(np.float32)
    values = generator.integers(-4000, 4000, len(w))
    if bias == "int32":
        graph.constant("b", values, np.int32)
        zero = np.zeros(count, np.int32) if per_axis else 0
        inputs.append(graph.dequantize("b", scale if per_axis else scale[0], zero, "int32", axis=0))
    elif bias == "float":
        inputs.append(graph.constant("b", values * scale, np.float32))
    return graph, graph.add("Conv", inputs, "y", **more), kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", ["int8", "uint8"])
@pytest.mark.parametrize("per_axis", [False, True])
@pytest.mark.parametrize("bias", ["", "int32", "float"])
def test_conv(bias: str, per_axis: bool, weights: str, kind: str) -> None:
    x, w = integers(1, kind, 1, 3, 9, 11), integers(2, weights, 6, 3, 3, 3)
    point = 3 if weights == "int8" else 126
    graph, y, kind = conv_graph(
        x, w, 3, per_axis=per_axis, bias=bias, point=point, pads=[1, 0, 1, 2], strides=[1, 2]
    )
    out = graph.quantize(graph.add("Relu", [y], "z"), 0.7, POINTS[kind][1], kind)
    found = compare(graph, {"x": x}, out, kind, close=True)
    assert found == ["conv2d", "requantize", "clamp"]


@pytest.mark.parametrize("kind", KINDS)
def test_depthwise_and_one_dimensional_convolutions(kind: str) -> None:
    x, w = integers(1, kind, 1, 6, 9, 11), integers(2, "int8", 6, 1, 3, 3)
    graph, y, _ = conv_graph(x, w, 3, per_axis=True, bias="int32", point=0, group=6)
    compare(graph, {"x": x}, graph.quantize(y, 0.4, 3, kind), kind, close=True)
    x, w = integers(1, kind, 1, 6, 30), integers(2, "int8", 5, 6, 3)
    graph, y, _ = conv_graph(x, w, 3, per_axis=True, bias="int32", point=0, pads=[1, 1])
    compare(graph, {"x": x}, graph.quantize(y, 0.4, 3, kind), kind, close=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", ["int8", "uint8"])
@pytest.mark.parametrize("swap", [0, 1])
@pytest.mark.parametrize("per_axis", [False, True])
def test_gemm(per_axis: bool, swap: int, weights: str, kind: str) -> None:
    x, w, graph = integers(1, kind, 4, 30), integers(2, weights, 30, 7), Graph()
    generator = rng(3)
    sw: Any = generator.uniform(0.005, 0.02, 7) if per_axis else 0.01
    graph.constant("w", w.T if swap else w)
    point = 3 if weights == "int8" else 126
    real = graph.dequantize("x", 0.05, POINTS[kind][1], kind)
    weight = graph.dequantize(
        "w", sw, np.full(7, point) if per_axis else point, weights, axis=0 if swap else 1
    )
    bias = graph.constant("b", generator.standard_normal(7), np.float32)
    y = graph.add("Gemm", [real, weight, bias], "y", transB=swap)
    out = graph.quantize(y, 0.1, POINTS[kind][2], kind)
    assert compare(graph, {"x": x}, out, kind, close=True) == ["fully_connected", "requantize"]


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("shape", [(4, 30), (2, 3, 30)])
def test_matmul(shape: tuple[int, ...], with_bias: bool) -> None:
    x, w, graph = integers(1, "int8", *shape), integers(2, "int8", 30, 7), Graph()
    real = graph.dequantize("x", 0.05, 5, "int8")
    graph.constant("w", w)
    weight = graph.dequantize("w", rng(1).uniform(0.005, 0.02, 7), np.zeros(7), "int8", axis=1)
    y = graph.add("MatMul", [real, weight], "y")
    if with_bias:
        y = graph.add("Add", [y, graph.constant("b", rng(2).standard_normal(7), np.float32)], "z")
    found = compare(graph, {"x": x}, graph.quantize(y, 0.1, 3, "int8"), "int8", close=True)
    assert [name for name in found if name != "reshape"] == ["fully_connected", "requantize"]


def test_floats_at_the_edges() -> None:
    graph = Graph()
    real = graph.dequantize(graph.quantize("x", 0.02, 3, "int8"), 0.02, 3, "int8")
    graph.constant("w", integers(2, "int8", 30, 7))
    weight = graph.dequantize("w", 0.01, 0, "int8")
    bias = graph.constant("b", rng(2).standard_normal(7), np.float32)
    y = graph.add("Gemm", [real, weight, bias], "y")
    out = graph.dequantize(graph.quantize(y, 0.3, -4, "int8"), 0.3, -4, "int8")
    x = rng(1).standard_normal((1, 30)).astype(np.float32)
    found = compare(graph, {"x": x}, out, np.float32)
    assert found == ["quantize", "fully_connected", "requantize", "dequantize"]


def test_quantisation_of_odd_floats() -> None:
    graph = Graph()
    out = graph.quantize("x", 0.5, 3, "int8")
    x = np.array([0.25, 0.75, -0.25, 1e30, -1e30, np.inf, -np.inf, np.nan, 62.25], np.float32)
    assert compare(graph, {"x": x}, out, "int8") == ["quantize"]


def test_what_is_left_in_float_is_named(caplog: pytest.LogCaptureFixture) -> None:
    x, graph = integers(1, "int8", 1, 10), Graph()
    y = graph.add("Softmax", [graph.dequantize("x", 0.05, 5, "int8")], "y")
    out = graph.quantize(y, 0.01, 3, "int8")
    found = compare(graph, {"x": x}, out, "int8", close=True)
    assert (found[0], found[-1]) == ("dequantize", "quantize")
    assert caplog.messages == [
        "node 'the_y' (Softmax) of a quantised network is computed in float32"
    ]


@pytest.mark.parametrize("per_axis", [False, True])
def test_weights_that_the_model_quantises_itself(per_axis: bool) -> None:
    x, graph = integers(1, "int8", 1, 3, 9, 11), Graph()
    w = rng(2).standard_normal((6, 3, 3, 3)).astype(np.float32)
    sw: Any = rng(3).uniform(0.01, 0.02, 6) if per_axis else 0.02
    points: Any = np.zeros(6) if per_axis else 0
    real = graph.dequantize("x", 0.05, 5, "int8")
    params = graph.params("w", sw, points, "int8")
    integer = graph.add("QuantizeLinear", [graph.constant("w", w), *params], "w_int", axis=0)
    weight = graph.add("DequantizeLinear", [integer, *params], "w_real", axis=0)
    out = graph.quantize(graph.add("Conv", [real, weight], "y"), 0.4, 3, "int8")
    assert compare(graph, {"x": x}, out, "int8", close=True) == ["conv2d", "requantize"]
