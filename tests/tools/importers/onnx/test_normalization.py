"""Normalisations by mean and variance against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.onnx_models import (
    NEWEST,
    check,
    expected,
    imported,
    layers,
    model,
    node,
    numbers,
    rejected,
)
from helpers.quantized.build import Graph, compare, integers
from npu_dialect.interpreters import run_function

ONE = ["npu.normalize"]
GROUPS = ["npu.reshape", "npu.normalize", "npu.reshape"]


@pytest.mark.parametrize(
    ("shape", "scale", "attributes"),
    [
        ((2, 4, 6), (6,), {}),
        ((2, 4, 6), (6,), {"axis": 2, "epsilon": 0.5}),
        ((2, 4, 6), (4, 6), {"axis": -2}),
        ((3, 1, 5), (3, 1, 5), {"axis": 0}),
        ((7,), (7,), {}),
    ],
)
@pytest.mark.parametrize("inputs", ["x s b", "x s"])
def test_layer(
    shape: tuple[int, ...], scale: tuple[int, ...], attributes: dict[str, Any], inputs: str
) -> None:
    layer = node("LayerNormalization", inputs, **attributes)
    weights = {"s": numbers(*scale), "b": numbers(*scale, seed=3)}
    used = {name: weights[name] for name in inputs.split()[1:]}
    assert layers(check(model([layer], {"x": shape}, weights=used, opset=17))) == ONE
    computed = {name: array.shape for name, array in used.items()}
    assert layers(check(model([layer], {"x": shape, **computed}, opset=17))) == ONE


@pytest.mark.parametrize("shape", [(2, 6, 5), (1, 6, 5, 3), (1, 6, 2, 3, 4)])
def test_instance(shape: tuple[int, ...]) -> None:
    layer = node("InstanceNormalization", "x s b", epsilon=0.01)
    weights = {"s": numbers(6), "b": numbers(6, seed=3)}
    assert layers(check(model([layer], {"x": shape}, weights=weights))) == ONE
    computed = check(model([layer], {"x": shape, "s": (6,), "b": (6,)}))
    assert layers(computed) == ["npu.reshape", "npu.reshape", "npu.normalize"]


@pytest.mark.parametrize(("opset", "count"), [(18, 3), (21, 6), (NEWEST, 6)])
@pytest.mark.parametrize("shape", [(2, 6, 5), (1, 6, 5, 3)])
def test_group(opset: int, count: int, shape: tuple[int, ...]) -> None:
    layer = node("GroupNormalization", "x s b", num_groups=3)
    weights = {"s": numbers(count), "b": numbers(count, seed=3)}
    proto = model([layer], {"x": shape}, weights=weights, opset=opset)
    assert layers(check(proto)) == GROUPS


@pytest.mark.parametrize("opset", [18, 21])
def test_group_in_front_of_another_node(opset: int) -> None:
    """ONNX infers no shape of GroupNormalization, so none of what follows."""
    nodes = [node("GroupNormalization", "x s b", "z", num_groups=1), node("Relu", "z")]
    proto = model(nodes, {"x": (1, 1, 5)}, weights={"s": numbers(1), "b": numbers(1)}, opset=opset)
    assert layers(check(proto)) == [*GROUPS, "npu.relu"]


def test_layer_before_opset_17() -> None:
    """onnxruntime has LayerNormalization in ONNX's domain from the first opset on."""
    nodes = [node("LayerNormalization", "x s", "z"), node("Relu", "z")]
    proto = model(nodes, {"x": (2, 4, 6)}, weights={"s": numbers(6)}, opset=13)
    assert layers(check(proto)) == [*ONE, "npu.relu"]


def test_a_statistic_of_a_layer_that_is_read() -> None:
    nodes = [node("LayerNormalization", "x s", "y m i"), node("Softmax", "i", "z")]
    check(model(nodes, {"x": (2, 4, 6)}, ["y", "z"], {"s": numbers(6)}, opset=17))


@pytest.mark.parametrize("axes", [None, [1], [2, 0], [-1]])
def test_mean_variance(axes: list[int] | None) -> None:
    layer = node("MeanVarianceNormalization", "x", **({} if axes is None else {"axes": axes}))
    assert layers(check(model([layer], {"x": (2, 3, 5, 4)}))) == ONE


