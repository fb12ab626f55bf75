"""Rules for operators with scales and zero points as operands (onnxruntime's operator format).

QLinearConv, QLinearMatMul, ConvInteger and MatMulInteger are ONNX's own; QGemm, QLinearAdd,
QLinearAveragePool, QLinearConcat, QLinearGlobalAveragePool and QLinearMul are onnxruntime's
(com.microsoft).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from npu_dialect.npu import ConcatOp
from npu_dialect.npu.enums import BinaryKind
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import QUANTISED, ui8
from npu_tools.importers.onnx.builder import Builder, Constant, Value, element_name
from npu_tools.importers.onnx.combined import combined
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import Padded, unpadded
from npu_tools.importers.onnx.quantized import (
    ELEMENTS,
    Params,
    QuantizedConstant,
    Scaled,
    added,
    averaged,
    params_of,
    scales_of,
    zero_point_of,
)
from npu_tools.importers.onnx.rules.pool import Pooling, average_pooling, global_window
from npu_tools.importers.onnx.rules.shape import axis_of
from npu_tools.importers.onnx.rules.sums import (
    Weight,
    convolution_sums,
    matrix_sums,
    product_sums,
    products_scale,
    scaled_sums,
    vector_operand,
    weight_of,
)
from npu_tools.importers.onnx.tensors import Array

ONE = np.ones((), np.float32)


def source_of(node: Node, graph: Builder, index: int, params: Params) -> Scaled:
    """An operand as a map of 8-bit integers with the given parameters; it may be a constant.

    Raises: NodeError if its element type is not that of its zero point.
    """
    value = graph.value(node, index)
    if isinstance(value, Constant) and value.array.dtype in ELEMENTS:
        source = graph.integers(Constant(value.name, value.array))
    else:
        source = graph.as_map(value, node.operand(index))
    return scaled(source, node.operand(index), params)


def scaled(source: SSAValue, name: str, params: Params) -> Scaled:
    """A map of integers as a quantised map with the given parameters; `name` is for messages.

    Raises: NodeError if its element type is not that of its zero point.
    """
    element = map_type(source).get_element_type()
    if element != params.element:
        raise NodeError(
            f"input '{name}' holds {element_name(element)} elements and has a zero "
            f"point of {element_name(params.element)}; expected equal types"
        )
    return Scaled(source, np.asarray(params.scale), params.zero_point)


def padded_source(node: Node, graph: Builder, index: int, params: Params) -> tuple[Scaled, Padded]:
    """The input of a convolution, without pads and with its pads kept apart.

    A convolution can take pads that are the zero point. A layer of its own adds any other pads.
    """
    value = graph.value(node, index)
    if isinstance(value, Padded) and value.fill == params.zero_point:
        return scaled(value.source, node.operand(index), params), value
    source = source_of(node, graph, index, params)
    return source, unpadded(source.value)


def map_operand(node: Node, graph: Builder, index: int) -> Scaled:
    """A quantised map from three operands in a row: map, scale, zero point."""
    return source_of(node, graph, index, source_params(node, graph, index))


def source_params(node: Node, graph: Builder, index: int) -> Params:
    """The parameters of a map from the two operands after it.

    A zero point that is left out is 0 of the map's element type.
    """
    element = quantised_element(node, graph, index)
    return params_of(node, graph, index + 1, index + 2, ui8 if element is None else element)


def quantised_element(node: Node, graph: Builder, index: int) -> IntegerType | None:
    """The element type of an operand if it is int8 or uint8; else None."""
    value = graph.value(node, index)
    if isinstance(value, Constant):
        return ELEMENTS.get(value.array.dtype)
    element = graph.element_of(node.operand(index))
    return next((each for each in QUANTISED if each == element), None)


def weight_operand(node: Node, graph: Builder, index: int, axis: int) -> Weight:
    """Constant weights from three operands in a row: weights, scales, zero points.

    `axis` is that of the filters.
    """
    scales = scales_of(node, graph, index + 1)
    return integer_weight(node, graph, index, index + 2, axis, scales)


def integer_weight(
    node: Node, graph: Builder, index: int, point: int, axis: int, scales: Array
) -> Weight:
    """Constant weights from operand `index`, with their zero points in operand `point`.

    `axis` is that of the filters.

    Raises: NodeError if scales or zero points do not fit the weights.
    """
    constant, points = graph.constant(node, index), zero_point_of(node, graph, point)
    array = constant.array
    zero = np.zeros((), np.int64) if points is None else points
    if array.ndim < 2 or (points is not None and points.dtype != array.dtype):
        raise NodeError(
            f"weight '{constant.name}' holds {array.dtype} elements of shape {list(array.shape)} "
            f"and has a zero point of {zero.dtype}; expected equal types and 2 or more axes"
        )
    for what, vector in (("scales", scales), ("zero points", zero)):
        if vector.size not in (1, array.shape[axis]):
            raise NodeError(
                f"{vector.size} {what} for {array.shape[axis]} filters; expected one or as many"
            )
    wide = zero.astype(np.int64)
    return weight_of(QuantizedConstant(constant.name, ONE, array, scales, wide, axis), axis)


def int32_bias(bias: Constant | None, filters: int) -> Constant | None:
    """A constant int32 bias as a vector with one number for each filter; None if there is none.

    Raises: NodeError if it is not int32, or has neither one number nor one for each filter.
    """
    if bias is None:
        return None
    if bias.array.dtype != np.int32 or bias.array.size not in (1, filters):
        raise NodeError(
            f"bias '{bias.name}' holds {bias.array.size} {bias.array.dtype}; expected int32, one "
            f"for each of {filters} filters"
        )
    flat = np.broadcast_to(bias.array.reshape(-1), (filters,))
    return Constant(bias.name, np.ascontiguousarray(flat))


def qlinear_conv(node: Node, graph: Builder) -> Value:
    """QLinearConv."""
    source, padded = padded_source(node, graph, 0, source_params(node, graph, 0))
    weight, params = weight_operand(node, graph, 3, 0), params_of(node, graph, 6, 7, source.element)
    bias = int32_bias(vector_operand(node, graph, 8), weight.array.shape[0])
    sums = convolution_sums(node, graph, padded, source, weight, bias)
    return scaled_sums(sums, products_scale(source, weight)).quantize(graph, params)


def qlinear_matmul(node: Node, graph: Builder) -> Value:
    """QLinearMatMul; both operands may be maps."""
    source = map_operand(node, graph, 0)
    params = params_of(node, graph, 6, 7, source.element)
    if not is_matrix(graph.value(node, 3)):
        return product_sums(graph, source, map_operand(node, graph, 3)).quantize(graph, params)
    weight = weight_operand(node, graph, 3, 1)
    sums, shape = matrix_sums(graph, source, weight, None)
    return Scaled(sums, products_scale(source, weight), view=shape).quantize(graph, params)


def qgemm(node: Node, graph: Builder) -> Value:
    """QGemm; without a scale for its output it gives real numbers."""
    source = map_operand(node, graph, 0)
    weight = weight_operand(node, graph, 3, 0 if node.int("transB", 0) else 1)
    if node.int("transA", 0):
        raise NodeError("transA; expected an input [N, I]")
    bias = int32_bias(graph.optional(node, 6), weight.array.shape[0])
    sums, shape = matrix_sums(graph, source, weight, bias)
    alpha = np.float32(node.float("alpha", 1.0))
    scales = alpha * source.scale * weight.scales
    found = Scaled(sums, scales, view=shape)
    if not node.operand(7):
        return found
    return found.quantize(graph, params_of(node, graph, 7, 8, source.element))


def conv_integer(node: Node, graph: Builder) -> Value:
    """ConvInteger: a convolution whose result is the i32 sums."""
    source, padded = padded_source(node, graph, 0, integer_params(node, graph))
    weight = integer_weight(node, graph, 1, 3, 0, ONE)
    sums = convolution_sums(node, graph, padded, source, weight, None)
    return sums.joined(graph, sums.values)


def matmul_integer(node: Node, graph: Builder) -> Value:
    """MatMulInteger: its result is the i32 sums; both operands may be maps."""
    source = source_of(node, graph, 0, integer_params(node, graph))
    if not is_matrix(graph.value(node, 1)):
        other = source_of(node, graph, 1, integer_params(node, graph, 1))
        found = product_sums(graph, source, other)
        return graph.reshape(found.value, found.shape)
    weight = integer_weight(node, graph, 1, 3, 1, ONE)
    sums, shape = matrix_sums(graph, source, weight, None)
    return graph.reshape(sums, shape)


def is_matrix(value: Value) -> bool:
    """Whether a value is a constant matrix, which can be the weight of a layer."""
    return isinstance(value, Constant) and value.array.ndim == 2


def integer_params(node: Node, graph: Builder, index: int = 0) -> Params:
    """The parameters of operand `index` of ConvInteger or MatMulInteger.

    The scale is 1; the zero point is two operands after it, or else 0.

    Raises: NodeError if the input is no map of int8 or uint8, or if its zero point is wrong.
    """
    point = index + 2
    points, element = zero_point_of(node, graph, point), quantised_element(node, graph, index)
    if element is None:
        raise NodeError(f"input '{node.operand(index)}' is no map of int8 or uint8; expected one")
    if points is None:
        return Params(np.float32(1), 0, element)
    if points.size != 1 or points.dtype not in ELEMENTS:
        raise NodeError(
            f"zero point '{node.operand(point)}' holds {points.size} {points.dtype}; expected one "
            "int8 or uint8 for a map"
        )
    return Params(np.float32(1), int(points.reshape(-1)[0]), ELEMENTS[points.dtype])


def qlinear_add(node: Node, graph: Builder) -> Value:
    """QLinearAdd."""
    lhs, rhs = map_operand(node, graph, 0), map_operand(node, graph, 3)
    return added(graph, lhs, rhs, params_of(node, graph, 6, 7, lhs.element), "qlinear")


def qlinear_mul(node: Node, graph: Builder) -> Value:
    """QLinearMul."""
    lhs, rhs = map_operand(node, graph, 0), map_operand(node, graph, 3)
    params = params_of(node, graph, 6, 7, lhs.element)
    return combined(graph, BinaryKind.MUL, lhs, rhs, params, "qlinear")


def qlinear_concat(node: Node, graph: Builder) -> Value:
    """QLinearConcat: its operands are scale and zero point of the result, then three per part."""
    if len(node.inputs) < 5 or len(node.inputs) % 3 != 2:
        raise NodeError(f"{len(node.inputs)} inputs; expected 2 and 3 for each part")
    if "" in node.inputs:
        raise NodeError(f"input {list(node.inputs).index('')} is left out; expected all of them")
    sources = [map_operand(node, graph, index) for index in range(2, len(node.inputs), 3)]
    params = params_of(node, graph, 0, 1, sources[0].element)
    parts = [source.quantize(graph, params) for source in sources]
    axis = axis_of(node.int("axis", 1), len(shape_of(parts[0])))
    return parts[0] if len(parts) == 1 else graph.emit(lambda out: ConcatOp(parts, axis, out))


def qlinear_average_pool(node: Node, graph: Builder) -> Value:
    """QLinearAveragePool."""
    source, params = pooled_operands(node, graph)
    return average(graph, source, average_pooling(node, unpadded(source.value)), params)


def qlinear_global_average_pool(node: Node, graph: Builder) -> Value:
    """QLinearGlobalAveragePool."""
    source, params = pooled_operands(node, graph)
    return average(graph, source, global_window(source.value), params)


def pooled_operands(node: Node, graph: Builder) -> tuple[Scaled, Params]:
    """The input of a pooling operator, and the parameters of its result.

    Raises: NodeError if `channels_last` is set; see also `map_operand`.
    """
    if node.int("channels_last", 0):
        raise NodeError("channels_last; expected maps [N, C, H, W]")
    source = map_operand(node, graph, 0)
    return source, params_of(node, graph, 3, 4, source.element)


def average(graph: Builder, source: Scaled, pooling: Pooling, params: Params) -> SSAValue:
    """Build the averages of a map by one layer.

    Raises: NodeError if they take two layers, which would round twice.
    """
    if len(pooling.steps) != 1:
        raise NodeError(
            "a window over the depth, and over rows and columns; expected one of both, or averages "
            "of float32 elements"
        )
    (step,) = pooling.steps
    image = Scaled(graph.reshape(source.value, step.image), source.scales, source.zero_point)
    value = averaged(graph, image, step.pool, params, "qlinear")
    return graph.reshape(value, pooling.result)


Rule = Callable[[Node, Builder], Value]

QLINEAR: Mapping[str, Rule] = {
    "ConvInteger": conv_integer,
    "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
}
"""The rules of ONNX's own operators."""

MICROSOFT: Mapping[str, Rule] = {
    "QGemm": qgemm,
    "QLinearAdd": qlinear_add,
    "QLinearAveragePool": qlinear_average_pool,
    "QLinearConcat": qlinear_concat,
    "QLinearGlobalAveragePool": qlinear_global_average_pool,
    "QLinearMul": qlinear_mul,
}
"""The rules of the operators of the domain com.microsoft."""
