"""Rules for products of quantised maps and weights between DequantizeLinear and QuantizeLinear.

They compute on the integers, and return None if they cannot; see `quantized.py`.
"""

from __future__ import annotations

from typing import TypeGuard

from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import unpadded
from npu_tools.importers.onnx.quantized import ELEMENTS, QuantizedConstant, Scaled
from npu_tools.importers.onnx.rules.sums import (
    bias_of,
    convolution_sums,
    matrix_sums,
    product_sums,
    products_scale,
    transposed_sums,
    transposed_weight,
    vector_operand,
    weight_of,
)
from npu_tools.importers.onnx.surrounded import Surrounded, settled


def conv(node: Node, graph: Builder) -> Value | None:
    """Conv, which also takes zeros that Pad has added around its input."""
    value = graph.value(node, 0)
    found = operands(node, graph)
    if found is None:
        return None
    source, constant = found
    weight = weight_of(constant, 0)
    scales = products_scale(source, weight)
    bias = bias_of(vector_operand(node, graph, 2), scales, weight.array.shape)
    padded = value.padded(graph, source.params) if has_zeros(value) else unpadded(source.value)
    sums, shape = convolution_sums(node, graph, padded, source, weight, bias)
    return Scaled(sums, scales, view=shape)


def conv_transpose(node: Node, graph: Builder) -> Value | None:
    """ConvTranspose."""
    source, constant = settled(graph, graph.value(node, 0)), graph.value(node, 1)
    if not is_plain(source) or not isinstance(constant, QuantizedConstant):
        return None
    weight = transposed_weight(node, constant, source)
    scales = products_scale(source, weight)
    bias = bias_of(vector_operand(node, graph, 2), scales, weight.array.shape)
    sums, shape = transposed_sums(node, graph, source, weight, bias)
    return Scaled(sums, scales, view=shape)


def operands(node: Node, graph: Builder) -> tuple[Scaled, QuantizedConstant] | None:
    """The first operand as a map of 8-bit integers, the second as constant weights.

    None if they are anything else, or if a clamp of the map is pending. Pads of zeros are left out,
    as a convolution takes them; other pads are built here.
    """
    source, weight = graph.value(node, 0), graph.value(node, 1)
    if not isinstance(weight, QuantizedConstant):
        return None
    source = source.source if has_zeros(source) else settled(graph, source)
    return (source, weight) if is_plain(source) else None


def has_zeros(value: Value) -> TypeGuard[Surrounded]:
    """Whether a value is a map with pads of zeros and without a pending clamp."""
    return isinstance(value, Surrounded) and value.is_zero


def is_plain(value: Value) -> TypeGuard[Scaled]:
    """Whether a value is a map of 8-bit integers without a pending clamp."""
    return isinstance(value, Scaled) and not value.is_sum and not value.is_clamped


def gemm(node: Node, graph: Builder) -> Value | None:
    """Gemm with alpha and beta of one, without transA."""
    found = operands(node, graph)
    plain = node.float("alpha", 1.0) == node.float("beta", 1.0) == 1 and not node.int("transA", 0)
    if found is None or not plain or found[1].integers.ndim != 2:
        return None
    source, constant = found
    weight = weight_of(constant, 0 if node.int("transB", 0) else 1)
    scales, bias = products_scale(source, weight), graph.optional(node, 2)
    filters = weight.array.shape[0]
    if bias is not None and bias.array.shape not in ((filters,), (1, filters), (1,), ()):
        return None
    sums, shape = matrix_sums(graph, source, weight, bias_of(bias, scales, weight.array.shape))
    return Scaled(sums, scales, view=shape)


def matmul(node: Node, graph: Builder) -> Value | None:
    """MatMul; both operands may be maps."""
    found = operands(node, graph)
    if found is None or found[1].integers.ndim != 2:
        lhs, rhs = (as_plain(graph, graph.value(node, index)) for index in range(2))
        return None if lhs is None or rhs is None else product_sums(graph, lhs, rhs)
    source, constant = found
    weight = weight_of(constant, 1)
    sums, shape = matrix_sums(graph, source, weight, None)
    return Scaled(sums, products_scale(source, weight), view=shape)


def as_plain(graph: Builder, value: Value) -> Scaled | None:
    """A value as a map of 8-bit integers without a pending clamp; None if it is none.

    A constant with one scale becomes such a map.
    """
    value = settled(graph, value)
    if is_plain(value):
        return value
    if not isinstance(value, QuantizedConstant) or value.scale.size > 1:
        return None
    if value.integers.dtype not in ELEMENTS:
        return None
    integers = graph.integers(Constant(value.name, value.integers))
    return Scaled(integers, value.scale, int(value.zero_point.reshape(-1)[0]))
