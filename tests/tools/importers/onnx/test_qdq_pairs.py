"""Two quantised maps of which an operator makes one: the bits of DequantizeLinear, the operator,
QuantizeLinear in onnxruntime.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.quantized.build import (
    NICE,
    Graph,
    compare,
    imported,
    integers,
    layers,
    onnxruntime,
    rng,
)
from npu_dialect.interpreters import run_function

KINDS = ("int8", "uint8")
PAIRS = ("Mul", "Sub", "Div", "Max", "Min")


def points(seed: int, kind: str, count: int) -> list[int]:
    """Random zero points of a type."""
    limits = np.iinfo(kind)
    return [int(point) for point in rng(seed).integers(limits.min, limits.max + 1, count)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", PAIRS)
def test_all_pairs_of_bytes(op: str, kind: str, seed: int, caplog: Any) -> None:
    a, b = (array.astype(kind) for array in np.meshgrid(*2 * [np.arange(256)]))
    scales, (za, zb, z) = rng(seed).choice(NICE, 3), points(seed, kind, 3)
    graph = Graph()
    reals = [
        graph.dequantize("a", scales[0], za, kind),
        graph.dequantize("b", scales[1], zb, kind),
    ]
    out = graph.quantize(graph.add(op, reals, "y"), scales[2], z, kind)
    assert compare(graph, {"a": a, "b": b}, out, kind) == ["quantized_binary"]
    assert not caplog.messages


def gated(kind: str) -> tuple[Graph, str]:
    """A map [1, 6, 5, 7] times a gate of each channel."""
    graph = Graph()
    x, gate = graph.dequantize("x", 0.05, 3, kind), graph.dequantize("gate", 1 / 255, 0, kind)
    return graph, graph.quantize(graph.add("Mul", [x, gate], "y"), 0.03, 5, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_gate_of_each_channel(kind: str) -> None:
    graph, out = gated(kind)
    feeds = {"x": integers(1, kind, 1, 6, 5, 7), "gate": integers(2, kind, 1, 6, 1, 1)}
    assert compare(graph, feeds, out, kind) == ["quantized_binary"]
    proto = graph.model(feeds, out, kind, 13)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (ours,) = run_function(imported(proto), None, list(feeds.values()))
    apart = np.abs(ours.astype(int) - session.run(None, feeds)[0].astype(int))
    assert apart.max() <= 1, "with its optimisations, onnxruntime rounds once less"


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_maxima_of_one_scale_need_no_other(op: str) -> None:
    graph, feeds = Graph(), {name: integers(i, "int8", 2, 9) for i, name in enumerate("ab")}
    reals = [graph.dequantize(name, 0.1, 3, "int8") for name in feeds]
    out = graph.quantize(graph.add(op, reals, "y"), 0.1, 3, "int8")
    assert compare(graph, feeds, out, "int8") == ["binary"]


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_a_bound_is_a_clamp(op: str) -> None:
    graph = Graph()
    graph.constant("bound", 0.7, np.float32)
    real = graph.dequantize("x", 0.1, 3, "int8")
    out = graph.quantize(graph.add(op, ["bound", real], "y"), 0.1, 3, "int8")
    assert compare(graph, {"x": integers(1, "int8", 2, 99)}, out, "int8") == ["clamp"]


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5])
def test_a_power_is_a_table(exponent: float) -> None:
    graph = Graph()
    graph.constant("p", exponent, np.float32)
    real = graph.dequantize("x", 0.1, -128, "int8")
    out = graph.quantize(graph.add("Pow", [real, "p"], "y"), 3.0, 3, "int8")
    assert compare(graph, {"x": integers(1, "int8", 2, 99)}, out, "int8") == ["lookup"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_quantised_constant(kind: str) -> None:
    graph = Graph()
    graph.constant("w", integers(3, kind, 9))
    reals = [graph.dequantize(name, 0.1, 3, kind) for name in ("x", "w")]
    out = graph.quantize(graph.add("Sub", reals[::-1], "y"), 0.2, 3, kind)
    found = compare(graph, {"x": integers(1, kind, 2, 9)}, out, kind)
    assert found == ["quantized_binary"]


MEANS: dict[tuple[int, ...], list[str]] = {
    (2, 3): ["quantized_avg_pool2d"],
    (1,): ["quantized_avg_pool2d"],
    (1, 2, 3): ["quantized_avg_pool2d"],
    (3,): ["quantized_avg_pool2d"],
    (1, 3): ["dequantize", "reduce", "quantize"],
}


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", MEANS)
def test_means_over_any_axes(axes: tuple[int, ...], kind: str, keep: int) -> None:
    graph = Graph()
    real = graph.dequantize("x", 0.05, 3, kind)
    y = graph.add("ReduceMean", [real], "y", axes=list(axes), keepdims=keep)
    out = graph.quantize(y, 0.03, 5, kind)
    found = compare(graph, {"x": integers(1, kind, 2, 6, 5, 7)}, out, kind, close=True)
    assert [name for name in found if name != "reshape"] == MEANS[axes]


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("axes", [(1,), (0, 3), (2, 3)])
def test_maxima_over_any_axes(op: str, axes: tuple[int, ...], caplog: Any) -> None:
    graph = Graph()
    real = graph.dequantize("x", 0.05, 3, "int8")
    y = graph.add(op, [real], "y", axes=list(axes))
    out = graph.quantize(y, 0.05, 3, "int8")
    assert compare(graph, {"x": integers(1, "int8", 2, 6, 5, 7)}, out, "int8") == ["reduce"]
    assert not caplog.messages


@pytest.mark.parametrize("axis", [0, 1, 3])
@pytest.mark.parametrize("log", ["", "Log"])
def test_softmax_between_conversions(axis: int, log: str) -> None:
    graph = Graph()
    real = graph.dequantize("x", 0.05, 3, "int8")
    y = graph.add(f"{log}Softmax", [real], "y", axis=axis)
    out = graph.quantize(y, 0.05 if log else 1 / 256, 120 if log else -128, "int8")
    found = compare(graph, {"x": integers(1, "int8", 2, 6, 5, 7)}, out, "int8", close=True)
    assert found == ["dequantize", "softmax", "quantize"]


def test_the_class_of_a_quantised_network() -> None:
    """The index of the greatest integer is that of the greatest real number."""
    graph, x = Graph(), integers(1, "int8", 3, 10)
    real = graph.dequantize("x", 0.05, 3, "int8")
    graph.add("ArgMax", [real], "index", axis=1)
    out = graph.add("Cast", ["index"], "class", to=6)
    proto = graph.model({"x": x}, out, np.int32, 13)
    module = imported(proto)
    assert layers(module) == ["reduce"]
    (ours,) = run_function(module, None, [x])
    np.testing.assert_array_equal(ours, x.argmax(axis=1, keepdims=True))
