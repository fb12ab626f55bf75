"""Networks whose maps are int16 (QDQ, opset 21): equal to onnxruntime's within one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import i32, i64

from helpers.quantized.build import Array, Graph, compare, imported, integers, layers, rng
from helpers.quantized.networks import residual
from npu_dialect.npu import FullyConnectedOp

KIND = "int16"
OPSET = 21


def matches(
    graph: Graph, x: Array, out: str, kind: str = KIND, *, close: bool = False
) -> list[str]:
    """The layers of a model that gives the integers of onnxruntime."""
    return compare(graph, {"x": x}, out, kind, opset=OPSET, close=close)


def sandwich(op: str, x: Array, seed: int, *inputs: str, **more: Any) -> tuple[Graph, str]:
    """DequantizeLinear, an operator, QuantizeLinear, with zero points that are not 0."""
    graph = Graph()
    scale, after = rng(seed).uniform(0.0001, 0.001, 2).astype(np.float32)
    y = graph.add(op, [graph.dequantize("x", scale, 7, KIND), *inputs], "y", **more)
    return graph, graph.quantize(y, after, -300, KIND)


MOVES: dict[str, dict[str, Any]] = {
    "Relu": {},
    "Flatten": {},
    "Transpose": {"perm": [0, 3, 1, 2]},
    "GlobalMaxPool": {},
    "GlobalAveragePool": {},
    "MaxPool": {"kernel_shape": [2, 2], "strides": [2, 2]},
    "AveragePool": {"kernel_shape": [3, 2], "strides": [1, 1]},
    "Concat": {"axis": 1},
    "ReduceMax": {"keepdims": 1},
}


@pytest.mark.parametrize("op", MOVES)
def test_one_map(op: str) -> None:
    x = integers(3, KIND, 1, 3, 8, 11)
    graph, out = sandwich(op, x, 3, **MOVES[op])
    assert "dequantize" not in matches(graph, x, out)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
def test_two_maps(op: str) -> None:
    x, graph = integers(4, KIND, 1, 3, 6, 5), Graph()
    lhs = graph.dequantize("x", 0.0004, 11, KIND)
    graph.constant("c", integers(5, KIND, 1, 3, 6, 5))
    rhs = graph.dequantize("c", 0.0007, 0, KIND)
    out = graph.quantize(graph.add(op, [lhs, rhs], "y"), 0.002, 3, KIND)
    assert "dequantize" not in matches(graph, x, out)


def test_between_8_and_16_bits() -> None:
    """A map of 16 bits may come from one of 8 bits, and go back."""
    x, graph = integers(6, "uint8", 1, 3, 6, 5), Graph()
    real = graph.dequantize("x", 0.1, 100, "uint8")
    wide = graph.dequantize(graph.quantize(real, 0.0008, 0, KIND), 0.0008, 0, KIND)
    out = graph.quantize(graph.add("Relu", [wide], "y"), 0.1, -128, "int8")
    assert matches(graph, x, out, "int8") == ["requantize", "requantize"]


def test_functions_are_floats() -> None:
    """There is no table for 65536 numbers, nor one of 16-bit entries."""
    x = integers(7, KIND, 1, 3, 6, 5)
    graph, out = sandwich("Sigmoid", x, 7)
    assert matches(graph, x, out, close=True) == ["dequantize", "map", "quantize"]
    bytes_, graph = integers(7, "int8", 1, 3, 6, 5), Graph()
    y = graph.add("Sigmoid", [graph.dequantize("x", 0.05, 3, "int8")], "y")
    out = graph.quantize(y, 1 / 65536, -32768, KIND)
    assert matches(graph, bytes_, out, close=True) == ["dequantize", "map", "quantize"]


def linear(op: str, depth: int, largest: int, bias: int) -> tuple[Graph, str, Array]:
    """A convolution or a matrix product with int8 weights of at most `largest`, and a bias."""
    graph, generator = Graph(), rng(depth)
    scales = generator.uniform(0.002, 0.01, 4).astype(np.float32)
    tail = (3, 3) if op == "Conv" else ()
    weight = generator.integers(-largest, largest + 1, (4, depth, *tail)).astype(np.int8)
    graph.constant("w", weight)
    graph.constant("b", np.full(4, bias), np.int32)
    sums = np.float32(0.0005) * scales
    w = graph.dequantize("w", scales, np.zeros(4), "int8", axis=0)
    b = graph.dequantize("b", sums, np.zeros(4, np.int32), "int32", axis=0)
    shape = (1, depth, 5, 6) if op == "Conv" else (3, depth)
    x = integers(depth, KIND, *shape)
    more: dict[str, Any] = {"pads": [1] * 4} if op == "Conv" else {"transB": 1}
    y = graph.add(op, [graph.dequantize("x", 0.0005, 0, KIND), w, b], "y", **more)
    return graph, graph.quantize(y, 0.0005 * 0.01 * largest * np.sqrt(depth) * 4, 0, KIND), x


@pytest.mark.parametrize("op", ["Conv", "Gemm"])
def test_sums(op: str) -> None:
    graph, out, x = linear(op, 5, 127, 99)
    matches(graph, x, out, close=True)


@pytest.mark.parametrize(
    ("depth", "bias", "element"), [(500, 0, i32), (520, 0, i64), (8, 2**31 - 1, i64)]
)
def test_sums_that_may_overflow_are_wider(depth: int, bias: int, element: Any) -> None:
    """Sums are i32 only if all maps have sums of 32 bits; 516 products of 127 have not."""
    graph, _, _ = linear("Gemm", depth, 127, bias)
    graph.weights["w"] = np.full((4, depth), 127, np.int8)
    x = np.full((3, depth), -32768, np.int16)
    module = imported(graph.model({"x": x}, "y_int", KIND, OPSET))
    (layer,) = (op for op in module.walk() if isinstance(op, FullyConnectedOp))
    assert layer.sums_element == element
    matches(graph, x, "y_int", close=True)


def test_no_layer_of_a_network_is_float() -> None:
    found = layers(imported(residual(inner=KIND)))
    assert found.count("quantize") == found.count("dequantize") == 1
