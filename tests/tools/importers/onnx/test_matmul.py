"""MatMul and Gemm of two maps against onnxruntime, in float32 and on quantised integers."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.onnx_models import Array, check, layers, model, node, numbers, rejected
from helpers.quantized.build import Graph, compare, integers

SHAPES = [
    ((4, 5), (5, 3)),
    ((2, 4, 5), (5, 3)),
    ((3, 1, 4, 5), (2, 5, 3)),
    ((5,), (5, 3)),
    ((4, 5), (5,)),
    ((5,), (5,)),
    ((5,), (3, 5, 2)),
    ((3, 2, 5), (5,)),
    ((1, 1, 1, 1, 1), (1, 1)),
]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    module = check(model([node("MatMul", "a b")], {"a": a, "b": b}))
    assert [name for name in layers(module) if name != "npu.reshape"] == ["npu.matmul"]


@pytest.mark.parametrize(
    ("a", "b", "layer"),
    [
        ((4, 5), (5, 3), "npu.fully_connected"),
        ((2, 4, 5), (5,), "npu.fully_connected"),
        ((4, 5), (2, 5, 3), "npu.matmul"),
        ((2, 3, 4, 5), (3, 5, 3), "npu.matmul"),
    ],
)
def test_a_constant_on_the_right(a: tuple[int, ...], b: tuple[int, ...], layer: str) -> None:
    module = check(model([node("MatMul", "a w")], {"a": a}, weights={"w": numbers(*b)}))
    assert layer in layers(module)


@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 3, 4)])
def test_a_constant_on_the_left(shape: tuple[int, ...]) -> None:
    proto = model([node("MatMul", "w b")], {"b": (4, 5)}, weights={"w": numbers(*shape)})
    assert "npu.matmul" in layers(check(proto))


def test_a_transpose_of_the_right_operand_is_read_in_place() -> None:
    turn = node("Transpose", "b", "c", perm=[0, 2, 1])
    shapes = {"a": (2, 4, 5), "b": (2, 3, 5)}
    assert layers(check(model([turn, node("MatMul", "a c")], shapes))) == ["npu.matmul"]
    relu = node("Relu", "c", "z")
    both = model([turn, node("MatMul", "a c"), relu], shapes, ["y", "z"])
    assert layers(check(both)) == ["npu.transpose", "npu.matmul", "npu.relu"]
    other = node("Transpose", "b", "c", perm=[2, 0, 1])
    moved = model([other, node("MatMul", "a c")], {"a": (5, 4, 2), "b": (2, 3, 5)})
    assert layers(check(moved)) == ["npu.transpose", "npu.matmul"]


@pytest.mark.parametrize("swap_a", [0, 1])
@pytest.mark.parametrize("swap_b", [0, 1])
@pytest.mark.parametrize("addend", [(4, 3), (3,), (1, 1), (4, 1)])
def test_gemm(swap_a: int, swap_b: int, addend: tuple[int, ...]) -> None:
    gemm = node("Gemm", "a b c", transA=swap_a, transB=swap_b, alpha=0.5, beta=2.0)
    shapes = {"a": (5, 4) if swap_a else (4, 5), "b": (3, 5) if swap_b else (5, 3)}
    check(model([gemm], {**shapes, "c": addend}))
    check(model([gemm], shapes, weights={"c": numbers(*addend)}))
    check(model([gemm], {"a": shapes["a"], "c": addend}, weights={"b": numbers(*shapes["b"])}))


def test_gemm_without_addend() -> None:
    assert layers(check(model([node("Gemm", "a b")], {"a": (4, 5), "b": (5, 3)}))) == ["npu.matmul"]


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        ("MatMul", {"a": (4, 5), "b": (4, 3)}, "expected matrices of 5 columns and 5 rows"),
        ("MatMul", {"a": (2, 4, 5), "b": (3, 5, 3)}, "whose other axes broadcast"),
        ("MatMul", {"a": (4, 5), "b": ()}, "expected 1 axis or more"),
        ("Gemm", {"a": (4, 5), "b": (4, 3)}, "expected matrices of 5 columns and 5 rows"),
        ("MatMul", {"a": (50000, 1), "b": (1, 50000)}, "elements"),
    ],
)
def test_rejected(op: str, shapes: dict[str, tuple[int, ...]], message: str) -> None:
    rejected(model([node(op, "a b")], shapes), message)


def test_an_addend_that_does_not_broadcast() -> None:
    shapes = {"a": (4, 5), "b": (5, 3), "c": (4,)}
    rejected(model([node("Gemm", "a b c")], shapes), "expected one that broadcasts to [4, 3]")


def maps(kinds: tuple[str, str], a: tuple[int, ...], b: tuple[int, ...]) -> dict[str, Array]:
    """Two maps of integers."""
    return {"a": integers(0, kinds[0], *a), "b": integers(1, kinds[1], *b)}


KINDS = [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")]


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_quantised(kinds: tuple[str, str], a: tuple[int, ...], b: tuple[int, ...]) -> None:
    graph, feeds = Graph(), maps(kinds, a, b)
    left = graph.dequantize("a", 0.25, 9, kinds[0])
    right = graph.dequantize("b", 0.5, 3, kinds[1])
    out = graph.quantize(graph.add("MatMul", [left, right], "p"), 32.0, 7, "uint8")
    found = compare(graph, feeds, out, "uint8")
    assert [name for name in found if name != "reshape"] == ["matmul", "requantize"]


@pytest.mark.parametrize("kinds", KINDS)
def test_operators_with_scales(kinds: tuple[str, str]) -> None:
    graph, feeds = Graph(), maps(kinds, (2, 4, 5), (5, 3))
    scales = graph.params("a", 0.25, 9, kinds[0]), graph.params("b", 0.1, 3, kinds[1])
    last = graph.params("y", 0.75, 7, kinds[0])
    graph.add("QLinearMatMul", ["a", *scales[0], "b", *scales[1], *last], "y")
    assert compare(graph, feeds, "y", kinds[0]) == ["matmul", "requantize"]


@pytest.mark.parametrize("kinds", KINDS)
def test_integer_sums(kinds: tuple[str, str]) -> None:
    graph, feeds = Graph(), maps(kinds, (2, 4, 5), (2, 5, 3))
    points = [graph.params(name, 1.0, 9, kind)[1] for name, kind in zip("ab", kinds, strict=True)]
    graph.add("MatMulInteger", ["a", "b", *points], "y")
    assert compare(graph, feeds, "y", np.int32) == ["matmul"]


def test_a_constant_of_three_axes() -> None:
    graph = Graph()
    graph.constant("w", integers(3, "int8", 2, 5, 3))
    left, right = graph.dequantize("a", 0.5, 3, "uint8"), graph.dequantize("w", 0.25, 0, "int8")
    out = graph.quantize(graph.add("MatMul", [left, right], "p"), 8.0, 7, "uint8")
    found = compare(graph, {"a": integers(0, "uint8", 4, 5)}, out, "uint8")
    assert found == ["matmul", "requantize"]
