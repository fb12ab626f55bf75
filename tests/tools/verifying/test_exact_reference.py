"""onnxruntime as the reference: its integer sums are exact on every computer.

All numbers are near the ends of their types, so that a sum of two products does not fit into 16
bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from onnx import ModelProto, TensorProto, helper

from helpers.quantized.build import Array, Graph, onnxruntime_says, rng
from npu_tools.verifying.exact_reference import with_exact_sums

STEP = 2.0**13
"""The scale of results, with which sums of a few products of bytes fit into 8 bits."""
WEIGHTS = [False, True]


def large(seed: int, kind: str, *shape: int) -> Array:
    """Integers in the upper quarter of a type."""
    limits = np.iinfo(kind)
    quarter = (int(limits.max) - int(limits.min)) // 4
    return rng(seed).integers(limits.max - quarter, limits.max + 1, shape).astype(kind)


def rescaled(sums: Array, kind: str) -> Array:
    """Exact sums as a quantised result."""
    limits = np.iinfo(kind)
    return np.clip(np.rint(sums / STEP), limits.min, limits.max).astype(kind)


def operand(graph: Graph, feeds: dict[str, Array], name: str, value: Array, constant: bool) -> str:
    """Add an initialiser or an input to the model; returns its name."""
    if constant:
        return graph.constant(name, value)
    feeds[name] = value
    return name


def says(graph: Graph, feeds: dict[str, Array], kind: Any) -> Array:
    """The output `y` of the reference."""
    return onnxruntime_says(graph.model(feeds, "y", kind, 13), feeds)


@pytest.mark.parametrize("constant", WEIGHTS)
@pytest.mark.parametrize(
    ("first", "second"),
    [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")],
)
def test_integer_products(first: str, second: str, constant: bool) -> None:
    a, b = large(1, first, 5, 64), large(2, second, 64, 7)
    points = np.arange(7, dtype=second)
    for zero_points in (False, True):
        graph, feeds = Graph(), {"a": a}
        inputs = ["a", operand(graph, feeds, "b", b, constant)]
        want = a.astype(np.int64) @ b.astype(np.int64)
        if zero_points:
            inputs += [graph.constant("az", 3, first), graph.constant("bz", points)]
            want = (a.astype(np.int64) - 3) @ (b.astype(np.int64) - points)
        graph.add("MatMulInteger", inputs, "y")
        np.testing.assert_array_equal(says(graph, feeds, np.int32), want)


def convolution(x: Array, w: Array) -> Array:
    """Exact sums of a convolution without pads."""
    windows = sliding_window_view(x.astype(np.int64), w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w.astype(np.int64))


@pytest.mark.parametrize("constant", WEIGHTS)
@pytest.mark.parametrize(("first", "second"), [("uint8", "int8"), ("int8", "uint8")])
def test_integer_convolutions(first: str, second: str, constant: bool) -> None:
    x, w = large(1, first, 1, 8, 6, 7), large(2, second, 6, 8, 3, 3)
    graph, feeds = Graph(), {"x": x}
    graph.add("ConvInteger", ["x", operand(graph, feeds, "w", w, constant)], "y")
    np.testing.assert_array_equal(says(graph, feeds, np.int32), convolution(x, w))


@pytest.mark.parametrize("constant", WEIGHTS)
@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("op", ["QLinearMatMul", "QGemm"])
def test_quantised_products(op: str, kind: str, constant: bool) -> None:
    a, b = large(1, kind, 5, 64), large(2, "int8", 64, 7)
    graph, feeds = Graph(), {"a": a}
    points = np.full(7, 11, np.int8)
    inputs = ["a", *graph.params("a", 1, 3, kind)]
    inputs += [operand(graph, feeds, "b", b, constant), *graph.params("b", [1] * 7, points, "int8")]
    if op == "QGemm":
        inputs.append(graph.constant("bias", np.zeros(7, np.int32)))
    graph.add(op, [*inputs, *graph.params("y", STEP, 0, kind)], "y")
    want = (a.astype(np.int64) - 3) @ (b.astype(np.int64) - 11)
    np.testing.assert_array_equal(says(graph, feeds, kind), rescaled(want, kind))


@pytest.mark.parametrize("constant", WEIGHTS)
@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("points", [0, np.zeros(6), np.full(6, -9)], ids=["one", "zeros", "equal"])
def test_quantised_convolutions(points: Any, kind: str, constant: bool) -> None:
    x, w = large(1, kind, 1, 8, 6, 7), large(2, "int8", 6, 8, 3, 3)
    graph, feeds = Graph(), {"x": x}
    inputs = ["x", *graph.params("x", 1, 5, kind), operand(graph, feeds, "w", w, constant)]
    inputs += graph.params("w", np.ones(np.shape(points)), points, "int8")
    graph.add("QLinearConv", [*inputs, *graph.params("y", STEP, 0, kind)], "y")
    offset = int(np.max(points) + np.min(points)) // 2
    want = convolution(x.astype(np.int64) - 5, w.astype(np.int64) - offset)
    np.testing.assert_array_equal(says(graph, feeds, kind), rescaled(want, kind))


def test_values_keep_their_names_and_weights_are_shared() -> None:
    """Two nodes share a weight that another node reads, too. For that node it stays as it is."""
    a, b = large(1, "uint8", 4, 64), large(2, "int8", 64, 64)
    graph = Graph()
    graph.constant("b", b)
    first = graph.add("Cast", [graph.add("MatMulInteger", ["a", "b"], "sums")], "real", to=1)
    rows = graph.quantize(first, 2.0**14, 0, "uint8")
    graph.add("MatMulInteger", [rows, "b", "", graph.constant("b_exact", 2, "int8")], "y")
    graph.add("Identity", ["b"], "weights")
    proto = graph.model({"a": a}, "y", np.int32, 13)
    for name, kind in (("sums", TensorProto.INT32), ("weights", TensorProto.INT8)):
        proto.graph.output.insert(0, helper.make_tensor_value_info(name, kind, None))
    before = proto.SerializeToString()
    exact = with_exact_sums(proto)
    assert proto.SerializeToString() == before
    assert [node.op_type for node in exact.graph.node] == [node.op_type for node in graph.nodes]
    assert len(exact.graph.initializer) == len(proto.graph.initializer) + 3  # one for no zero point
    np.testing.assert_array_equal(onnxruntime_says(proto, {"a": a}), b)
    del proto.graph.output[0]
    sums = a.astype(np.int64) @ b.astype(np.int64)
    np.testing.assert_array_equal(onnxruntime_says(proto, {"a": a}), sums)
    del proto.graph.output[0]
    rows_ = np.clip(np.rint(sums / 2.0**14), 0, 255).astype(np.int64)
    np.testing.assert_array_equal(onnxruntime_says(proto, {"a": a}), rows_ @ (b.astype(int) - 2))


def test_other_models_stay_as_they_are() -> None:
    """A model without such nodes is not even copied."""
    graph = Graph()
    graph.add("Relu", ["x"], "y")
    proto: ModelProto = graph.model({"x": np.ones((2, 3), np.float32)}, "y", np.float32, 13)
    assert with_exact_sums(proto) is proto
