"""Rules for element-wise operators: Relu, Clip, Add, Sum, Mul; BatchNormalization, LRN."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import (
    AddOp,
    BatchNormOp,
    ClampOp,
    Conv2dOp,
    FullyConnectedOp,
    LrnOp,
    MulOp,
    ReluOp,
    ReshapeOp,
)
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Constant, Value, float_array
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.channels import channel_vector
from npu_tools.importers.onnx.rules.linear import row_vector
from npu_tools.importers.onnx.tensors import Array

INFINITY = float("inf")


def relu(node: Node, graph: Builder) -> Value:
    """Relu."""
    source = graph.map(node, 0)
    return graph.emit(lambda out: ReluOp(source, out))


def clip(node: Node, graph: Builder) -> Value:
    """Clip with constant bounds: attributes before opset 11, operands from then on."""
    source = graph.map(node, 0)
    low, high = clip_bounds(node, graph)
    if (low, high) == (-INFINITY, INFINITY):
        return source
    if (low, high) == (0.0, INFINITY):
        return graph.emit(lambda out: ReluOp(source, out))
    return graph.emit(lambda out: ClampOp(source, low, high, out))


def clip_bounds(node: Node, graph: Builder) -> tuple[float, float]:
    """The lower and upper bound of Clip; a bound that is left out is infinite."""
    if node.opset < 11:
        return node.float("min", -INFINITY), node.float("max", INFINITY)
    return bound(node, graph, 1, -INFINITY), bound(node, graph, 2, INFINITY)


def bound(node: Node, graph: Builder, index: int, default: float) -> float:
    """A scalar constant operand, or its default.

    Raises: NodeError if it is computed, or no scalar.
    """
    if not node.operand(index):
        return default
    array = graph.weight(node, index)
    if array.size != 1:
        raise NodeError(f"a bound of shape {list(array.shape)}; expected a scalar")
    return float(array.reshape(-1)[0])


def add(node: Node, graph: Builder) -> Value:
    """Add.

    A constant row after a fully connected layer without bias becomes its bias. A constant with one
    number per channel after a convolution or normalisation becomes a normalisation, which a pass
    can fold into the layer before.
    """
    return added(graph, [graph.value(node, 0), graph.value(node, 1)], node.inputs)


def sum_(node: Node, graph: Builder) -> Value:
    """Sum of any number of maps."""
    values = [graph.value(node, index) for index in range(len(node.inputs))]
    return added(graph, values, node.inputs) if values else graph.map(node, 0)


def added(graph: Builder, values: Sequence[Value], names: Sequence[str]) -> Value:
    """Build the sum of values, from left to right; `names` are theirs in the model. See `add`."""
    if len(values) == 2:
        for (value, name), addend in zip(
            zip(values, names, strict=True), reversed(values), strict=True
        ):
            folded = folded_sum(graph, value, addend, name)
            if folded is not None:
                return folded
    maps = [graph.numbers(value, name) for value, name in zip(values, names, strict=True)]
    return reduce(lambda lhs, rhs: graph.emit(lambda out: AddOp(lhs, rhs, out)), maps)


def folded_sum(graph: Builder, value: Value, addend: Value, name: str) -> SSAValue | None:
    """A map plus a constant, if the layer that gives the map can take it; else None.

    `name` is that of the map in the model.
    """
    if not isinstance(addend, Constant) or not isinstance(value, SSAValue):
        return None
    if addend.array.dtype != np.float32:
        return None
    layer = biasless_layer(graph, value, name)
    if layer is not None:
        vector = row_vector(float_array(addend), shape_of(value))
        if vector is not None:
            shape = shape_of(value)
            drop_reshape(value)
            return graph.reshape(with_bias(graph, layer, addend, vector), shape)
    shift = channel_vector(float_array(addend), shape_of(value))
    if shift is not None and isinstance(value.owner, Conv2dOp | BatchNormOp):
        return normalised(graph, value, np.ones_like(shift), shift, addend.name)
    return None


def biasless_layer(graph: Builder, value: SSAValue, name: str) -> FullyConnectedOp | None:
    """The fully connected layer without bias that gives a value with one reader; else None.

    A reshape may stand between them that keeps the last axis, as behind MatMul of [N, M, K].
    """
    if graph.uses[name] != 1 or value.first_use is not None:
        return None
    layer = value.owner
    if isinstance(layer, ReshapeOp) and layer.input.has_one_use():
        kept = shape_of(layer.input)[-1:] == shape_of(value)[-1:]
        layer = layer.input.owner if kept else layer
    return layer if isinstance(layer, FullyConnectedOp) and layer.bias is None else None


def drop_reshape(value: SSAValue) -> None:
    """Erase the reshape that gives a value without reader, if one does."""
    layer = value.owner
    if isinstance(layer, ReshapeOp):
        layer.detach()
        layer.erase()


def with_bias(graph: Builder, layer: FullyConnectedOp, addend: Constant, vector: Array) -> SSAValue:
    """Replace a layer by one with a bias `vector` [O]; `addend` is the constant it comes from."""
    source, weight = layer.input, layer.weight
    bias = (
        graph.materialise(addend)
        if addend.array.shape == vector.shape
        else graph.parameter(vector, addend.name)
    )
    new = graph.emit(lambda out: FullyConnectedOp(source, weight, bias, out))
    return graph.replace_last_use(layer, new)


def mul(node: Node, graph: Builder) -> Value:
    """Mul of two maps, or of a map and a constant."""
    for index in range(2):
        factor = graph.value(node, index)
        if isinstance(factor, Constant) and factor.array.dtype == np.float32:
            return scaled(graph, graph.map(node, 1 - index), factor)
    lhs, rhs = graph.operand(node, 0), graph.operand(node, 1)
    return graph.emit(lambda out: MulOp(lhs, rhs, out))


def scaled(graph: Builder, source: SSAValue, factor: Constant) -> SSAValue:
    """Build a map times a constant.

    With one factor per channel it is a batch normalisation that only scales. A pass can fold that
    into the layer before.
    """
    scale = channel_vector(float_array(factor), shape_of(source))
    if scale is None:
        values = graph.materialise(factor)
        return graph.emit(lambda out: MulOp(source, values, out))
    return normalised(graph, source, scale, np.zeros_like(scale), factor.name)


def normalised(graph: Builder, source: SSAValue, scale: Array, shift: Array, name: str) -> SSAValue:
    """Build a map times `scale` [C] plus `shift` [C], as a batch normalisation.

    Its mean is 0 and its variance 1. `name` is that of the constant that the numbers come from.
    """
    scales, shifts = graph.parameter(scale, name), graph.parameter(shift, name)
    zero = np.zeros_like(scale)
    zeros, ones = graph.parameter(zero, "zero"), graph.parameter(zero + np.float32(1), "one")
    return graph.emit(lambda out: BatchNormOp(source, scales, shifts, zeros, ones, 0.0, out))


def batch_normalization(node: Node, graph: Builder) -> Value:
    """BatchNormalization with the statistics of training, as in inference."""
    if node.int("training_mode", 0) or any(node.outputs[1:]):
        raise NodeError("training mode; expected a model exported for inference")
    if not node.int("spatial", 1):
        raise NodeError("spatial = 0; expected one mean and variance per channel")
    source = graph.map(node, 0)
    scale, bias, mean, variance = (
        graph.materialise(graph.constant(node, index)) for index in range(1, 5)
    )
    epsilon = node.float("epsilon", 1e-5)
    return graph.emit(lambda out: BatchNormOp(source, scale, bias, mean, variance, epsilon, out))


def lrn(node: Node, graph: Builder) -> Value:
    """LRN."""
    source, size = graph.map(node, 0), node.int("size", 0)
    alpha, beta = node.float("alpha", 1e-4), node.float("beta", 0.75)
    bias = node.float("bias", 1.0)
    return graph.emit(lambda out: LrnOp(source, size, out, alpha=alpha, beta=beta, bias=bias))
