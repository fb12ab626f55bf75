"""Conv, pooling and Pad against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.onnx_models import (
    NEWEST,
    check,
    imported,
    int64,
    layers,
    model,
    node,
    numbers,
    rejected,
)

CONV = {"w": numbers(4, 3, 3, 3), "b": numbers(4, seed=2)}


@pytest.mark.parametrize("opset", [7, 11, 13, NEWEST])
def test_conv(opset: int) -> None:
    module = check(
        model(
            [node("Conv", "x w b", pads=[1, 0, 2, 1])],
            {"x": (1, 3, 8, 7)},
            weights=CONV,
            opset=opset,
        )
    )
    assert layers(module) == ["npu.conv2d"]


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3], [4, 4]])
def test_conv_auto_pad(mode: str, strides: list[int]) -> None:
    conv = node("Conv", "x w", auto_pad=mode, strides=strides)
    check(model([conv], {"x": (1, 3, 9, 8)}, weights=CONV))


@settings(max_examples=30, deadline=None)
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.sampled_from([1, 2, 4]),
)
def test_conv_attributes(
    size: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    pads: list[int],
    groups: int,
) -> None:
    for axis in (0, 1):
        assume(size[axis] + pads[axis] + pads[axis + 2] > (kernel[axis] - 1) * dilations[axis])
    weights = {"w": numbers(4, 4 // groups, *kernel)}
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": groups}
    check(model([node("Conv", "x w", **attributes)], {"x": (2, 4, *size)}, weights=weights))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["MaxPool", "AveragePool"]),
    st.tuples(st.integers(3, 9), st.integers(3, 9)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_pool_attributes(
    op: str,
    size: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    pads: list[int],
    ceil_mode: bool,
    counts_pad: bool,
) -> None:
    assume(all(pads[axis] < kernel[axis % 2] for axis in range(4)))
    attributes: dict[str, Any] = {
        "kernel_shape": kernel,
        "strides": strides,
        "pads": pads,
        "ceil_mode": int(ceil_mode),
    }
    if op == "AveragePool":
        attributes["count_include_pad"] = int(counts_pad)
    check(model([node(op, "x", **attributes)], {"x": (1, 2, *size)}, opset=19))


@pytest.mark.parametrize("opset", [7, 8, 10, 12, NEWEST])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool_opsets(op: str, opset: int) -> None:
    pool = node(op, "x", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    check(model([pool], {"x": (1, 2, 7, 6)}, opset=opset))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_pool_auto_pad(op: str, mode: str) -> None:
    pool = node(op, "x", kernel_shape=[2, 3], strides=[2, 2], auto_pad=mode)
    check(model([pool], {"x": (1, 2, 7, 6)}))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool_dilations(op: str) -> None:
    pool = node(op, "x", kernel_shape=[2, 2], dilations=[2, 3])
    check(model([pool], {"x": (1, 2, 7, 6)}, opset=19))


def test_one_dimension() -> None:
    nodes = [
        node("Conv", "x w", "c", strides=[2], pads=[1, 2]),
        node("MaxPool", "c", "m", kernel_shape=[2]),
        node("AveragePool", "m", "a", kernel_shape=[3], pads=[1, 1]),
        node("GlobalAveragePool", "a", "y"),
    ]
    module = check(model(nodes, {"x": (1, 3, 17)}, weights={"w": numbers(4, 3, 3)}))
    assert "npu.conv2d" in layers(module)


def test_global_pools() -> None:
    nodes = [node("GlobalAveragePool", "x", "a"), node("GlobalMaxPool", "x", "m")]
    check(model(nodes, {"x": (1, 3, 5, 4)}, ("a", "m")))


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [7, 13, 18])
def test_reduce_mean(opset: int, keepdims: int) -> None:
    if opset < 18:
        proto = model(
            [node("ReduceMean", "x", axes=[2, -1 if opset > 7 else 3], keepdims=keepdims)],
            {"x": (1, 3, 5, 4)},
            opset=opset,
        )
    else:
        proto = model(
            [node("ReduceMean", "x axes", keepdims=keepdims)],
            {"x": (1, 3, 5, 4)},
            weights={"axes": int64(-2, 3)},
            opset=opset,
        )
    assert layers(check(proto))[0] == "npu.global_avg_pool2d"


@pytest.mark.parametrize("opset", [7, 11, 13, 18])
@pytest.mark.parametrize("consumer", ["Conv", "AveragePool"])
def test_pad_is_folded(opset: int, consumer: str) -> None:
    pads = [0, 0, 1, 2, 0, 0, 0, 1]
    weights = dict(CONV)
    if opset < 11:
        first = node("Pad", "x", "p", pads=pads)
    else:
        first = node("Pad", "x pads", "p")
        weights["pads"] = int64(*pads)
    if consumer == "Conv":
        second = node("Conv", "p w", strides=[2, 2], auto_pad="SAME_UPPER")
    else:
        second = node("AveragePool", "p", kernel_shape=[3, 3], strides=[2, 2])
    module = check(model([first, second], {"x": (1, 3, 6, 6)}, weights=weights, opset=opset))
    assert len(layers(module)) == 1


def test_pad_of_axes_and_pads_that_count() -> None:
    nodes = [
        node("Pad", "x pads _ axes", "p"),
        node("AveragePool", "p", kernel_shape=[2, 2], pads=[1, 0, 1, 0], count_include_pad=1),
    ]
    weights = {"pads": int64(1, 1), "axes": int64(-1)}
    check(model(nodes, {"x": (1, 3, 6, 6)}, weights=weights, opset=18))


def test_pad_that_adds_nothing_vanishes() -> None:
    nodes = [node("Pad", "x pads", "p"), node("Relu", "p")]
    proto = model(nodes, {"x": (1, 3)}, weights={"pads": int64(0, 0, 0, 0)})
    assert layers(check(proto)) == ["npu.relu"]


def test_pad_elsewhere_is_a_layer() -> None:
    weights = {"pads": int64(0, 0, 1, 1, 0, 0, 1, 1), "one": np.array(1, np.float32)}
    shapes = {"x": (1, 3, 4, 4)}
    relu = model([node("Pad", "x pads", "p"), node("Relu", "p")], shapes, weights=weights)
    assert layers(check(relu)) == ["npu.pick", "npu.relu"]
    for inputs in ("x pads one", "x pads"):
        assert layers(check(model([node("Pad", inputs)], shapes, weights=weights))) == ["npu.pick"]
    mixed = [
        node("Pad", "x pads", "p"),
        node("AveragePool", "p", kernel_shape=[2, 2], pads=[1, 1, 1, 1]),
    ]
    assert layers(check(model(mixed, shapes, weights=weights))) == ["npu.pick", "npu.avg_pool2d"]


@pytest.mark.parametrize(
    ("attributes", "part"),
    [
        ({"strides": [0, 1]}, "strides [0, 1]; expected values of at least 1"),
        ({"strides": [1]}, "strides [1]; expected 2 values"),
        ({"pads": [1, 1]}, "pads [1, 1]; expected 4 values"),
        ({"pads": [-1, 0, 0, 0]}, "pads [-1, 0, 0, 0]; expected values of at least 0"),
        ({"dilations": [1, -1]}, "dilations [1, -1]; expected values of at least 1"),
        ({"dilations": [9, 9]}, "expected a window of 19 to fit into 8 elements"),
        ({"kernel_shape": [5, 5]}, "kernel_shape [5, 5], but a weight of shape [4, 3, 3, 3]"),
        ({"group": 2}, "expected groups that divide 3 channels and 4 filters, got 2"),
        ({"auto_pad": "SOME"}, "auto_pad SOME; expected NOTSET"),
        ({"auto_pad": "SAME_UPPER", "strides": [1, 8]}, "gaps between windows of [3, 3], where"),
        ({"pads": [2**40] * 4}, "elements"),
        ({"strides": 1}, "strides"),
    ],
)
def test_conv_is_rejected(attributes: dict[str, Any], part: str) -> None:
    proto = model([node("Conv", "x w b", **attributes)], {"x": (1, 3, 8, 8)}, weights=CONV)
    rejected(proto, "node 'the_Conv' (Conv): ", part)


def test_wrong_weights_are_rejected() -> None:
    shapes = {"x": (1, 2, 8, 8)}
    proto = model([node("Conv", "x w b")], shapes, weights=CONV)
    rejected(proto, "expected a weight with 2 channels per group, got 3")
    weights = {"w": numbers(4, 2, 3, 3), "b": numbers(3)}
    proto = model([node("Conv", "x w b")], shapes, weights=weights)
    rejected(proto, "expected a bias of shape [4]")
    proto = model([node("Conv", "x w")], {"x": (1, 2, 8)}, weights=weights)
    rejected(proto, "a weight of shape [4, 2, 3, 3]; expected 3 dimensions")
    proto = model([node("Conv", "x v")], {"x": (1, 2, 8, 8), "v": (4, 2, 3, 3)})
    rejected(proto, "input 'v' is computed; expected a constant")
    proto = model([node("Conv", "x w")], {"x": (1, 2, 4, 4, 4, 4)}, weights=weights)
    rejected(proto, "expected [N, C, L], [N, C, H, W] or [N, C, D, H, W]")


def test_indices_of_a_pool_are_rejected_if_used() -> None:
    pool = node("MaxPool", "x", "y i", kernel_shape=[2, 2])
    assert layers(imported(model([pool], {"x": (1, 2, 4, 4)}))) == ["npu.max_pool2d"]
    proto = model([pool], {"x": (1, 2, 4, 4)}, ("y", "i"))
    rejected(proto, "node 'the_MaxPool' (MaxPool): the second output (Indices) is used")
