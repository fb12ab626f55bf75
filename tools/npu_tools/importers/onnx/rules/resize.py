"""Rules for Resize and Upsample: picked elements if nearest, else weighted sums of neighbours.

Positions are computed in float32, as onnxruntime computes them, so that the nearest element is the
same where a position lies between two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu import CastOp, ResampleOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.resampling import Axis
from npu_dialect.runs import NONE, Run
from npu_tools.importers.onnx.builder import Builder, Value, element_name
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.moved import moving
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.picked import expect_length, listed
from npu_tools.importers.onnx.rules.shape import axis_of

CROP = "tf_crop_and_resize"
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    CROP,
)
"""How an index of the output becomes a position in the input."""
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
"""Which of two neighbours is the nearest one."""
TIE = 1e-6
"""How far from the middle of two elements a position may be to count as the middle."""
POLICIES = ("stretch", "not_larger", "not_smaller")
"""What becomes of sizes that do not have the proportions of the input."""

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Resized:
    """One resized axis of `extent` elements.

    `size` elements come out; `scale` is the factor. `roi` is the first and last place of the region
    that is resized, as a share of the axis.
    """

    extent: int
    size: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)

    def position(self, index: Floats, mode: str) -> Floats:
        """The positions in the input of indices of the output."""
        one = index.dtype.type
        scale, last = one(self.scale), one(self.extent - 1)
        first, end = map(one, self.roi)
        if mode == "asymmetric":
            return index / scale
        if mode == "align_corners":
            return index * last / one(max(1, self.size - 1))
        if mode == CROP:
            if self.size == 1:
                return one(0.5) * (first + end) * last + 0 * index
            return first * last + index * (end - first) * last / one(self.size - 1)
        if mode == "pytorch_half_pixel" and self.size == 1:
            return 0 * index
        if mode == "half_pixel_symmetric":  # onnxruntime does the last line in double precision
            shift = one(self.extent / 2) * (one(1) - one(self.size) / (scale * one(self.extent)))
            exact = np.float64(shift) + (index.astype(np.float64) + 0.5) / np.float64(scale) - 0.5
            return exact.astype(index.dtype)
        return (index + one(0.5)) / scale - one(0.5)

    def line(self, mode: str) -> tuple[float, float]:
        """The distance of two neighbours in the input, and the position of the first element.

        The last element lies beyond the map if it does so in float32.
        """
        first, second = self.position(np.arange(2, dtype=np.float64), mode).tolist()
        step, last, count = second - first, self.extent - 1, self.size - 1
        if mode == CROP and count and abs(first + step * count - last) < TIE * self.extent:
            beyond = self.position(np.array([count], np.float32), mode)[0] > last
            step = (last - first) / count
            while (step * count + first > last) != beyond:
                step = nextafter(step, inf if beyond else -inf)
        return step, first


def resize(node: Node, graph: Builder) -> Value:
    """Resize, and Upsample, which counts positions from the corner."""
    source = graph.map(node, 0)
    old = node.op_type == "Upsample" or node.opset < 11
    axes = resized_axes(node, graph, source, old=old)
    mode = node.string("mode", "nearest")
    grid = "asymmetric" if old else node.string("coordinate_transformation_mode", "half_pixel")
    if grid not in COORDINATES:
        raise NodeError(f"coordinate_transformation_mode {grid}; expected {', '.join(COORDINATES)}")
    fill = node.float("extrapolation_value", 0.0) if grid == CROP else None
    if mode == "nearest":
        if node.int("antialias", 0):
            raise NodeError("antialias in mode nearest; expected linear or cubic")
        return nearest(node, graph, source, axes, grid, fill)
    if mode not in ("linear", "cubic"):
        raise NodeError(f"mode {mode}; expected nearest, linear or cubic")
    return resampled(node, graph, source, axes, grid, fill)


def resize_integers(node: Node, graph: Builder) -> Value | None:
    """Resize and Upsample to nearest elements; None for sums of elements, and for fills."""
    grid = node.string("coordinate_transformation_mode", "half_pixel")
    if node.string("mode", "nearest") != "nearest" or grid == CROP:
        return None
    return moving(resize)(node, graph)


def nearest(
    node: Node,
    graph: Builder,
    source: SSAValue,
    axes: dict[int, Resized],
    grid: str,
    fill: float | None,
) -> SSAValue:
    """Add the layer that picks the nearest elements."""
    picks: dict[int, tuple[Run, ...]] = {}
    for number, axis in axes.items():
        at = axis.position(np.arange(axis.size, dtype=np.float32), grid)
        if node.op_type == "Upsample" or node.opset < 11:
            found = np.ceil(at) if axis.scale < 1 else np.floor(at)
        else:
            found = rounded(at, node.string("nearest_mode", "round_prefer_floor"))
        indices = found.clip(0, axis.extent - 1).astype(np.int64)
        if fill is not None:
            indices[(at < 0) | (at > axis.extent - 1)] = NONE
        picks[number] = listed(indices, number)
    return graph.picked(source, picks, fill)


def rounded(at: Floats, mode: str) -> Floats:
    """Positions rounded to integers.

    Raises: NodeError for an unknown mode.
    """
    if mode not in NEAREST:
        raise NodeError(f"nearest_mode {mode}; expected {', '.join(NEAREST)}")
    if mode == "floor":
        return np.floor(at)
    if mode == "ceil":
        return np.ceil(at)
    below = np.floor(at)
    rest = (at - below).astype(np.float64)
    return below + (rest > 0.5 + TIE if mode == "round_prefer_floor" else rest >= 0.5 - TIE)


def resampled(
    node: Node,
    graph: Builder,
    source: SSAValue,
    axes: dict[int, Resized],
    grid: str,
    fill: float | None,
) -> SSAValue:
    """Add the layer that sums weighted neighbours.

    Sums of integers are computed in float32 and lose their fraction, as in onnxruntime.

    Raises: NodeError for integers with `antialias`.
    """
    element, antialias = map_type(source).get_element_type(), node.int("antialias", 0)
    if element != f32 and antialias:
        raise NodeError(f"antialias of {element_name(element)} elements; expected float32")
    found: dict[int, Axis] = {}
    for number, axis in axes.items():
        width = max(1.0, 1 / axis.scale) if antialias else 1.0
        found[number] = Axis(axis.size, *axis.line(grid), width)
    cubic = node.string("mode", "nearest") == "cubic"
    if not found:
        return source
    floats = converted(graph, source, f32)
    result = graph.emit(
        lambda out: ResampleOp(
            floats,
            found,
            out,
            cubic=node.float("cubic_coeff_a", -0.75) if cubic else None,
            exclude_outside=bool(node.int("exclude_outside", 0)),
            fill=fill,
        )
    )
    return converted(graph, result, element)


def converted(graph: Builder, source: SSAValue, element: Attribute) -> SSAValue:
    """A map with elements of a type; no layer if it has them."""
    if map_type(source).get_element_type() == element:
        return source
    return graph.emit(lambda out: CastOp(source, out), element)


def resized_axes(node: Node, graph: Builder, source: SSAValue, *, old: bool) -> dict[int, Resized]:
    """The axes that are resized.

    As in onnxruntime, an axis of scale 1 stays as it is, also with a region. With `antialias` so
    does one whose extent stays, and in any mode all axes do if all extents stay. ONNX's reference
    resizes them.

    `old`: the scales are an attribute or the second operand, and there are no sizes.

    Raises: NodeError for scales or sizes that do not fit the map.
    """
    shape = shape_of(source)
    given = node.ints("axes")
    axes = list(range(len(shape))) if given is None else [axis_of(a, len(shape)) for a in given]
    if len(set(axes)) != len(axes):
        raise NodeError(f"axes {given}; expected each once")
    extents = [shape[axis] for axis in axes]
    sizes = None if old else optional_ints(node, graph, 3)
    if sizes is None:
        scales = scales_of(node, graph, len(axes), old=old)
        sizes = [scaled(n, scale) for n, scale in zip(extents, scales, strict=True)]
    else:
        if len(sizes) != len(axes) or min(sizes, default=1) < 1:
            raise NodeError(f"sizes {sizes}; expected {len(axes)} numbers of at least 1")
        sizes, scales = kept_ratio(node, extents, sizes)
    rois = roi_of(node, graph, len(axes))
    found: dict[int, Resized] = {}
    stays = sizes == extents
    for place, (axis, size, scale) in enumerate(zip(axes, sizes, scales, strict=True)):
        if size < 1:
            raise NodeError(f"{size} elements along axis {axis}; expected at least one")
        expect_length(size, axis)
        alike = size == shape[axis] and bool(node.int("antialias", 0))
        if scale != 1 and not (stays or alike):
            expect_one_meaning(node, shape[axis], size, scale)
            roi = rois[place], rois[place + len(axes)]
            found[axis] = Resized(shape[axis], size, scale, roi)
    return found


def expect_one_meaning(node: Node, extent: int, size: int, scale: float) -> None:
    """Refuse corners aligned by a scale that gives no whole number of elements.

    ONNX's reference and its tests divide by scale x extent - 1, its text and
    onnxruntime by size - 1.

    Raises: NodeError in that case.
    """
    grid = node.string("coordinate_transformation_mode", "half_pixel")
    nearest = node.string("mode", "nearest") == "nearest"
    if grid == "align_corners" and abs(scale * extent - size) > TIE * extent and not nearest:
        raise NodeError(
            f"align_corners with scale {scale} of {extent} elements, which are no whole number: "
            "ONNX's reference and onnxruntime compute different numbers; expected sizes"
        )


def scaled(extent: int, scale: float) -> int:
    """The extent of an axis after scaling.

    Raises: NodeError if it depends on the precision of the product.
    """
    size, rounded = int(extent * scale), int(np.float32(extent) * np.float32(scale))
    if size != rounded:
        raise NodeError(
            f"scale {scale} of {extent} elements, which are {size} for ONNX and {rounded} for "
            "onnxruntime; expected sizes"
        )
    return size


def optional_ints(node: Node, graph: Builder, index: int) -> list[int] | None:
    """A constant list of integers; None if it is left out or empty."""
    found = graph.ints(node, "", index)
    return found or None


def scales_of(node: Node, graph: Builder, count: int, *, old: bool) -> list[float]:
    """The scales, which must be `count` positive numbers.

    Raises: NodeError if they are not.
    """
    index = 1 if old else 2
    if node.operand(index):
        scales = graph.weight(node, index).reshape(-1).tolist()
    else:
        scales = node.floats("scales") or []
    if len(scales) != count or not all(isfinite(scale) and scale > 0 for scale in scales):
        raise NodeError(f"scales {scales}; expected {count} positive numbers, or sizes")
    return scales


def kept_ratio(
    node: Node, extents: Sequence[int], sizes: Sequence[int]
) -> tuple[list[int], list[float]]:
    """The sizes and scales of axes after `keep_aspect_ratio_policy`.

    Raises: NodeError for an unknown policy.
    """
    policy = node.string("keep_aspect_ratio_policy", "stretch")
    if policy not in POLICIES:
        raise NodeError(f"keep_aspect_ratio_policy {policy}; expected {', '.join(POLICIES)}")
    scales = [size / extent for size, extent in zip(sizes, extents, strict=True)]
    if policy == "stretch" or not scales:
        return list(sizes), scales
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [int(scale * extent + 0.5) for extent in extents], [scale] * len(extents)


def roi_of(node: Node, graph: Builder, count: int) -> list[float]:
    """The regions of `count` axes: the first places of all, then the last places of all.

    Raises: NodeError for a list of another length, or of numbers that are not finite.
    """
    whole = [0.0] * count + [1.0] * count
    if node.opset < 11 or node.string("coordinate_transformation_mode", "half_pixel") != CROP:
        return whole
    roi = graph.optional(node, 1)
    if roi is None or roi.array.size == 0:
        return whole
    numbers = [float(number) for number in roi.array.reshape(-1).tolist()]
    if len(numbers) != 2 * count or not all(map(isfinite, numbers)):
        raise NodeError(f"roi {numbers}; expected two numbers for each axis")
    return numbers