def test_rms() -> None:
    layer = node("RMSNormalization", "x s", axis=1)
    weights = {"s": numbers(4, 6)}
    assert layers(check(model([layer], {"x": (2, 4, 6)}, weights=weights, opset=23))) == ONE


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_simplified_layer(domain: str) -> None:
    layer = node("SimplifiedLayerNormalization", "x s", axis=-1, epsilon=1e-6)
    layer.domain = domain
    proto = model([layer], {"x": (2, 4, 6)}, weights={"s": numbers(6)}, opset=17)
    module = imported(proto)
    assert layers(module) == ONE
    x = numbers(2, 4, 6, seed=5)
    layer.domain = ""  # onnxruntime has it there
    proto.graph.node[0].CopyFrom(layer)
    (ours,), (theirs,) = run_function(module, None, [x]), expected(proto, {"x": x})
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("outputs", ["y mean inverse", "y _ inverse", "y mean"])
def test_statistics_of_a_layer(outputs: str) -> None:
    names = ["" if name == "_" else name for name in outputs.split()]
    layer = node("LayerNormalization", "x s", axis=1, epsilon=0.01)
    layer.output[:] = names
    read = [name for name in names if name]
    check(model([layer], {"x": (2, 4, 6)}, read, {"s": numbers(4, 6)}, opset=17))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sum_of_amounts(axis: int) -> None:
    layer = node("LpNormalization", "x", axis=axis, p=1)
    check(model([layer], {"x": (2, 3, 5)}, opset=22))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_euclidean_norm(axis: int) -> None:
    layer = node("LpNormalization", "x", axis=axis)
    assert layers(check(model([layer], {"x": (2, 3, 5)}, opset=22))) == ONE


def test_a_vector_of_zeros_stays_zero() -> None:
    for layer in (
        node("LpNormalization", "x"),
        node("LpNormalization", "x", p=1),
        node("MeanVarianceNormalization", "x", axes=[1]),
    ):
        module = imported(model([layer], {"x": (2, 3)}))
        (found,) = run_function(module, None, [np.zeros((2, 3), np.float32)])
        np.testing.assert_array_equal(found, np.zeros((2, 3)))


def test_a_large_offset_does_not_cancel() -> None:
    layer = node("LayerNormalization", "x s")
    proto = model([layer], {"x": (3, 4000)}, weights={"s": np.ones(4000, np.float32)}, opset=17)
    x = numbers(3, 4000) + np.float32(1000)
    (found,) = run_function(imported(proto), None, [x])
    wide = x.astype(np.float64)
    wanted = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_quantised_maps_are_normalised_in_float() -> None:
    graph = Graph()
    graph.constant("s", numbers(6))
    real = graph.dequantize("x", 0.25, 9, "uint8")
    out = graph.quantize(graph.add("LayerNormalization", [real, "s"], "n"), 0.05, 100, "uint8")
    x = integers(0, "uint8", 2, 4, 6)
    found = compare(graph, {"x": x}, out, "uint8", opset=17, close=True)
    assert found == ["dequantize", "normalize", "quantize"]


X = {"x": (2, 6, 4)}
S = {"s": numbers(6)}


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("LayerNormalization", {}, "expected a scale that broadcasts to [2, 6, 4]"),
        ("LayerNormalization", {"axis": 3}, "axis 3 of a map of rank 3"),
        ("LayerNormalization", {"epsilon": -1.0}, "expected an epsilon of at least 0"),
        ("LayerNormalization", {"epsilon": float("nan")}, "expected an epsilon of at least 0"),
        ("GroupNormalization", {"num_groups": 4}, "4 groups of 6 channels"),
        ("GroupNormalization", {"num_groups": 0}, "0 groups of 6 channels"),
    ],
)
def test_rejected(op: str, attributes: dict[str, Any], message: str) -> None:
    inputs = "x s s" if op == "GroupNormalization" else "x s"
    rejected(model([node(op, inputs, **attributes)], X, weights=S, opset=21), message)


def test_wrong_operands_are_rejected() -> None:
    flat = model([node("InstanceNormalization", "x s s")], {"x": (2, 6)}, weights=S)
    rejected(flat, "expected [N, C, ...] with 3 axes or more")
    few = model([node("InstanceNormalization", "x s s")], {"x": (2, 5, 4)}, weights=S)
    rejected(few, "input 's' of shape [6]; expected [5]")
    p = model([node("LpNormalization", "x", p=3)], X)
    rejected(p, "p = 3; expected 1 or 2")
    statistics = node("SimplifiedLayerNormalization", "x s", "y inverse")
    proto = model([statistics], {"x": (2, 6)}, ["y", "inverse"], S, opset=17)
    rejected(proto, "output 'inverse' (statistics) is used")
