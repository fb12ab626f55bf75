"""Sums of products of quantised integers: convolutions and matrix products.

Weights are stored as int8. If the model has uint8 weights, 128 is subtracted from them and from
their zero point. A bias is int32; its scale is the product of the scales of input and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp, ConvTranspose2dOp, FullyConnectedOp
from npu_tools.importers.onnx.builder import Builder, Constant
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import Padded
from npu_tools.importers.onnx.quantized import (
    ELEMENTS,
    Params,
    Quantized,
    QuantizedConstant,
    Scaled,
)
from npu_tools.importers.onnx.rules.conv import convolution
from npu_tools.importers.onnx.rules.conv_transpose import filters_first, transposed
from npu_tools.importers.onnx.rules.frame_maps import Convolved
from npu_tools.importers.onnx.rules.linear import product
from npu_tools.importers.onnx.rules.products import Products
from npu_tools.importers.onnx.tensors import Array

LARGEST_SUM = 2**31 - 1
LARGEST_PRODUCT = 255 * 255
"""The largest product of two 8-bit integers after their zero points are subtracted."""


@dataclass(frozen=True, eq=False)
class Weight:
    """int8 weights of a layer, [O, ...] with filters first.

    There is one zero point, and one scale or one for each filter.
    """

    name: str
    array: Array
    zero_point: int
    scales: Array


def weight_of(constant: QuantizedConstant, axis: int) -> Weight:
    """The weights of a layer from a quantised constant; `axis` is that of the filters.

    Raises: NodeError if elements are not int8 or uint8, if scales lie along another axis, or if
    different zero points cannot become one.
    """
    integers, scales = constant.integers, constant.scale.reshape(-1)
    if integers.dtype not in ELEMENTS:
        raise NodeError(
            f"weight '{constant.name}' holds {integers.dtype} elements; expected int8 or uint8"
        )
    along = constant.axis + integers.ndim if constant.axis < 0 else constant.axis
    if scales.size > 1 and along != axis:
        raise NodeError(
            f"weight '{constant.name}' has one scale for each place of axis {along}; expected "
            f"one scale, or one for each filter (axis {axis})"
        )
    array, points = integers.astype(np.int16), constant.zero_point.reshape(-1).astype(np.int16)
    if integers.dtype == np.uint8:
        array, points = array - 128, points - 128
    zero_point = int(points[0])
    if (points != zero_point).any():
        array = array - points.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
        zero_point = 0
        if array.min() < -128 or array.max() > 127:
            raise NodeError(
                f"weight '{constant.name}' has different zero points, and differences to them of "
                f"more than 8 bits; expected one zero point"
            )
    return Weight(constant.name, np.moveaxis(array.astype(np.int8), axis, 0), zero_point, scales)


def transposed_weight(node: Node, constant: QuantizedConstant, source: Scaled) -> Weight:
    """The weights of a transposed convolution [O, C / groups, ...], from [C, O / groups, ...].

    Scales and zero points for each filter of a group (axis 1) are the same in all groups.

    Raises: NodeError as `weight_of`, or if the weights do not fit the map.
    """
    integers = filters_first(node, constant.integers, source.value)
    groups = integers.shape[0] // constant.integers.shape[1]
    rank, scale, point = constant.integers.ndim, constant.scale, constant.zero_point
    along = constant.axis % rank if scale.size > 1 else 1
    if along == 1:
        scale, point = (np.tile(n.reshape(-1), groups if n.size > 1 else 1) for n in (scale, point))
    axis = {0: 1, 1: 0}.get(along, along)  # the first two axes have changed places
    arranged = QuantizedConstant(constant.name, constant.array, integers, scale, point, axis)
    return weight_of(arranged, 0)


def products_scale(source: Scaled, weight: Weight) -> Array:
    """The scales of the sums: input scale times weight scales, in float32 as in onnxruntime."""
    with np.errstate(all="ignore"):
        return source.scale * weight.scales.astype(np.float32)


def vector_operand(node: Node, graph: Builder, index: int) -> Constant | None:
    """The constant bias of a convolution; None if it is left out.

    Raises: NodeError if it is computed, or no vector.
    """
    bias = graph.optional(node, index)
    if bias is not None and bias.array.ndim != 1:
        raise NodeError(
            f"bias '{bias.name}' has shape {list(bias.array.shape)}; expected one number for each "
            "filter"
        )
    return bias


def bias_of(bias: Constant | None, scales: Array, shape: Sequence[int]) -> Constant | None:
    """A bias [O] as int32 with the scales of the sums, for weights of shape [O, ...].

    If it was quantised with these scales, its integers are kept. Any other bias is divided by the
    scales and rounded once. A bias with which the sums could overflow is made smaller; the results
    saturate all the same. None gives None.

    Raises: NodeError if it has another length, if it is not finite float32, or if it needs more
    than 32 bits.
    """
    if bias is None:
        return None
    filters = shape[0]
    if bias.array.size not in (1, filters):
        raise NodeError(
            f"bias '{bias.name}' has shape {list(bias.array.shape)}; expected one number for each "
            f"of {filters} filters"
        )
    if bias.array.dtype != np.float32 or not np.isfinite(bias.array).all():
        raise NodeError(
            f"bias '{bias.name}' holds {bias.array.dtype} elements; expected finite float32 numbers"
        )
    with np.errstate(all="ignore"):
        steps = np.rint(bias.array.reshape(-1).astype(np.float64) / scales.astype(np.float64))
    if isinstance(bias, QuantizedConstant) and bias.integers.dtype == np.int32:
        own = np.broadcast_to(bias.scale.reshape(-1), (filters,))
        if not bias.zero_point.any() and np.allclose(own, scales, rtol=1e-5, atol=0):
            steps = bias.integers.reshape(-1).astype(np.float64)
    if not (np.abs(steps) <= LARGEST_SUM + 1).all():
        raise NodeError(
            f"bias '{bias.name}' is {np.abs(steps).max():.3g} times the scale of the products that "
            "it is added to; expected an integer of 32 bits"
        )
    largest = max(LARGEST_SUM - LARGEST_PRODUCT * prod(shape[1:]), LARGEST_SUM // 2)
    held = np.clip(steps, -largest, largest)
    return Constant(bias.name, np.broadcast_to(held, (filters,)).astype(np.int32))


def convolution_sums(
    node: Node,
    graph: Builder,
    padded: Padded,
    source: Scaled,
    weight: Weight,
    bias: Constant | None,
) -> Convolved:
    """Add a convolution of integers; its results are i32 sums.

    `padded` is the integers of `source` with their pads.
    """
    products = integer_products(Conv2dOp, node, source, weight, bias)
    return convolution(node, graph, padded, products)


def transposed_sums(
    node: Node, graph: Builder, source: Scaled, weight: Weight, bias: Constant | None
) -> Convolved:
    """Add a transposed convolution of integers; returns as `convolution_sums`."""
    products = integer_products(ConvTranspose2dOp, node, source, weight, bias)
    return transposed(node, graph, source.value, products)


def integer_products(
    kind: type[Conv2dOp | ConvTranspose2dOp],
    node: Node,
    source: Scaled,
    weight: Weight,
    bias: Constant | None,
) -> Products:
    """A convolution of the integers of a map."""
    points = (source.zero_point, weight.zero_point)
    constant = Constant(weight.name, weight.array)
    return Products(kind, constant, bias, node.int("group", 1), points)


def scaled_sums(found: Convolved, scales: Array) -> Quantized:
    """The sums of a convolution as real numbers, without layers yet."""
    if not found.in_frames:
        return Scaled(found.values[0], scales, view=found.shape)
    return Stacked(tuple(Scaled(value, scales) for value in found.values), found)


@dataclass(frozen=True, eq=False)
class Stacked(Quantized):
    """The frames of a convolution over three axes, without layers that put them together yet."""

    parts: tuple[Scaled, ...]
    frames: Convolved

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the map."""
        return self.frames.shape

    def floats(self, graph: Builder) -> SSAValue:
        """Build all frames in float32, and put them together."""
        return self.frames.joined(graph, [part.as_float(graph) for part in self.parts])

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """Build all frames with the given parameters, and put them together."""
        return self.frames.joined(graph, [part.quantize(graph, params) for part in self.parts])


