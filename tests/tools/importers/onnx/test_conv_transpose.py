"""ConvTranspose against onnxruntime: its sizes, its phases, and quantised integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.onnx_models import (
    expected,
    imported,
    layers,
    model,
    node,
    numbers,
    rejected,
)
from helpers.pipeline import context, run_passes
from helpers.quantized.build import Graph, compare, integers, rng
from npu_dialect.interpreters import run_function

SPLIT = "npu-split-conv-transpose"


@dataclass(frozen=True)
class Case:
    """A ConvTranspose: input [N, C, ...], weights [C, O / groups, ...], and its attributes."""

    shape: tuple[int, ...]
    weight: tuple[int, ...]
    attributes: dict[str, Any]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random layer that onnxruntime can run."""
    rank = draw(st.integers(1, 2))

    def some(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank))

    groups, depth, filters = (draw(st.integers(1, 3)) for _ in range(3))
    extents, kernel, strides = some(1, 5), some(1, 5), some(1, 4)
    attributes: dict[str, Any] = {"group": groups, "strides": strides}
    dilations = some(1, 3)
    attributes["dilations"] = dilations
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    whole = [(n - 1) * s + r for n, s, r in zip(extents, strides, reach, strict=True)]
    mode = draw(st.sampled_from(("pads", "added", "same", "shape")))
    if mode == "added":
        attributes["output_padding"] = [draw(st.integers(0, s - 1)) for s in strides]
    if mode in ("pads", "added"):
        before = [draw(st.integers(0, (size - 1) // 2)) for size in whole]
        after = [draw(st.integers(0, (size - 1) // 2)) for size in whole]
        attributes["pads"] = before + after
    if mode in ("same", "shape"):
        attributes["auto_pad"] = draw(st.sampled_from(("SAME_UPPER", "SAME_LOWER")))
    if mode == "shape":
        sizes = zip(whole, strides, strict=True)
        attributes["output_shape"] = [draw(st.integers(1, n + s - 1)) for n, s in sizes]
    batch, channels = draw(st.integers(1, 2)), groups * depth
    return Case((batch, channels, *extents), (channels, filters, *kernel), attributes)


@settings(max_examples=150, deadline=None)
@given(case=cases(), biased=st.booleans())
def test_layer_and_phases(case: Case, biased: bool) -> None:
    weights = {"w": numbers(*case.weight)}
    if biased:
        weights["b"] = numbers(case.weight[1] * case.attributes["group"], seed=2)
    layer = node("ConvTranspose", "x w b" if biased else "x w", **case.attributes)
    proto = model([layer], {"x": case.shape}, weights=weights)
    feeds = {"x": numbers(*case.shape, seed=3)}
    (theirs,) = expected(proto, feeds)
    module = imported(proto)
    split = run_passes(context(), module, SPLIT)
    split.verify()
    for each in (module, split):
        (ours,) = run_function(each, None, list(feeds.values()))
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    assert "npu.conv_transpose2d" not in layers(split)


def test_stride_one_is_one_convolution() -> None:
    proto = model(
        [node("ConvTranspose", "x w", pads=[1, 1, 1, 1])],
        {"x": (1, 2, 4, 4)},
        weights={"w": numbers(2, 3, 3, 3)},
    )
    assert layers(run_passes(context(), imported(proto), SPLIT)) == ["npu.conv2d"]


@pytest.mark.parametrize(
    ("shape", "attributes", "message"),
    [
        ((1, 2, 4, 4, 4, 4), {}, "expected [N, C, L], [N, C, H, W] or [N, C, D, H, W]"),
        ((1, 3, 4, 4), {}, "expected [3, O / group, ...] with 4 dimensions"),
        ((1, 2, 4, 4), {"group": 3}, "a group that divides the channels"),
        ((1, 2, 4, 4), {"group": 0}, "a group that divides the channels"),
        ((1, 2, 4, 4), {"kernel_shape": [2, 2]}, "kernel_shape [2, 2]"),
        ((1, 2, 4, 4), {"strides": [0, 1]}, "strides [0, 1]; expected values of at least 1"),
        ((1, 2, 4, 4), {"output_padding": [1, 0]}, "output_padding [1, 0]; expected less than"),
        ((1, 2, 4, 4), {"output_padding": [-1, 0]}, "expected values of at least 0"),
        ((1, 2, 4, 4), {"pads": [9, 0, 0, 0]}, "expected pads that leave at least 1 output"),
        ((1, 2, 4, 4), {"pads": [-1, 0, 0, 0]}, "expected values of at least 0"),
        ((1, 2, 4, 4), {"output_shape": [7, 6]}, "output_shape [7, 6]; expected at least 1"),
        ((1, 2, 4, 4), {"auto_pad": "ALL"}, "auto_pad ALL"),
        (
            (1, 2, 4, 4),
            {"auto_pad": "SAME_UPPER", "strides": [2, 2], "output_padding": [1, 1]},
            "where runtimes disagree",
        ),
        ((1, 2, 4, 4), {"strides": [2**40, 1]}, "elements"),
        ((1, 2, 4, 4), {"dilations": [2**40, 1]}, "elements"),
    ],
)
def test_rejected(shape: tuple[int, ...], attributes: dict[str, Any], message: str) -> None:
    layer = node("ConvTranspose", "x w", **attributes)
    rejected(model([layer], {"x": shape}, weights={"w": numbers(2, 2, 3, 3)}), message)


def quantised(seed: int, shape: tuple[int, ...], groups: int, kind: str, **more: Any) -> None:
    """Compare a quantised layer with onnxruntime; scales are powers of two, so sums are exact."""
    graph, random, filters = Graph(), rng(seed), 3
    x = integers(seed, "uint8", *shape)
    scales = np.exp2(-random.integers(5, 8, filters)).astype(np.float32)
    points = np.full(filters, 120 if kind == "uint8" else 0)
    real = graph.dequantize("x", 0.25, 100, "uint8")
    graph.constant("w", integers(seed + 1, kind, shape[1], filters, *(4,) * (len(shape) - 2)))
    taps = graph.dequantize("w", scales, points, kind, axis=1)
    graph.constant("b", integers(seed + 2, "int32", filters * groups) >> 20)
    zeros = np.zeros(filters * groups)
    bias = graph.dequantize("b", np.tile(scales, groups) / 4, zeros, "int32", axis=0)
    y = graph.add("ConvTranspose", [real, taps, bias], "y", group=groups, **more)
    out = graph.quantize(graph.add("Relu", [y], "r"), 2.0, 3, "uint8")
    assert not {"dequantize", "quantize"} & set(compare(graph, {"x": x}, out, "uint8"))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_quantised(seed: int, kind: str) -> None:
    quantised(seed, (1, 4, 5, 3), 1, kind, strides=[2, 2], pads=[1, 1, 1, 1])
    quantised(seed, (2, 4, 3, 4), 2, kind, strides=[3, 1], dilations=[1, 2])
    quantised(seed, (1, 4, 5), 2, kind, strides=[5])


def test_quantised_weights_need_scales_of_filters() -> None:
    graph = Graph()
    x = integers(0, "uint8", 1, 4, 5, 3)
    real = graph.dequantize("x", 0.25, 100, "uint8")
    graph.constant("w", integers(1, "int8", 4, 3, 2, 2))
    taps = graph.dequantize("w", [0.5] * 4, [0] * 4, "int8", axis=0)
    out = graph.quantize(graph.add("ConvTranspose", [real, taps], "y"), 2.0, 3, "uint8")
    rejected(graph.model({"x": x}, out, "uint8", 13), "one scale, or one for each filter (axis 0)")
