"""Rules for float operators between DequantizeLinear and QuantizeLinear (the QDQ format).

They compute on the quantised integers. A rule of `ON_INTEGERS` returns None if it cannot; the
importer then computes the node in float32 and logs a warning that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from npu_dialect.npu import ConcatOp, FullyConnectedOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.enums import BinaryKind
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.moved import moving
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import unpadded
from npu_tools.importers.onnx.plain import as_plain, is_plain
from npu_tools.importers.onnx.quantized import (
    Joined,
    Quantized,
    QuantizedConstant,
    Scaled,
    Sum,
)
from npu_tools.importers.onnx.rules.channels import channel_vector
from npu_tools.importers.onnx.rules.elementwise import INFINITY, clip_bounds
from npu_tools.importers.onnx.rules.linear import row_vector
from npu_tools.importers.onnx.rules.numbered import gather_elements, numbered
from npu_tools.importers.onnx.rules.pad import pad_quantised
from npu_tools.importers.onnx.rules.picked import (
    compress,
    depth_to_space,
    expand,
    gather,
    slice_,
    space_to_depth,
    split_integers,
    tile,
)
from npu_tools.importers.onnx.rules.pool import (
    global_max_pool,
    max_pool,
)
from npu_tools.importers.onnx.rules.quantized_averages import (
    average_pool,
    global_average_pool,
    reduce_mean,
)
from npu_tools.importers.onnx.rules.quantized_pairs import combine, index_on_integers
from npu_tools.importers.onnx.rules.reduce import REDUCTIONS
from npu_tools.importers.onnx.rules.resize import resize_integers
from npu_tools.importers.onnx.rules.shape import (
    axis_of,
    dropout,
    flatten,
    identity,
    reshape,
    squeeze,
    transpose,
    unsqueeze,
)
from npu_tools.importers.onnx.rules.shape import cast as cast_maps
from npu_tools.importers.onnx.rules.sums import (
    bias_of,
    convolution_sums,
    matrix_sums,
    product_sums,
    products_scale,
    scaled_sums,
    transposed_sums,
    transposed_weight,
    vector_operand,
    weight_of,
)
from npu_tools.importers.onnx.rules.tables import TABLES, table_or
from npu_tools.importers.onnx.rules.zero_blocks import large_integers, mul_integers_or
from npu_tools.importers.onnx.surrounded import Surrounded, settled
from npu_tools.importers.onnx.tensors import Array

# -- sums of products ----------------------------------------------------------------------------


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
    return scaled_sums(convolution_sums(node, graph, padded, source, weight, bias), scales)


def conv_transpose(node: Node, graph: Builder) -> Value | None:
    """ConvTranspose."""
    source, constant = settled(graph, graph.value(node, 0)), graph.value(node, 1)
    if not is_plain(source) or not isinstance(constant, QuantizedConstant):
        return None
    weight = transposed_weight(node, constant, source)
    scales = products_scale(source, weight)
    bias = bias_of(vector_operand(node, graph, 2), scales, weight.array.shape)
    return scaled_sums(transposed_sums(node, graph, source, weight, bias), scales)


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


# -- maps of one scale ---------------------------------------------------------------------------


def relu(node: Node, graph: Builder) -> Value | None:
    """Relu: the clamp is pending until QuantizeLinear gives a scale."""
    value = graph.value(node, 0)
    return value.clamped(0.0, INFINITY) if isinstance(value, Quantized) else None


def clip(node: Node, graph: Builder) -> Value | None:
    """Clip: the clamp is pending until QuantizeLinear gives a scale."""
    value = graph.value(node, 0)
    if not isinstance(value, Quantized):
        return None
    low, high = clip_bounds(node, graph)
    return value.clamped(low, high)


def same(node: Node, graph: Builder) -> Value | None:
    """Identity, and Dropout in inference: the operand itself."""
    return identity(node, graph) if node.op_type == "Identity" else dropout(node, graph)


def concat(node: Node, graph: Builder) -> Value | None:
    """Concat: built at once if all parts have the same parameters, else when a scale is given."""
    values = [graph.value(node, index) for index in range(len(node.inputs))]
    parts = [value for value in values if isinstance(value, Quantized)]
    if len(parts) < len(values) or not parts:
        return None
    axis = axis_of(node.int("axis", 1), len(parts[0].shape))
    plain = [part for part in parts if is_plain(part)]
    if len(plain) == len(parts) and len({part.params for part in plain}) == 1:
        integers = [part.value for part in plain]
        if len(integers) == 1:
            return plain[0]
        return replace(plain[0], value=graph.emit(lambda out: ConcatOp(integers, axis, out)))
    return Joined(parts, axis, label=node.label)


# -- arithmetic ----------------------------------------------------------------------------------


def add(node: Node, graph: Builder) -> Value | None:
    """Add of two maps, of a map and a constant, or of a bias to sums of products."""
    values = [graph.value(node, 0), graph.value(node, 1)]
    for index, value in enumerate(values):
        other = values[1 - index]
        if isinstance(value, Scaled) and value.is_sum and isinstance(other, Constant):
            return with_bias(node, graph, value, other, node.operand(index))
    lhs, rhs = (as_plain(graph, value) for value in values)
    if lhs is None or rhs is None:
        return None
    return Sum(lhs, rhs, label=node.label)


def with_bias(
    node: Node, graph: Builder, value: Scaled, addend: Constant, name: str
) -> Scaled | None:
    """Replace the layer of a matrix product's sums by one with a bias.

    None if the sums are no matrix product, have a bias, a clamp or another reader, or if the addend
    is no bias. `name` is that of the sums in the model.
    """
    layer = value.value.owner
    if not isinstance(layer, FullyConnectedOp) or layer.bias is not None or value.is_clamped:
        return None
    vector = row_vector(addend.array, value.shape)
    if vector is None or graph.uses[name] != 1 or value.value.first_use is not None:
        return None
    bias = graph.integers(required_bias(addend, value.scales, shape_of(layer.weight)))
    source, weight, points = layer.input, layer.weight, layer.zero_points
    assert points is not None
    sums = graph.emit(
        lambda out: FullyConnectedOp(source, weight, bias, out, zero_points=int_values(points)),
        i32,
    )
    return replace(value, value=graph.replace_last_use(layer, sums))


def required_bias(addend: Constant, scales: Array, shape: Sequence[int]) -> Constant:
    """An addend as the bias of sums with these scales; `shape` is that of the weights [O, ...]."""
    bias = bias_of(addend, scales.reshape(-1), shape)
    assert bias is not None
    return bias


def mul(node: Node, graph: Builder) -> Value | None:
    """Mul of two maps, or of sums that Cast has made real and a constant, which is their scale."""
    for index in range(2):
        value, factor = graph.value(node, index), graph.value(node, 1 - index)
        if not isinstance(value, Scaled) or not isinstance(factor, Constant):
            continue
        unscaled = not value.is_clamped and value.zero_point == 0 and (value.scales == 1).all()
        scales = scale_factors(factor, value.shape)
        if unscaled and scales is not None:
            return replace(value, scales=scales)
    return combine(BinaryKind.MUL)(node, graph)


def scale_factors(factor: Constant, shape: Sequence[int]) -> Array | None:
    """A constant factor of a map as scales: one, or one for each channel.

    None if it is not float32, not positive and finite, or varies along other axes.
    """
    array = factor.array
    if array.dtype != np.float32 or not (np.isfinite(array).all() and (array > 0).all()):
        return None
    if array.size == 1:
        return array.reshape(()) if array.ndim <= len(shape) else None
    return channel_vector(array, shape)


def cast(node: Node, graph: Builder) -> Value:
    """Cast; a map of integers becomes a quantised map of scale one, without a layer."""
    value, target = graph.value(node, 0), node.int("to", TensorProto.FLOAT)
    element = graph.element_of(node.operand(0))
    if isinstance(value, SSAValue) and element != f32 and target == TensorProto.FLOAT:
        return Scaled(value, np.ones((), np.float32))
    return cast_maps(node, graph)


ON_INTEGERS: Mapping[str, Callable[[Node, Builder], Value | list[Value] | None]] = {
    **TABLES,
    "Add": table_or("Add", add),
    "ArgMax": index_on_integers,
    "ArgMin": index_on_integers,
    "AveragePool": average_pool,
    "Clip": clip,
    "Concat": concat,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DepthToSpace": moving(depth_to_space),
    "Div": table_or("Div", combine(BinaryKind.DIV)),
    "Dropout": same,
    "Expand": moving(expand),
    "Flatten": moving(flatten),
    "Compress": moving(compress),
    "Gather": moving(gather),
    "GatherElements": moving(gather_elements),
    "GatherND": moving(numbered),
    "Gemm": gemm,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": moving(global_max_pool, keeps_channels=True),
    "GreaterOrEqual": large_integers,
    "Identity": same,
    "MatMul": matmul,
    "Max": combine(BinaryKind.MAX),
    "MaxPool": moving(max_pool, keeps_channels=True),
    "Min": combine(BinaryKind.MIN),
    "Mul": table_or("Mul", mul_integers_or(mul)),
    "Pad": pad_quantised,
    "ReduceMax": moving(REDUCTIONS["ReduceMax"]),
    "ReduceMean": reduce_mean,
    "ReduceMin": moving(REDUCTIONS["ReduceMin"]),
    "Relu": relu,
    "Reshape": moving(reshape),
    "Resize": resize_integers,
    "ReverseSequence": moving(numbered),
    "Slice": moving(slice_),
    "SpaceToDepth": moving(space_to_depth),
    "Split": split_integers,
    "Squeeze": moving(squeeze),
    "Sub": table_or("Sub", combine(BinaryKind.SUB)),
    "Tile": moving(tile),
    "Transpose": moving(transpose),
    "Unsqueeze": moving(unsqueeze),
    "Upsample": resize_integers,
}
"""Rules for operators that can compute on the integers of quantised maps."""

ON_SCALED = frozenset(("DequantizeLinear", "QuantizeLinear", "Shape", "Size"))
"""Operators whose rule in `RULES` takes quantised maps without layers."""

MOVING = frozenset(
    "Cast CenterCropPad Compress Concat DepthToSpace Dropout Expand Flatten Gather GatherElements "
    "GatherND GlobalMaxPool Identity MaxPool Pad Reshape Resize ReverseSequence Shape Size Slice "
    "SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze Upsample".split()
)
"""Operators whose rule in `RULES` also takes maps of integers."""
