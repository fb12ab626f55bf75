"""Layers over depth, rows and columns against onnxruntime: they become layers over two axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto

from helpers.onnx_models import check, int64, layers, model, node, numbers, rejected
from helpers.quantized.build import Graph, compare, integers, rng
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of


def some(draw: st.DrawFn, low: int, high: int, count: int = 3) -> list[int]:
    """A few numbers in a range."""
    return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))


@st.composite
def convolutions(draw: st.DrawFn) -> ModelProto:
    """A Conv that onnxruntime can run."""
    size, kernel, strides = some(draw, 1, 6), some(draw, 1, 3), some(draw, 1, 3)
    dilations = some(draw, 1, 2)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    before = some(draw, 0, 2)
    missing = [max(0, r - n - b) for r, n, b in zip(reach, size, before, strict=True)]
    after = [draw(st.integers(least, least + 2)) for least in missing]
    groups, depth = draw(st.sampled_from((1, 2, 4))), draw(st.integers(1, 2))
    weights = {"w": numbers(4, depth, *kernel), "b": numbers(4, seed=2)}
    attributes: dict[str, Any] = {"group": groups, "strides": strides, "dilations": dilations}
    covers = all(r >= s for r, s in zip(reach, strides, strict=True))
    if covers and dilations == [1, 1, 1] and draw(st.booleans()):
        attributes["auto_pad"] = draw(st.sampled_from(("SAME_LOWER", "SAME_UPPER")))
    else:
        attributes["pads"] = before + after
    conv = node("Conv", "x w b" if draw(st.booleans()) else "x w", **attributes)
    shape = (draw(st.integers(1, 2)), groups * depth, *size)
    return model([conv], {"x": shape}, weights=weights)


@st.composite
def transposed(draw: st.DrawFn) -> ModelProto:
    """A ConvTranspose that onnxruntime can run."""
    size, kernel, strides = some(draw, 1, 3), some(draw, 1, 3), some(draw, 1, 3)
    dilations, groups = some(draw, 1, 2), draw(st.sampled_from((1, 2)))
    whole = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(size, strides, kernel, dilations, strict=True)
    ]
    layer = node(
        "ConvTranspose",
        "x w b",
        group=groups,
        strides=strides,
        dilations=dilations,
        pads=[draw(st.integers(0, (n - 1) // 2)) for n in (*whole, *whole)],
        output_padding=[draw(st.integers(0, s - 1)) for s in strides],
    )
    weights = {"w": numbers(4, 3, *kernel), "b": numbers(3 * groups, seed=2)}
    return model([layer], {"x": (draw(st.integers(1, 2)), 4, *size)}, weights=weights)


@st.composite
def pools(draw: st.DrawFn) -> ModelProto:
    """A pool that onnxruntime can run."""
    op = draw(st.sampled_from(("MaxPool", "AveragePool", "LpPool")))
    rank = draw(st.integers(1, 3)) if op == "LpPool" else 3
    size, kernel, strides = (some(draw, *ends, rank) for ends in ((3, 6), (1, 3), (1, 3)))
    attributes: dict[str, Any] = {
        "kernel_shape": kernel,
        "strides": strides,
        "pads": [draw(st.integers(0, taps - 1)) for taps in (*kernel, *kernel)],
    }
    if op == "LpPool":
        attributes["p"] = draw(st.integers(1, 3))
    else:
        attributes["ceil_mode"] = draw(st.integers(0, 1))
    if op == "AveragePool":
        attributes["count_include_pad"] = draw(st.integers(0, 1))
    return model([node(op, "x", **attributes)], {"x": (2, 2, *size)}, opset=19)


@settings(max_examples=60, deadline=None)
@given(st.one_of(convolutions(), transposed(), pools()))
def test_windows(proto: ModelProto) -> None:
    check(proto)


@pytest.mark.parametrize(
    ("kernel", "attributes", "shape", "want"),
    [
        ((1, 1, 1), {}, (1, 2, 3, 4, 5), "reshape conv2d reshape"),
        ((3, 1, 1), {"group": 2}, (2, 2, 5, 4, 5), "reshape conv2d reshape"),
        ((1, 3, 3), {}, (1, 1, 3, 4, 5), "reshape conv2d reshape transpose reshape"),
        ((2, 3, 3), {"strides": [2, 1, 1]}, (1, 1, 2, 4, 5), "reshape conv2d reshape"),
        ((3, 2, 1), {}, (1, 1, 3, 4, 5), "reshape conv2d reshape"),
    ],
)
def test_few_layers(
    kernel: tuple[int, ...], attributes: dict[str, Any], shape: tuple[int, ...], want: str
) -> None:
    channels = shape[1] // int(attributes.get("group", 1))
    weights = {"w": numbers(4, channels, *kernel)}
    module = check(model([node("Conv", "x w", **attributes)], {"x": shape}, weights=weights))
    assert layers(module) == [f"npu.{name}" for name in want.split()]


def test_frames_on_padding_are_left_out() -> None:
    """A layer for the first, the inner and the last frame each; the bias is a layer as well."""
    conv = node("Conv", "x w b", pads=[3, 1, 1, 1, 1, 1])
    weights = {"w": numbers(2, 3, 3, 3, 3), "b": numbers(2)}
    module = check(model([conv], {"x": (1, 3, 4, 5, 6)}, weights=weights))
    shapes = [shape_of(op.weight) for op in module.walk() if isinstance(op, Conv2dOp)]
    assert shapes == [(2, 3, 1, 1), *((2, 3 * frames, 3, 3) for frames in (1, 2, 3, 3, 2))]


def test_other_layers() -> None:
    vectors = {name: abs(numbers(4, seed=seed)) for seed, name in enumerate("sbmv")}
    extents = {"f": np.array([1, 1, 2, 2, 3], np.float32), "p": int64(0, 0, 1, 1, 1, 0, 0, 1, 0, 2)}
    nodes = [
        node("Pad", "x p", "a"),
        node("Conv", "a w", "c"),
        node("BatchNormalization", "c s b m v", "n"),
        node("InstanceNormalization", "n s b", "i"),
        node("Resize", "i _ f", "near", mode="nearest", name="r"),
        node("Resize", "i _ f", "line", mode="linear"),
        node("GlobalMaxPool", "near", "most"),
        node("GlobalAveragePool", "line", "mean"),
        node("GlobalLpPool", "line", "size", p=2),
    ]
    weights = {**vectors, **extents, "w": numbers(4, 3, 2, 3, 3)}
    check(model(nodes, {"x": (2, 3, 2, 4, 3)}, ("most", "mean", "size"), weights=weights))


def sums(op: str, seed: int, groups: int, **attributes: Any) -> list[str]:
    """Compare a quantised convolution with onnxruntime; returns the names of the layers."""
    graph, random = Graph(), rng(seed)
    x = integers(seed, "uint8", 2, 4, 5, 4, 3)
    shape = (6, 4 // groups) if op == "Conv" else (4, 6 // groups)
    scales = np.exp2(-random.integers(5, 8, shape[int(op != "Conv")])).astype(np.float32)
    real = graph.dequantize("x", 0.25, 100, "uint8")
    graph.constant("w", integers(seed + 1, "int8", *shape, 3, 2, 2))
    points = np.zeros(len(scales))
    taps = graph.dequantize("w", scales, points, "int8", axis=int(op != "Conv"))
    y = graph.add(op, [real, taps], "y", group=groups, **attributes)
    out = graph.quantize(graph.add("Relu", [y], "r"), 2.0, 3, "uint8")
    return compare(graph, {"x": x}, out, "uint8")


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize("groups", [1, 2])
def test_quantised_sums(op: str, groups: int) -> None:
    for more in ({}, {"pads": [1, 0, 1, 1, 1, 0], "strides": [2, 1, 1]}, {"dilations": [2, 1, 2]}):
        found = sums(op, 3, groups, **more)
        assert not {"dequantize", "quantize"} & set(found)
        assert found.count("requantize") == found.count("conv2d") + found.count("conv_transpose2d")


def test_quantised_maps_stay_in_frames() -> None:
    graph, x = Graph(), integers(1, "uint8", 2, 3, 4, 5, 3)
    real = graph.dequantize("x", 0.25, 100, "uint8")
    for index, channels in enumerate((3, 4)):
        graph.constant(f"w{index}", integers(index, "int8", 4, channels, 3, 2, 2))
        taps = graph.dequantize(f"w{index}", 2.0**-6, 0, "int8")
        y = graph.add("Conv", [real, taps], f"y{index}", pads=[1, 0, 0, 1, 0, 0])
        real = graph.dequantize(graph.quantize(y, 4.0, 128, "uint8"), 4.0, 128, "uint8")
    found = compare(graph, {"x": x}, "y1_int", "uint8")
    assert (
        "transpose" not in found[found.index("conv2d") : len(found) - found[::-1].index("conv2d")]
    )


def test_operators_of_integers() -> None:
    graph = Graph()
    x, w = integers(1, "uint8", 1, 4, 5, 4, 3), integers(2, "int8", 6, 4, 3, 3, 2)
    graph.constant("w", w)
    inputs = ["x", *graph.params("x", 0.5, 9, "uint8"), "w", *graph.params("w", 0.1, 0, "int8")]
    inputs += graph.params("y", 60.0, 128, "uint8")
    out = graph.add("QLinearConv", inputs, "y", pads=[1, 1, 0, 1, 0, 1])
    assert "requantize" in compare(graph, {"x": x}, out, "uint8")


@pytest.mark.parametrize(
    ("op", "kernel", "layer"),
    [
        ("MaxPool", [2, 2, 3], "max_pool2d"),
        ("AveragePool", [1, 2, 3], "quantized_avg_pool2d"),
        ("AveragePool", [3, 1, 1], "quantized_avg_pool2d"),
        ("AveragePool", [2, 2, 2], "avg_pool2d"),
        ("GlobalAveragePool", None, "quantized_avg_pool2d"),
    ],
)
def test_quantised_pools(op: str, kernel: list[int] | None, layer: str) -> None:
    """An average over all axes would be rounded twice, so it is one of floats."""
    graph, x = Graph(), integers(1, "uint8", 1, 3, 5, 4, 6)
    real = graph.dequantize("x", 0.25, 100, "uint8")
    y = graph.add(op, [real], "y", **({"kernel_shape": kernel} if kernel else {}))
    assert layer in compare(graph, {"x": x}, graph.quantize(y, 0.5, 3, "uint8"), "uint8")


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("Conv", {"group": 2}, "a weight with 2 channels and group 2 for an input with 2 channels"),
        ("Conv", {"pads": [2**40] * 6}, "1048576 taps"),
        ("Conv", {"pads": [2000, 0, 0] * 2}, "4002 output frames that are layers"),
        ("Conv", {"dilations": [9, 1, 1]}, "0 output frames from 4 frames by a kernel of 3"),
        ("ConvTranspose", {"pads": [9, 0, 0] * 2}, "-12 output frames from 4 frames"),
        ("MaxPool", {"kernel_shape": [2, 2]}, "a kernel of shape [2, 2]; expected 3 dimensions"),
        ("LpPool", {"kernel_shape": [2] * 3, "p": 0}, "p = 0; expected at least 1"),
    ],
)
def test_rejected(op: str, attributes: dict[str, Any], message: str) -> None:
    inputs = "x w" if op.startswith("Conv") else "x"
    proto = model(
        [node(op, inputs, **attributes)],
        {"x": (1, 2, 4, 4, 4)},
        weights={"w": numbers(2, 2, 3, 3, 3)},
    )
    rejected(proto, f"({op}): ", message)


def test_too_many_layers_are_rejected() -> None:
    conv = node("Conv", "x w", pads=[1, 1, 1] * 2)
    weights = {"w": numbers(1, 1, 3, 3, 3)}
    rejected(model([conv], {"x": (1, 1, 2000, 3, 3)}, weights=weights), "2000 output frames that")


@pytest.mark.parametrize("batch", [1, 2])
def test_maps_stay_in_frames(batch: int) -> None:
    """No map is transposed between convolutions; each layer of frames has its own Relu."""
    vectors = {name: abs(numbers(4, seed=seed)) for seed, name in enumerate("sbmv")}
    nodes = [
        node("Conv", "x w", "c", name="c1", pads=[1, 1, 1, 1, 1, 1]),
        node("BatchNormalization", "c s b m v", "n"),
        node("Relu", "n", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
        node("Conv", "p u", "d", name="c2", pads=[1, 0, 0, 1, 0, 0]),
        node("LeakyRelu", "d", "l"),
        node("AveragePool", "l", "a", kernel_shape=[1, 2, 2]),
        node("ConvTranspose", "a t", "e", pads=[1, 0, 0, 1, 0, 0], group=2),
        node("Conv", "p g", "f", name="c3", group=2),
        node("Add", "e f"),
    ]
    weights = {
        "w": numbers(4, 3, 3, 3, 3),
        "u": numbers(4, 4, 3, 1, 1),
        "t": numbers(4, 1, 3, 1, 1),
        "g": numbers(2, 2, 1, 2, 2),
    }
    module = check(model(nodes, {"x": (batch, 3, 8, 6, 6)}, weights={**weights, **vectors}))
    found = layers(module)
    between = found[found.index("npu.conv2d") : found.index("npu.map")]
    assert "npu.transpose" not in between
    assert between.count("npu.relu") == between.count("npu.batch_norm") > 3
