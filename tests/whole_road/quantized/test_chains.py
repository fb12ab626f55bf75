"""Several operators between DequantizeLinear and QuantizeLinear: on integers, equal to onnxruntime.

Other quantisers than onnxruntime's leave such chains: there is no QuantizeLinear between a
convolution and the operators behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from helpers.quantized.build import Graph, compare, integers, rng

KINDS = ("int8", "uint8")
POINTS = {"int8": -3, "uint8": 131}
Step = tuple[str, dict[str, Any]]

FIRST: dict[str, list[str]] = {
    "Conv": ["conv2d", "requantize"],
    "Conv1d": ["reshape", "conv2d", "requantize", "reshape"],
    "MatMul": ["reshape", "fully_connected", "requantize", "reshape"],
    "Add": ["quantized_add"],
    "AveragePool": ["quantized_avg_pool2d"],
    "GlobalAveragePool": ["quantized_avg_pool2d"],
    "Concat": ["requantize", "requantize", "requantize", "concat"],
    "MaxPool": ["max_pool2d", "requantize"],
}
"""The first operator of a chain, and the layers that it becomes."""

ONE_PIXEL = ("GlobalAveragePool",)
"""Those that give a map [N, C, 1, 1]."""

REST: dict[str, tuple[list[Step], list[str]]] = {
    "none": ([], []),
    "Relu": ([("Relu", {})], ["clamp"]),
    "Clip": ([("Clip", {})], ["clamp"]),
    "Relu, Clip": ([("Relu", {}), ("Clip", {})], ["clamp"]),
    "Flatten": ([("Flatten", {})], ["reshape"]),
    "Reshape": ([("Reshape", {})], ["reshape"]),
    "Transpose": ([("Transpose", {})], ["transpose"]),
    "Unsqueeze": ([("Unsqueeze", {})], ["reshape"]),
    "Squeeze": ([("Squeeze", {})], ["reshape"]),
    "Identity, Dropout": ([("Identity", {}), ("Dropout", {})], []),
    "Relu, Flatten, Identity": (
        [("Relu", {}), ("Flatten", {}), ("Identity", {})],
        ["clamp", "reshape"],
    ),
    "Transpose, Relu": ([("Transpose", {}), ("Relu", {})], ["transpose", "clamp"]),
}
"""The rest of a chain by name: its operators, and the layers that they become."""

POOLS: dict[str, list[Step]] = {
    "MaxPool": [("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]})],
    "Relu, MaxPool": [("Relu", {}), ("MaxPool", {"kernel_shape": [2, 1]})],
    "GlobalMaxPool, Flatten": [("GlobalMaxPool", {}), ("Flatten", {})],
}


def first(graph: Graph, op: str, kind: str) -> tuple[str, tuple[int, ...]]:
    """Add the first operator on real numbers; returns its result, and the shape of its input."""
    shape = {"Conv1d": (1, 4, 9), "MatMul": (1, 2, 12)}.get(op, (1, 4, 6, 6))
    real = graph.dequantize("x", 0.1, POINTS[kind], kind)
    if op in ("Conv", "Conv1d"):
        graph.constant("w", integers(2, "int8", 6, 4, *[3] * (len(shape) - 2)))
        weight = graph.dequantize("w", rng(1).uniform(0.01, 0.02, 6), np.zeros(6), "int8", axis=0)
        return graph.add("Conv", [real, weight], "y"), shape
    if op == "MatMul":
        graph.constant("w", integers(2, "int8", 12, 6))
        weight = graph.dequantize("w", rng(1).uniform(0.01, 0.02, 6), np.zeros(6), "int8", axis=1)
        return graph.add("MatMul", [real, weight], "y"), shape
    more: dict[str, Any] = {
        "AveragePool": {"kernel_shape": [3, 3]},
        "MaxPool": {"kernel_shape": [3, 3]},
        "Concat": {"axis": 1},
    }.get(op, {})
    inputs = [real]
    if op == "Add":
        graph.constant("z", integers(3, kind, *shape))
        inputs.append(graph.dequantize("z", 0.07, 5, kind))
    if op == "Concat":
        other = graph.quantize(real, 0.15, 0, kind)
        inputs.append(graph.dequantize(other, 0.15, 0, kind))
    return graph.add(op, inputs, "y", **more), shape


def operands(graph: Graph, op: str, rank: int) -> tuple[list[str], dict[str, Any]]:
    """The other operands of an operator, and its attributes."""
    match op:
        case "Clip":
            low = graph.constant("low", -2.0, np.float32)
            return [low, graph.constant("high", 11.0, np.float32)], {}
        case "Reshape":
            return [graph.constant("shape", [-1, 2], np.int64)], {}
        case "Unsqueeze":
            return [graph.constant("axes", [1], np.int64)], {}
        case "Squeeze":
            return [graph.constant("axes", [0], np.int64)], {}
        case "Transpose":
            return [], {"perm": [0, *reversed(range(1, rank))]}
        case _:
            return [], {}


def chain(op: str, steps: Sequence[Step], kind: str) -> tuple[Graph, str, tuple[int, ...]]:
    """An operator and what follows it, between DequantizeLinear and QuantizeLinear."""
    graph = Graph()
    y, shape = first(graph, op, kind)
    for index, (name, attributes) in enumerate(steps):
        more, found = operands(graph, name, len(shape))
        y = graph.add(name, [y, *more], f"step{index}", **attributes, **found)
    scale = 1.0 if op in ("Conv", "Conv1d", "MatMul") else 0.17
    return graph, graph.quantize(y, scale, POINTS[kind] + 9, kind), shape


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rest", REST)
@pytest.mark.parametrize("op", FIRST)
def test_chains(op: str, rest: str, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    steps, layers = REST[rest]
    graph, out, shape = chain(op, steps, kind)
    close = op in ("Conv", "Conv1d", "MatMul")
    found = compare(graph, {"x": integers(1, kind, *shape)}, out, kind, close=close)
    expected = joined(op, layers)
    if (op, rest) == ("MatMul", "Squeeze"):  # back to the rows of the fully connected layer
        expected = expected[:-1]
    assert sorted(found) == sorted(expected)
    assert not caplog.messages


def joined(op: str, rest: Sequence[str]) -> list[str]:
    """The layers of a chain: reshapes in a row are one, as is a transposition of one pixel."""
    moved = ["reshape" if op in ONE_PIXEL and each == "transpose" else each for each in rest]
    layers = [*FIRST[op], *moved]
    return [each for each, last in zip(layers, ["", *layers]) if (each, last) != ("reshape",) * 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rest", POOLS)
@pytest.mark.parametrize("op", ["Conv", "Add", "AveragePool", "Concat", "MaxPool"])
def test_pools(op: str, rest: str, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    graph, out, shape = chain(op, POOLS[rest], kind)
    x = integers(1, kind, *shape)
    found = compare(graph, {"x": x}, out, kind, close=op == "Conv")
    assert "dequantize" not in found
    assert not caplog.messages


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("op", "more"),
    [
        ("Flatten", {}),
        ("Transpose", {"perm": [0, 2, 3, 1]}),
        ("MaxPool", {"kernel_shape": [2, 2]}),
        ("Identity", {}),
        ("Squeeze", {}),
        ("Unsqueeze", {}),
        ("Reshape", {}),
        ("Concat", {"axis": 1}),
    ],
)
def test_integers_pass_through(op: str, more: dict[str, Any], kind: str) -> None:
    """Between operators with scales as operands, these operators work on integers directly."""
    graph, x = Graph(), integers(1, kind, 1, 4, 6, 6)
    params = graph.params("x", 0.1, POINTS[kind], kind)
    y = graph.add("QLinearAdd", ["x", *params, "x", *params, *params], "y")
    extra, found = operands(graph, op, 4)
    y = graph.add(op, [y, *([y] if op == "Concat" else extra)], "z", **{**found, **more})
    out = graph.add("QLinearAdd", [y, *params, y, *params, *params], "out")
    names = compare(graph, {"x": x}, out, kind)
    assert not {"dequantize", "quantize", "requantize"} & set(names)
    assert names.count("quantized_add") == 2


FLOATS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("Mul", {}, ("factor",)),
    ("Sub", {}, ("factor",)),
    ("Div", {}, ("factor",)),
    ("Softmax", {"axis": 1}, ()),
    ("LRN", {"size": 3}, ()),
]
"""Operators without an integer form: name, attributes, further operands."""


@pytest.mark.parametrize("form", ["qdq", "operators"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("op", "more", "others"), FLOATS)
def test_nodes_in_float(
    op: str,
    more: dict[str, Any],
    others: tuple[str, ...],
    kind: str,
    form: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The operator is computed in float32 between two conversions, and a warning names it."""
    graph, x, source = Graph(), integers(1, kind, 1, 4, 6, 6), "x"
    if form == "operators":
        params = graph.params("a", 0.02, POINTS[kind], kind)
        source = graph.add("QLinearAdd", ["x", *params, "x", *params, *params], "a2")
    real = graph.dequantize(source, 0.02, POINTS[kind], kind)
    graph.constant("factor", rng(1).uniform(0.5, 2, (1, 4, 1, 1)), np.float32)
    y = graph.add(op, [real, *others], "y", **more)
    out = graph.quantize(y, 0.013, 3, kind)
    found = compare(graph, {"x": x}, out, kind, close=True, opset=14)
    first = 1 if form == "operators" else 0
    assert (found[first], found[-1]) == ("dequantize", "quantize")
    assert caplog.messages == [f"node 'the_y' ({op}) of a quantised network is computed in float32"]
