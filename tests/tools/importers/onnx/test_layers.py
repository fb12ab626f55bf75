"""Gemm, MatMul, element-wise layers, Softmax and shapes against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from helpers.onnx_models import (
    NEWEST,
    NEWEST_OF_RUNTIME,
    Array,
    check,
    imported,
    int64,
    layers,
    model,
    node,
    numbers,
    rejected,
)

FC = {"w": numbers(6, 4), "b": numbers(4, seed=2)}


@pytest.mark.parametrize("opset", [7, 9, 11, 13, NEWEST])
@pytest.mark.parametrize("swap_a", [0, 1])
@pytest.mark.parametrize("swap_b", [0, 1])
def test_gemm(opset: int, swap_a: int, swap_b: int) -> None:
    gemm = node("Gemm", "x w b", transA=swap_a, transB=swap_b, alpha=0.5, beta=2.0)
    weights = {"w": numbers(4, 6) if swap_b else numbers(6, 4), "b": numbers(4)}
    check(model([gemm], {"x": (6, 3) if swap_a else (3, 6)}, weights=weights, opset=opset))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((), ["npu.fully_connected"]),
        ((1,), ["npu.fully_connected"]),
        ((1, 4), ["npu.fully_connected"]),
        ((3, 1), ["npu.fully_connected", "npu.add"]),
        ((3, 4), ["npu.fully_connected", "npu.add"]),
    ],
)
def test_gemm_broadcasts_its_addend(shape: tuple[int, ...], expected: list[str]) -> None:
    weights = {"w": numbers(6, 4), "b": numbers(*shape)}
    module = check(model([node("Gemm", "x w b")], {"x": (3, 6)}, weights=weights))
    assert layers(module) == expected


def test_gemm_without_addend() -> None:
    assert layers(check(model([node("Gemm", "x w")], {"x": (1, 6)}, weights=FC)))
    assert layers(check(model([node("Gemm", "x w b", beta=0.0)], {"x": (1, 6)}, weights=FC)))


@pytest.mark.parametrize("order", ["m b", "b m"])
@pytest.mark.parametrize("shape", [(4,), (1, 4), (1,), ()])
def test_matmul_and_add_become_one_layer(order: str, shape: tuple[int, ...]) -> None:
    weights = {"w": numbers(6, 4), "b": numbers(*shape)}
    nodes = [node("MatMul", "x w", "m"), node("Add", order)]
    module = check(model(nodes, {"x": (2, 6)}, weights=weights))
    assert layers(module) == ["npu.fully_connected"]
    text = str(module)
    assert 'npu.layer = "the_MatMul"' in text
    assert 'npu.value = "y"' in text


def test_matmul_keeps_its_value_for_other_readers() -> None:
    nodes = [node("MatMul", "x w", "m"), node("Add", "m b"), node("Relu", "m", "z")]
    module = check(model(nodes, {"x": (2, 6)}, ("y", "z"), FC))
    assert layers(module) == ["npu.fully_connected", "npu.add", "npu.relu"]
    nodes = [node("MatMul", "x w", "m"), node("Add", "m b")]
    module = check(model(nodes, {"x": (2, 6)}, ("y", "m"), FC))
    assert layers(module) == ["npu.fully_connected", "npu.add"]


@pytest.mark.parametrize(
    ("left", "right"), [((2, 3, 6), (6, 4)), ((6,), (6, 4)), ((2, 6), (6,)), ((2, 3, 6), (6,))]
)
def test_matmul_ranks(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(model([node("MatMul", "x w")], {"x": left}, weights={"w": numbers(*right)}))


def test_linear_layers_are_rejected() -> None:
    gemm = model([node("Gemm", "x w")], {"x": (2, 5)}, weights=FC)
    rejected(gemm, "expected a weight of shape [O, 5], got [4, 6]")
    matmul = model([node("MatMul", "x w")], {"x": (2, 5)}, weights=FC)
    rejected(matmul, "node 'the_MatMul' (MatMul)", "expected a weight [5, O]")
    weights = {"w": numbers(6, 4), "b": numbers(3)}
    gemm = model([node("Gemm", "x w b")], {"x": (2, 6)}, weights=weights)
    rejected(gemm, "an addend of shape [3]; expected one that broadcasts to [2, 4]")
    rejected(model([node("Gemm", "x w")], {"x": (2, 6, 1)}, weights=FC), "expected [N, I]")


@pytest.mark.parametrize("opset", [7, 10, 11, 13, NEWEST])
@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.75), (0.0, None), (None, 6.0), (None, None)])
def test_clip(opset: int, low: float | None, high: float | None) -> None:
    bounds = {"min": low, "max": high}
    given = {name: value for name, value in bounds.items() if value is not None}
    if opset < 11:
        proto = model(
            [node("Clip", "x", "c", **given), node("Relu", "c")], {"x": (2, 5)}, opset=opset
        )
    else:
        names = " ".join(name if name in given else "_" for name in bounds)
        weights: dict[str, Array] = {n: np.array(v, np.float32) for n, v in given.items()}
        nodes = [node("Clip", f"x {names}", "c"), node("Relu", "c")]
        proto = model(nodes, {"x": (2, 5)}, weights=weights, opset=opset)
    check(proto)


def test_clip_is_rejected() -> None:
    proto = model([node("Clip", "x a b")], {"x": (2, 5), "a": (), "b": ()})
    rejected(proto, "input 'a' is computed; expected a constant")
    weights = {"a": np.array(1, np.float32), "b": np.array(0, np.float32)}
    rejected(model([node("Clip", "x a b")], {"x": (2, 5)}, weights=weights), "low <= high")
    weights = {"a": numbers(5)}
    rejected(model([node("Clip", "x a")], {"x": (2, 5)}, weights=weights), "expected a scalar")


@pytest.mark.parametrize("opset", [7, 13, NEWEST])
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1), (4,), (1, 1, 1), (2, 1, 4)])
def test_add_broadcasts(opset: int, shape: tuple[int, ...]) -> None:
    check(model([node("Add", "x z")], {"x": (2, 3, 4), "z": shape}, opset=opset))
    weights = {"z": numbers(*shape)}
    check(model([node("Add", "z x")], {"x": (2, 3, 4)}, weights=weights, opset=opset))


def test_add_of_scalars() -> None:
    check(model([node("Add", "x c")], {"x": ()}, weights={"c": np.array(1.5, np.float32)}))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_sum(count: int) -> None:
    names = ["a", "b", "c"][:count]
    nodes = [node("Sum", " ".join(names), "s"), node("Relu", "s")]
    check(model(nodes, {name: (2, 3) for name in names}))


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 1), (1, 3, 1, 1)])
@pytest.mark.parametrize("op", ["Mul", "Div", "Sub"])
def test_constant_per_channel(op: str, shape: tuple[int, ...]) -> None:
    weights = {"c": np.abs(numbers(*shape)) + np.float32(0.5)}
    check(model([node(op, "x c")], {"x": (1, 3, 4, 4)}, weights=weights))


@pytest.mark.parametrize("order", ["c b", "b c"])
@pytest.mark.parametrize(
    ("shape", "expected"),
    [((2, 1, 1), "npu.batch_norm"), ((), "npu.batch_norm"), ((4,), "npu.add")],
)
def test_constants_behind_a_convolution_can_be_folded(
    order: str, shape: tuple[int, ...], expected: str
) -> None:
    weights = {"w": numbers(2, 3, 1, 1), "b": numbers(*shape)}
    nodes = [node("Conv", "x w", "c"), node("Add", order)]
    module = check(model(nodes, {"x": (1, 3, 4, 4)}, weights=weights))
    assert layers(module) == ["npu.conv2d", expected]


@pytest.mark.parametrize(
    ("divisor", "expected"),
    [
        ([[[2.0]], [[-4.0]]], "npu.batch_norm"),
        (3.0, "npu.batch_norm"),
        ([1, 2, 3, 4], "npu.binary"),
    ],
)
def test_quotients_behind_a_convolution(divisor: Any, expected: str) -> None:
    nodes = [node("Conv", "x w", "c"), node("Div", "c d")]
    weights = {"w": numbers(2, 3, 1, 1), "d": np.array(divisor, np.float32)}
    module = check(model(nodes, {"x": (1, 3, 4, 4)}, weights=weights))
    assert layers(module) == ["npu.conv2d", expected]
    weights["d"] = np.zeros((), np.float32)
    module = imported(model(nodes, {"x": (1, 3, 4, 4)}, weights=weights))
    assert layers(module) == ["npu.conv2d", "npu.binary"]


@pytest.mark.parametrize(
    ("shape", "expected"), [((2, 1, 1), "npu.batch_norm"), ((4,), "npu.binary")]
)
def test_differences_behind_a_convolution(shape: tuple[int, ...], expected: str) -> None:
    nodes = [node("Conv", "x w", "c"), node("Sub", "c b")]
    weights = {"w": numbers(2, 3, 1, 1), "b": numbers(*shape)}
    module = check(model(nodes, {"x": (1, 3, 4, 4)}, weights=weights))
    assert layers(module) == ["npu.conv2d", expected]
    module = check(model([node("Sub", "b x")], {"x": (1, 2, 4, 4)}, weights=weights))
    assert layers(module) == ["npu.binary"]


@pytest.mark.parametrize("opset", [7, 13, NEWEST])
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1), (1, 1, 1), (2, 1, 4), (5, 2, 3, 4)])
def test_mul_broadcasts(opset: int, shape: tuple[int, ...]) -> None:
    proto = model([node("Mul", "x z")], {"x": (2, 3, 4), "z": shape}, opset=opset)
    assert layers(check(proto)) == ["npu.mul"]


@pytest.mark.parametrize("op", ["Mul", "Div"])
@pytest.mark.parametrize("shape", [(4,), (4, 1), (1, 3, 4, 1), (2, 1, 1, 1, 1)])
def test_constants_of_other_shapes(op: str, shape: tuple[int, ...]) -> None:
    weights = {"c": np.abs(numbers(*shape)) + np.float32(0.5)}
    proto = model([node(op, "x c")], {"x": (1, 3, 4, 4)}, weights=weights)
    assert layers(check(proto)) == ["npu.mul" if op == "Mul" else "npu.binary"]
    check(model([node(op, "c x")], {"x": (1, 3, 4, 4)}, weights=weights))


def test_arithmetic_is_rejected() -> None:
    shapes = {"x": (1, 3, 4, 4)}
    proto = model([node("Mul", "x c")], shapes, weights={"c": numbers(3)})
    rejected(proto, "node 'the_Mul' (Mul): ", "expected operands that broadcast")
    proto = model([node("Div", "c x")], shapes, weights={"c": numbers(3)})
    rejected(proto, "node 'the_Div' (Div): ", "expected operands that broadcast")


@pytest.mark.parametrize("opset", [7, 13, NEWEST_OF_RUNTIME])  # ONNX's reference is wrong
@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_lrn(opset: int, size: int) -> None:
    norm = node("LRN", "x", size=size, alpha=0.5, beta=0.6, bias=1.5)
    proto = model([norm], {"x": (2, 6, 3, 4)}, opset=opset)
    assert layers(check(proto)) == ["npu.lrn"]
    proto = model([node("LRN", "x", size=size)], {"x": (1, 4, 3, 3)}, opset=opset)
    text = str(check(proto))
    assert f"size {size} alpha 0.0001 beta 0.75 bias 1.0" in text


def test_lrn_is_rejected() -> None:
    proto = model([node("LRN", "x", size=0)], {"x": (1, 4, 3, 3)})
    rejected(proto, "node 'the_LRN' (LRN): expected a size of at least 1 channel, got 0")
    rejected(model([node("LRN", "x")], {"x": (1, 4, 3, 3)}), "the_LRN", "size")
    rejected(model([node("LRN", "x", size=3)], {"x": (4,)}), "expected an input [N, C, ...]")


@pytest.mark.parametrize("opset", [7, 9, 14, 15, NEWEST])
def test_batch_normalization(opset: int) -> None:
    weights = {name: numbers(3, seed=i) for i, name in enumerate(("s", "b", "m"))}
    weights["v"] = np.abs(numbers(3, seed=9)) + np.float32(0.1)
    norm = node("BatchNormalization", "x s b m v", epsilon=1e-3, momentum=0.8)
    module = check(model([norm], {"x": (2, 3, 4, 4)}, weights=weights, opset=opset))
    assert layers(module) == ["npu.batch_norm"]


def test_training_is_rejected() -> None:
    weights = {name: numbers(3) for name in ("s", "b", "m", "v")}
    norm = node("BatchNormalization", "x s b m v", "y m2 v2", training_mode=1)
    proto = model([norm], {"x": (2, 3, 4, 4)}, weights=weights, opset=15)
    rejected(proto, "training mode; expected a model exported for inference")
    norm = node("BatchNormalization", "x s b m v", spatial=0)
    proto = model([norm], {"x": (2, 3, 4, 4)}, weights=weights, opset=7)
    rejected(proto, "spatial = 0; expected one mean and variance per channel")
    drop = node("Dropout", "x ratio training")
    weights = {"ratio": np.array(0.5, np.float32), "training": np.array(True)}
    rejected(model([drop], {"x": (2, 3)}, weights=weights), "(Dropout): training mode")
    proto = model([node("Dropout", "x", "y mask")], {"x": (2, 3)}, ("y", "mask"))
    rejected(proto, "the second output (mask) is used")


@pytest.mark.parametrize("opset", [7, 11, 12, 13, NEWEST])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3])
def test_softmax(opset: int, axis: int | None) -> None:
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    check(model([node("Softmax", "x", **attributes)], {"x": (2, 3, 4, 5)}, opset=opset))


def test_softmax_of_rows_needs_no_reshape() -> None:
    proto = model([node("Softmax", "x")], {"x": (1, 10)}, opset=7)
    assert layers(check(proto)) == ["npu.softmax"]


def test_dropout_identity_and_cast_vanish() -> None:
    nodes = [
        node("Dropout", "x", "a mask"),
        node("Identity", "a", "b"),
        node("Cast", "b", "c", to=TensorProto.FLOAT),
        node("Relu", "c"),
    ]
    assert layers(check(model(nodes, {"x": (2, 3)}))) == ["npu.relu"]
    cast = model([node("Cast", "x", to=TensorProto.FLOAT16)], {"x": (2, 3)})
    rejected(cast, "cast of a map to float16; expected float32")


@pytest.mark.parametrize("opset", [7, 13, 14, NEWEST])
@pytest.mark.parametrize("shape", [[2, 12], [0, -1], [-1], [0, 3, 2, 2], [1, 0, 8]])
def test_reshape(opset: int, shape: list[int]) -> None:
    proto = model(
        [node("Reshape", "x s")], {"x": (2, 3, 4)}, weights={"s": int64(*shape)}, opset=opset
    )
    check(proto)


@pytest.mark.parametrize("shape", [[5, 5], [-1, -1], [-1, 7], [0, 0, 0, 0], [-2, -12]])
def test_reshape_is_rejected(shape: list[int]) -> None:
    proto = model([node("Reshape", "x s")], {"x": (2, 3, 4)}, weights={"s": int64(*shape)})
    rejected(proto, "node 'the_Reshape' (Reshape)", "[2, 3, 4]")


def test_reshape_to_zero_is_rejected() -> None:
    reshape = node("Reshape", "x s", allowzero=1)
    proto = model([reshape], {"x": (2, 3)}, weights={"s": int64(0, 3)}, opset=14)
    rejected(proto, "a map of shape [2, 3] cannot become [0, 3]")
    rejected(model([node("Reshape", "x s")], {"x": (2, 3), "s": (2,)}), "expected a constant")


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_flatten(axis: int) -> None:
    check(model([node("Flatten", "x", axis=axis)], {"x": (2, 3, 4)}, opset=11))


@pytest.mark.parametrize("opset", [7, 11, 13, NEWEST])
def test_squeeze_and_unsqueeze(opset: int) -> None:
    weights = {"two": int64(2, 3), "ends": int64(0, 3)}
    if opset < 13:
        nodes = [
            node("Squeeze", "x", "a", axes=[2, 3]),
            node("Unsqueeze", "a", "b", axes=[0, 3]),
        ]
    else:
        nodes = [node("Squeeze", "x two", "a"), node("Unsqueeze", "a ends", "b")]
    nodes += [node("Squeeze", "b", "c", name="all"), node("Relu", "c")]
    check(model(nodes, {"x": (2, 3, 1, 1)}, weights=weights, opset=opset))


def test_axes_are_rejected() -> None:
    shapes = {"x": (2, 3)}
    rejected(model([node("Squeeze", "x", axes=[0])], shapes, opset=11), "expected axes of extent 1")
    rejected(
        model([node("Unsqueeze", "x", axes=[5])], shapes, opset=11), "axis 5 of a map of rank 3"
    )
    rejected(model([node("Unsqueeze", "x", axes=[0, 0])], shapes, opset=11), "expected each once")
    rejected(model([node("Softmax", "x", axis=4)], shapes), "axis 4 of a map of rank 2")
    rejected(model([node("Transpose", "x", perm=[0, 0])], shapes), "expected a permutation")
    many = model([node("Unsqueeze", "x", axes=list(range(200)))], shapes, opset=11)
    rejected(many, "a map of rank 202; expected at most 32 axes")


@pytest.mark.parametrize("perm", [None, [0, 2, 1], [1, 2, 0], [0, 1, 2]])
def test_transpose(perm: list[int] | None) -> None:
    attributes: dict[str, Any] = {} if perm is None else {"perm": perm}
    nodes = [node("Transpose", "x", "t", **attributes), node("Relu", "t")]
    check(model(nodes, {"x": (2, 3, 4)}))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int) -> None:
    check(
        model(
            [node("Concat", "x z c", axis=axis)],
            {"x": (2, 2), "z": (2, 2)},
            weights={"c": numbers(2, 2)},
        )
    )
    proto = model([node("Concat", "x z", axis=0)], {"x": (2, 2), "z": (2, 3)})
    rejected(proto, "node 'the_Concat' (Concat): expected maps that differ along axis 0 only")


def test_one_relu_of_everything() -> None:
    assert layers(imported(model([node("Relu", "x")], {"x": ()}))) == ["npu.relu"]
