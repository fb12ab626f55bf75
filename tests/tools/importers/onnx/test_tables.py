"""Functions of one quantised map become tables of bytes, bit for bit as in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import defs

from helpers.quantized.build import (
    Array,
    Graph,
    compare,
    imported,
    integers,
    layers,
    onnxruntime_says,
    rng,
)
from npu_dialect.interpreters import run_function
from npu_tools.importers.onnx.rules.activation import FUNCTIONS

KINDS = ("int8", "uint8")
OPERATORS = [op for op in FUNCTIONS if op != "Swish"]  # onnxruntime does not know it yet


def all_bytes(kind: str) -> Array:
    """A map that holds each byte of a type once."""
    limits = np.iinfo(kind)
    return np.arange(limits.min, limits.max + 1).astype(kind).reshape(1, 4, 8, 8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", OPERATORS)
def test_every_function(op: str, kind: str) -> None:
    x, graph = all_bytes(kind), Graph()
    real = graph.dequantize("x", 0.0371, 7, kind)
    out = graph.quantize(graph.add(op, [real], "y"), 0.0213, 11, kind)
    opset = max(13, defs.get_schema(op).since_version)
    assert compare(graph, {"x": x}, out, kind, opset=min(opset, 22)) == ["lookup"]


def quantised(graph: Graph, name: str, scale: float, point: int, kind: str = "int8") -> str:
    """QuantizeLinear and DequantizeLinear of a real map; returns the real map."""
    return graph.dequantize(graph.quantize(name, scale, point, kind), scale, point, kind)


def silu(graph: Graph, real: str, kind: str) -> str:
    """x * sigmoid(x) with integers in between."""
    gate = quantised(graph, graph.add("Sigmoid", [real], "gate"), 0.0039, 0, kind)
    return graph.add("Mul", [real, gate], "y")


def hard_swish(graph: Graph, real: str, kind: str) -> str:
    """x * clip(x + 3, 0, 6) / 6 with integers in between."""
    three, six = (graph.constant(name, n, np.float32) for name, n in (("t", 3), ("s", 6)))
    zero = graph.constant("z", 0, np.float32)
    moved = quantised(graph, graph.add("Add", [real, three], "moved"), 0.05, 3, kind)
    gate = quantised(graph, graph.add("Clip", [moved, zero, six], "gate"), 0.0236, 1, kind)
    product = quantised(graph, graph.add("Mul", [gate, real], "product"), 0.11, 2, kind)
    return graph.add("Div", [product, six], "y")


def gelu(graph: Graph, real: str, _: str) -> str:
    """x / 2 * (1 + erf(x / sqrt(2))) without integers in between."""
    numbers = {"root": 2**0.5, "one": 1, "half": 0.5}
    root, one, half = (graph.constant(*each, np.float32) for each in numbers.items())
    erf = graph.add("Erf", [graph.add("Div", [real, root], "small")], "erf")
    return graph.add(
        "Mul", [graph.add("Mul", [real, graph.add("Add", [erf, one], "a")], "b"), half], "y"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chain", [silu, hard_swish, gelu])
def test_functions_of_several_nodes(chain: Any, kind: str) -> None:
    x, graph = all_bytes(kind), Graph()
    y = chain(graph, graph.dequantize("x", 0.0371, 7, kind), kind)
    assert compare(graph, {"x": x}, graph.quantize(y, 0.0313, 5, kind), kind) == ["lookup"]


def test_a_relu_behind_a_function_is_in_the_table() -> None:
    x, graph = all_bytes("int8"), Graph()
    real = graph.dequantize("x", 0.0371, 7, "int8")
    y = graph.add("Relu", [graph.add("Tanh", [real], "t")], "y")
    assert compare(graph, {"x": x}, graph.quantize(y, 0.01, 3, "int8"), "int8") == ["lookup"]


def test_other_elements_behind_a_function() -> None:
    x, graph = all_bytes("int8"), Graph()
    y = graph.add("Tanh", [graph.dequantize("x", 0.0371, 7, "int8")], "y")
    out = graph.quantize(y, 0.01, 130, "uint8")
    assert compare(graph, {"x": x}, out, "uint8") == ["requantize", "lookup"]


def test_a_table_that_others_read_stays() -> None:
    x, graph = all_bytes("int8"), Graph()
    real = graph.dequantize("x", 0.0371, 7, "int8")
    gate = quantised(graph, graph.add("Sigmoid", [real], "gate"), 0.0039, -128)
    product = quantised(graph, graph.add("Mul", [real, gate], "product"), 0.02, 3)
    out = graph.quantize(graph.add("Add", [product, gate], "y"), 0.03, 4, "int8")
    assert compare(graph, {"x": x}, out, "int8") == ["lookup"]


def test_two_maps_are_no_table() -> None:
    x, z, graph = integers(1, "int8", 1, 4, 3, 3), integers(2, "int8", 1, 4, 3, 3), Graph()
    reals = [graph.dequantize(name, 0.05, 3, "int8") for name in ("x", "z")]
    y = graph.add("Mul", [graph.add("Sigmoid", [reals[0]], "s"), reals[1]], "y")
    found = compare(graph, {"x": x, "z": z}, graph.quantize(y, 0.04, 3, "int8"), "int8", close=True)
    assert "mul" in found[-2] or "binary" in found[-1]


@pytest.mark.parametrize("op", ["Tanh", "Sigmoid"])
def test_real_outputs_are_computed_in_float(op: str) -> None:
    x, graph = all_bytes("int8"), Graph()
    out = graph.add(op, [graph.dequantize("x", 0.0371, 7, "int8")], "y")
    proto = graph.model({"x": x}, out, np.float32, 13)
    module = imported(proto)
    assert layers(module) == ["dequantize", "map"]
    (ours,) = run_function(module, None, [x])
    np.testing.assert_allclose(ours, onnxruntime_says(proto, {"x": x}), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ["QLinearSigmoid", "QLinearLeakyRelu"])
def test_functions_of_the_operator_format(op: str, kind: str) -> None:
    x, graph = all_bytes(kind), Graph()
    params = [*graph.params("x", 0.0371, 7, kind), *graph.params("y", 0.0213, 11, kind)]
    out = graph.add(op, ["x", *params], "y")
    assert compare(graph, {"x": x}, out, kind) == ["lookup"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("axis", "opset"), [(-1, 13), (1, 13), (3, 12)])
def test_softmax_of_the_operator_format(axis: int, opset: int, kind: str) -> None:
    x, graph = all_bytes(kind), Graph()
    low = int(np.iinfo(kind).min)
    params = [*graph.params("x", 0.0371, 7, kind), *graph.params("y", 1 / 256, low, kind)]
    out = graph.add("QLinearSoftmax", ["x", *params], "y", axis=axis, opset=opset)
    compare(graph, {"x": x}, out, kind, close=True)


@pytest.mark.parametrize("scale", [1 / 255, 0.021])
@pytest.mark.parametrize("kind", KINDS)
def test_softmax_with_another_scale(kind: str, scale: float) -> None:
    """onnxruntime divides by the integer below 1 / scale: 254 and 47 steps here."""
    x, graph = integers(1, kind, 40, 3), Graph()
    low = int(np.iinfo(kind).min)
    params = [*graph.params("x", 0.0371, 7, kind), *graph.params("y", scale, low, kind)]
    out = graph.add("QLinearSoftmax", ["x", *params], "y", axis=-1, opset=13)
    compare(graph, {"x": x}, out, kind)


@pytest.mark.parametrize("kind", [np.float32, "int8"])
@pytest.mark.parametrize("width", [1, 6])
def test_a_bias_in_front_of_fast_gelu(width: int, kind: Any) -> None:
    graph = Graph()
    graph.constant("b", rng(3).standard_normal(width).astype(np.float32))
    if kind == "int8":
        source = graph.dequantize("x", 0.03, 5, "int8")
        graph.add("FastGelu", [source, "b"], "z")
        out = graph.quantize("z", 0.02, 3, "int8")
        compare(graph, {"x": integers(1, "int8", 200, width)}, out, kind, close=width > 1)
        return
    out = graph.add("FastGelu", ["x", "b"], "y")
    x = rng(2).standard_normal((2, width)).astype(np.float32)
    proto = graph.model({"x": x}, out, kind, 13)
    (ours,) = run_function(imported(proto), None, [x])
    np.testing.assert_allclose(ours, onnxruntime_says(proto, {"x": x}), rtol=1e-5, atol=1e-6)
