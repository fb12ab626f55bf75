"""Resize and Upsample against onnxruntime, in all modes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from helpers.onnx_models import Array, check, int64, layers, model, node, rejected
from helpers.quantized.build import Graph, compare, integers
from npu_tools.importers.onnx.rules.resize import COORDINATES, NEAREST

SHAPE = (1, 2, 5, 7)
CROP = "tf_crop_and_resize"


def real(*values: float) -> Array:
    """A list of float32 numbers as a tensor."""
    return np.array(values, np.float32)


def build(
    inputs: str,
    weights: dict[str, Array],
    opset: int = 19,
    shape: tuple[int, ...] = SHAPE,
    op: str = "Resize",
    **attributes: Any,
) -> ModelProto:
    """A model of one node."""
    return model([node(op, inputs, **attributes)], {"x": shape}, weights=weights, opset=opset)


def resized(sizes: bool, height: int, width: int) -> tuple[str, dict[str, Array]]:
    """Operands with sizes, or with scales that give them."""
    if sizes:
        return "x _ _ s", {"s": int64(1, 2, height, width)}
    return "x _ s", {"s": real(1, 1, (height + 0.25) / SHAPE[2], (width + 0.25) / SHAPE[3])}


@pytest.mark.parametrize("sizes", [False, True])
@pytest.mark.parametrize("size", [(10, 14), (3, 11), (1, 4), (13, 1)])
@pytest.mark.parametrize("grid", [each for each in COORDINATES if each != CROP])
def test_modes(grid: str, size: tuple[int, int], sizes: bool) -> None:
    inputs, weights = resized(sizes, *size)
    more: dict[str, Any] = {"coordinate_transformation_mode": grid}
    for mode in NEAREST:
        found = check(build(inputs, weights, mode="nearest", nearest_mode=mode, **more))
        assert layers(found) in (["npu.pick"], ["npu.slice"])
    if grid == "align_corners" and not sizes:
        for mode in ("linear", "cubic"):
            proto = build(inputs, weights, mode=mode, **more)
            rejected(proto, "ONNX's reference and onnxruntime compute different numbers")
        return
    assert layers(check(build(inputs, weights, mode="linear", **more))) == ["npu.resample"]
    check(build(inputs, weights, mode="cubic", **more))
    check(build(inputs, weights, mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1, **more))


@pytest.mark.parametrize("size", [(10, 14), (3, 11), (2, 3)])
@pytest.mark.parametrize("grid", ["half_pixel", "asymmetric", "align_corners"])
def test_antialias(grid: str, size: tuple[int, int]) -> None:
    inputs, weights = resized(True, *size)
    more: dict[str, Any] = {"coordinate_transformation_mode": grid, "antialias": 1}
    check(build(inputs, weights, mode="linear", **more))
    check(build(inputs, weights, mode="cubic", **more))
    check(build(inputs, weights, mode="cubic", exclude_outside=1, **more))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_regions(mode: str) -> None:
    """A region that reaches beyond the map; elements outside are the extrapolation value."""
    random = Random(3)
    for size in ((6, 9), (3, 4)):
        starts = [random.uniform(-0.3, 0.3) for _ in range(2)]
        ends = [random.uniform(0.6, 1.3) for _ in range(2)]
        weights = {"roi": real(0, 0, *starts, 1, 1, *ends), "s": int64(1, 2, *size)}
        more: dict[str, Any] = {"coordinate_transformation_mode": CROP, "extrapolation_value": 7.5}
        check(build("x roi _ s", weights, 13, mode=mode, **more))


def test_axes_and_proportions() -> None:
    for policy in ("stretch", "not_larger", "not_smaller"):
        more: dict[str, Any] = {"keep_aspect_ratio_policy": policy, "axes": [3, 2]}
        check(build("x _ _ s", {"s": int64(12, 9)}, mode="linear", **more))
        check(build("x _ _ s", {"s": int64(12, 9)}, mode="nearest", **more))
    check(build("x _ s", {"s": real(2.0)}, axes=[-1]))


def test_other_ranks() -> None:
    check(build("x _ s", {"s": real(1, 1, 2.5)}, shape=(1, 3, 8)))
    check(build("x _ s", {"s": real(2, 1.5)}, shape=(4, 6), mode="linear"))
    check(build("x _ s", {"s": real(1, 1, 2, 1.5, 2)}, shape=(1, 1, 3, 4, 2), mode="linear"))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 3), (1, 1, 0.6, 2)])
def test_old_opsets(scales: tuple[float, ...], mode: str) -> None:
    weights = {"s": real(*scales)}
    check(build("x s", weights, 10, mode=mode))
    if min(scales) < 1:  # onnxruntime's Upsample makes no map smaller
        return
    check(build("x s", weights, 9, op="Upsample", mode=mode))
    check(build("x", {}, 7, op="Upsample", mode=mode, scales=[float(each) for each in scales]))


def test_twice_is_one_run() -> None:
    text = str(check(build("x _ s", {"s": real(1, 1, 2, 2)})))
    assert "axis 2 [0 to 4 each 2] axis 3 [0 to 6 each 2]" in text


def test_same_size_is_nothing() -> None:
    assert layers(check(build("x _ s", {"s": real(1, 1, 1, 1)}, mode="cubic"))) == []


@pytest.mark.parametrize(
    ("inputs", "weights", "more", "part"),
    [
        ("x _ s", {"s": real(1, 1, 2)}, {}, "expected 4 positive numbers, or sizes"),
        ("x _ s", {"s": real(1, 1, 2, -1)}, {}, "expected 4 positive numbers, or sizes"),
        ("x _ s", {"s": real(1, 1, 2, np.inf)}, {}, "expected 4 positive numbers, or sizes"),
        ("x _ s", {"s": real(1, 1, 2, 1e9)}, {}, "expected at most 1048576"),
        ("x _ s", {"s": real(1, 1, 0.1, 1)}, {}, "0 elements along axis 2"),
        ("x _ s", {"s": real(1, 1, 7 / 5, 1)}, {}, "are 6 for ONNX and 7 for onnxruntime"),
        ("x _ _ s", {"s": int64(1, 2, 0, 4)}, {}, "expected 4 numbers of at least 1"),
        ("x _ _ s", {"s": int64(1, 2)}, {}, "expected 4 numbers of at least 1"),
        ("x _ _ s", {"s": int64(3, 3)}, {"axes": [1, -3]}, "expected each once"),
        ("x _ s", {"s": real(1, 1, 2, 2)}, {"mode": "area"}, "expected nearest, linear or cubic"),
        ("x _ s", {"s": real(1, 1, 2, 2)}, {"nearest_mode": "simple"}, "nearest_mode simple"),
        (
            "x _ s",
            {"s": real(1, 1, 2, 2)},
            {"coordinate_transformation_mode": "tf_half_pixel_for_nn"},
            "coordinate_transformation_mode tf_half_pixel_for_nn; expected half_pixel",
        ),
        ("x _ s", {"s": real(1, 1, 2, 2)}, {"antialias": 1}, "antialias in mode nearest"),
        (
            "x _ _ s",
            {"s": int64(1, 2, 3, 3)},
            {"keep_aspect_ratio_policy": "other"},
            "keep_aspect_ratio_policy other",
        ),
        (
            "x r _ s",
            {"s": int64(1, 2, 3, 3), "r": real(0, 1)},
            {"coordinate_transformation_mode": CROP},
            "expected two numbers for each axis",
        ),
    ],
)
def test_rejected(inputs: str, weights: dict[str, Array], more: dict[str, Any], part: str) -> None:
    rejected(build(inputs, weights, **more), "node 'the_Resize' (Resize): ", part)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("mode", "found"),
    [("nearest", ["pick"]), ("linear", ["dequantize", "resample", "quantize"])],
)
def test_quantised(mode: str, found: list[str], kind: str) -> None:
    x, graph = integers(1, kind, 1, 3, 4, 5), Graph()
    y = graph.dequantize("x", 0.1, 7, kind)
    y = graph.add("Resize", [y, "", graph.constant("s", real(1, 1, 2, 2))], "y", mode=mode)
    out = graph.quantize(y, 0.1, 7, kind)
    assert compare(graph, {"x": x}, out, kind, close=mode == "linear") == found


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_integers(kind: str) -> None:
    x, graph = integers(1, kind, 1, 3, 4, 5), Graph()
    y = graph.add("Resize", ["x", "", graph.constant("s", real(1, 1, 2, 2))], "y")
    assert compare(graph, {"x": x}, y, kind) == ["pick"]
    graph.nodes.clear()
    graph.add("Resize", ["x", "", "s"], "y", mode="linear")
    assert compare(graph, {"x": x}, y, kind) == ["cast", "resample", "cast"]
    graph.nodes.clear()
    graph.add("Resize", ["x", "", "s"], "y", mode="linear", antialias=1)
    proto = graph.model({"x": x}, y, kind, 18)
    rejected(proto, f"antialias of {kind} elements; expected float32")


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize(
    ("start", "extent", "size"), [(0.13379909098148346, 6, 4), (0.11806150525808335, 5, 6)]
)
def test_region_that_ends_with_the_map(start: float, extent: int, size: int, mode: str) -> None:
    """Rounding in float32 decides whether the last position lies outside: once not, once yes."""
    more: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": CROP}
    weights = {"r": real(0, 0, start, 0, 1, 1, 1, 1), "s": int64(1, 1, size, 7)}
    shape = (1, 1, extent, 7)
    check(build("x r _ s", weights, shape=shape, extrapolation_value=2.5, **more))