def product_sums(graph: Builder, lhs: Scaled, rhs: Scaled) -> Scaled:
    """Add a product of two maps of integers; returns its i32 sums."""
    left, right = (graph.reshape(each.value, each.shape) for each in (lhs, rhs))
    points = (lhs.zero_point, rhs.zero_point)
    sums, shape = product(graph, left, right, zero_points=points)
    with np.errstate(all="ignore"):
        return Scaled(sums, np.asarray(lhs.scale * rhs.scale), view=shape)


def matrix_sums(
    graph: Builder, source: Scaled, weight: Weight, bias: Constant | None
) -> tuple[SSAValue, tuple[int, ...]]:
    """Add a product [..., I] x [I, O] of integers.

    Returns its i32 sums as [rows, O], and their real shape [..., O].

    Raises: NodeError if the shapes of input and weights do not fit each other.
    """
    if weight.array.ndim != 2:
        raise NodeError(
            f"weight '{weight.name}' has shape {list(weight.array.shape)}; expected [I, O]"
        )
    shape, (outputs, depth) = source.shape, weight.array.shape
    if not shape or shape[-1] != depth:
        raise NodeError(
            f"an input of shape {list(shape)} and a weight with {depth} inputs; expected equal ones"
        )
    rows = graph.reshape(source.value, (prod(shape[:-1]), depth))
    weights = graph.integers(Constant(weight.name, weight.array))
    biases = None if bias is None else graph.integers(bias)
    points = (source.zero_point, weight.zero_point)
    sums = graph.emit(
        lambda out: FullyConnectedOp(rows, weights, biases, out, zero_points=points), i32
    )
    return sums, (*shape[:-1], outputs)
