"""Rules for QuantizeLinear and DequantizeLinear, between real numbers and quantised integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import IntegerType, f32, i8, i16, i32

from npu_dialect.npu.maps import map_type
from npu_dialect.npu.quantization import QUANTISED, ui8
from npu_tools.importers.onnx.builder import Builder, Constant, Value, element_name, float_array
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import Padded
from npu_tools.importers.onnx.quantized import (
    ELEMENTS,
    Quantized,
    QuantizedConstant,
    Scaled,
    quantized_floats,
)
from npu_tools.importers.onnx.quantized_operands import params_of, scales_of, zero_point_of
from npu_tools.importers.onnx.surrounded import Surrounded
from npu_tools.importers.onnx.tensors import Array, type_name


def quantize_linear(node: Node, graph: Builder) -> Value:
    """QuantizeLinear of a constant, or of a map with one scale."""
    check_plain(node)
    value = graph.value(node, 0)
    if isinstance(value, Constant):
        return quantized_constant(node, graph, value)
    params = params_of(node, graph, 1, 2, default_element(node), QUANTISED)
    if isinstance(value, Surrounded) and not value.is_clamped:
        return value.padded(graph, params)
    if isinstance(value, Quantized):
        return value.quantize(graph, params)
    if isinstance(value, Padded) and not value.is_integer:
        integers = quantized_floats(graph, value.source, params)
        return replace(value, source=integers, fill=params.zero_point)
    source = graph.map(node, 0)
    element = map_type(source).get_element_type()
    if element != f32:
        raise NodeError(f"an input of {element_name(element)} elements; expected float32")
    return quantized_floats(graph, source, params)


def default_element(node: Node) -> IntegerType:
    """The element type of QuantizeLinear without a zero point: `output_dtype`, or uint8.

    Raises: NodeError if `output_dtype` is none of int8, uint8 and int16.
    """
    kind: int = node.int("output_dtype", TensorProto.UNDEFINED) or TensorProto.UINT8
    kinds: dict[int, IntegerType] = {
        TensorProto.INT8: i8,
        TensorProto.UINT8: ui8,
        TensorProto.INT16: i16,
    }
    element = kinds.get(kind)
    if element is None:
        raise NodeError(f"output_dtype {type_name(kind)}; expected int8, uint8 or int16")
    return element


def quantized_constant(node: Node, graph: Builder, value: Constant) -> Constant:
    """QuantizeLinear of a float32 constant, such as weights: the constant as integers.

    Raises: NodeError if scales or zero points do not fit the constant.
    """
    reals, scales = float_array(value), scales_of(node, graph, 1)
    array = zero_point_of(node, graph, 2)
    element = default_element(node)
    kind = next(kind for kind, type_ in ELEMENTS.items() if type_ == element)
    points = np.zeros(scales.shape, kind) if array is None else array
    axis = node.int("axis", 1)
    check_along(scales, points, reals, axis)
    if points.dtype not in ELEMENTS:
        raise NodeError(f"a zero point of {points.dtype}; expected int8, uint8 or int16")
    scale, point = along(scales, reals.ndim, axis), along(points.astype(np.int64), reals.ndim, axis)
    limits = np.iinfo(points.dtype)
    held = np.clip(np.rint(reals / scale), limits.min - point, limits.max - point)
    return Constant(value.name, (held.astype(np.int64) + point).astype(points.dtype))


def along(vector: Array, rank: int, axis: int) -> Array:
    """Reshape a vector so that it broadcasts along `axis` of a tensor of rank `rank`.

    A vector of one number becomes a scalar.
    """
    if vector.size == 1:
        return vector.reshape(())
    return vector.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def dequantize_linear(node: Node, graph: Builder) -> Value:
    """DequantizeLinear of a constant, or of a map with one scale; it adds no layer yet."""
    check_plain(node)
    value = graph.value(node, 0)
    if isinstance(value, Constant):
        return dequantized_constant(node, graph, value)
    padded = value if isinstance(value, Padded) and value.is_integer else None
    source = padded.source if padded else graph.as_map(value, node.operand(0))
    element = map_type(source).get_element_type()
    scales, array = scales_of(node, graph, 1), zero_point_of(node, graph, 2)
    if element not in (*ELEMENTS.values(), i32):
        raise NodeError(
            f"an input of {element_name(element)} elements; expected int8, uint8, int16 or int32"
        )
    if scales.size > 1:
        raise NodeError(
            f"scale '{node.operand(1)}' has {scales.size} numbers; expected one for a map"
        )
    if array is not None and ELEMENTS.get(array.dtype, i32) != element:
        raise NodeError(
            f"a zero point of {array.dtype} for elements of {element_name(element)}; expected "
            "equal types"
        )
    if array is not None and array.size > 1:
        raise NodeError(
            f"zero point '{node.operand(2)}' has {array.size} numbers; expected one for a map"
        )
    zero_point = 0 if array is None else int(array.reshape(-1)[0])
    found = Scaled(source, scales, zero_point)
    if padded is None:
        return found
    fill = float((padded.fill - zero_point) * found.scale)
    return Surrounded(found, padded.before, padded.after, fill, label=padded.label)


def check_plain(node: Node) -> None:
    """Check that a node has one scale, or one for each index of an axis.

    Raises: NodeError if it has scales for blocks (`block_size`).
    """
    if node.int("block_size", 0):
        raise NodeError("block_size; expected one scale, or one for each place of an axis")


def dequantized_constant(node: Node, graph: Builder, value: Constant) -> QuantizedConstant:
    """DequantizeLinear of a constant: its float32 numbers, with the integers kept.

    Raises: NodeError for wrong elements, or if scales or zero points do not fit them.
    """
    integers, scales = value.array, scales_of(node, graph, 1)
    if integers.dtype not in (*ELEMENTS, np.dtype(np.int32)):
        raise NodeError(
            f"tensor '{value.name}' holds {integers.dtype} elements; expected int8, uint8 or int32"
        )
    array = zero_point_of(node, graph, 2)
    points = np.zeros(scales.shape, np.int64) if array is None else array.astype(np.int64)
    if array is not None and array.dtype != integers.dtype:
        raise NodeError(
            f"a zero point of {array.dtype} for elements of {integers.dtype}; expected equal types"
        )
    axis = node.int("axis", 1)
    check_along(scales, points, integers, axis)
    point, scale = along(points, integers.ndim, axis), along(scales, integers.ndim, axis)
    with np.errstate(all="ignore"):
        reals = (integers.astype(np.int64) - point).astype(np.float32) * scale
    return QuantizedConstant(value.name, np.asarray(reals), integers, scales, points, axis)


def check_along(scales: Array, points: Array, tensor: Array, axis: int) -> None:
    """Check that there is one scale and one zero point, or one of each for each index of an axis.

    Raises: NodeError if not.
    """
    if points.size != scales.size:
        raise NodeError(
            f"{scales.size} scales and {points.size} zero points; expected as many of both"
        )
    rank = tensor.ndim
    if scales.size == 1 or (-rank <= axis < rank and tensor.shape[axis] == scales.size):
        return
    raise NodeError(
        f"{scales.size} scales along axis {axis} of shape {list(tensor.shape)}; expected one, or "
        "as many as the axis has places"
    )


def dynamic_quantize_linear(node: Node, graph: Builder) -> Value:
    """DynamicQuantizeLinear is rejected: its scale is computed at run time.

    Raises: NodeError, always.
    """
    raise NodeError(
        "its scale is computed at run time; expected static quantisation, as npu-quantize does it"
    )
