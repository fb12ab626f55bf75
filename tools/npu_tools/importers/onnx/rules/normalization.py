"""Rules for operators that normalise a map by its own mean and variance: one layer for all."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import AddOp, MapOp, MulOp, NormalizeOp, PairwiseOp, ReduceOp
from npu_dialect.npu.enums import BinaryKind, Function, ReduceKind
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.shape import axis_of

TINY = 1e-18
"""An epsilon that only makes zero divided by zero zero."""


def normalised(
    graph: Builder,
    source: SSAValue,
    scale: SSAValue | None,
    bias: SSAValue | None,
    axes: Sequence[int],
    epsilon: float,
    *,
    rms: bool = False,
) -> SSAValue:
    """Build a normalisation; a bias without scale gets a scale of one."""
    if bias is not None and scale is None:
        scale = graph.parameter(np.ones(1, np.float32), "one")
    return graph.emit(
        lambda out: NormalizeOp(source, scale, bias, out, axes=axes, epsilon=epsilon, rms=rms)
    )


def expect_one_output(node: Node, graph: Builder) -> None:
    """Check that nothing reads the statistics that an operator may give beside its result.

    Raises: NodeError if something does.
    """
    for name in node.outputs[1:]:
        if name and graph.uses[name]:
            raise NodeError(f"output '{name}' (statistics) is used; expected the first one only")


def operand(
    node: Node, graph: Builder, index: int, shape: Sequence[int] | None = None
) -> SSAValue | None:
    """Scale or bias as a map, reshaped if a shape is given; None if it is left out.

    Raises: NodeError if it has another number of elements.
    """
    if not node.operand(index):
        return None
    value = graph.value(node, index)
    found = value.array.shape if isinstance(value, Constant) else shape_of(graph.map(node, index))
    if shape is None or tuple(found) == tuple(shape):
        return graph.map(node, index)
    if prod(found) != prod(shape) or len(found) != 1:
        raise NodeError(
            f"input '{node.operand(index)}' of shape {list(found)}; expected [{prod(shape)}]"
        )
    if isinstance(value, Constant):
        return graph.parameter(graph.weight(node, index).reshape(shape), value.name)
    return graph.reshape(graph.map(node, index), shape)


def layer_normalization(node: Node, graph: Builder) -> list[Value]:
    """LayerNormalization: over all axes from `axis` on; mean and 1 / deviation if they are read."""
    source = graph.map(node, 0)
    found: list[Value] = [over_last_axes(node, graph, source, rms=False)]
    if not any(name and graph.uses[name] for name in node.outputs[1:]):
        return found
    rank = len(shape_of(source))
    axes = tuple(range(axis_of(node.int("axis", -1), rank), rank))
    mean = graph.emit(lambda out: ReduceOp(source, ReduceKind.MEAN, axes, out))
    distance = graph.emit(lambda out: PairwiseOp(source, mean, BinaryKind.SUB, out))
    square = graph.emit(lambda out: MulOp(distance, distance, out))
    variance = graph.emit(lambda out: ReduceOp(square, ReduceKind.MEAN, axes, out))
    epsilon = graph.parameter(np.array(node.float("epsilon", 1e-5), np.float32), "epsilon")
    total = graph.emit(lambda out: AddOp(variance, epsilon, out))
    deviation = graph.emit(lambda out: MapOp(total, FunctionAttr.of(Function.SQRT), out))
    inverse = FunctionAttr.of(Function.RECIPROCAL)
    return [*found, mean, graph.emit(lambda out: MapOp(deviation, inverse, out))]


def rms_normalization(node: Node, graph: Builder) -> Value:
    """RMSNormalization, and SimplifiedLayerNormalization of com.microsoft."""
    expect_one_output(node, graph)
    return over_last_axes(node, graph, graph.map(node, 0), rms=True)


def over_last_axes(node: Node, graph: Builder, source: SSAValue, *, rms: bool) -> SSAValue:
    """A normalisation over all axes from `axis` on."""
    rank = len(shape_of(source))
    axes = range(axis_of(node.int("axis", -1), rank), rank)
    scale, bias = operand(node, graph, 1), operand(node, graph, 2)
    epsilon = node.float("epsilon", 1e-5)
    return normalised(graph, source, scale, bias, axes, epsilon, rms=rms)


def instance_normalization(node: Node, graph: Builder) -> Value:
    """InstanceNormalization: over the spatial axes of each channel."""
    source = graph.map(node, 0)
    shape = channels_first(source)
    vector = (shape[1], *(1 for _ in shape[2:]))
    scale, bias = (operand(node, graph, index, vector) for index in (1, 2))
    epsilon = node.float("epsilon", 1e-5)
    return normalised(graph, source, scale, bias, range(2, len(shape)), epsilon)


def channels_first(source: SSAValue) -> tuple[int, ...]:
    """The shape of a map [N, C, ...] with at least one spatial axis.

    Raises: NodeError if it has fewer axes.
    """
    shape = shape_of(source)
    if len(shape) < 3:
        raise NodeError(
            f"an input of shape {list(shape)}; expected [N, C, ...] with 3 axes or more"
        )
    return shape


def group_normalization(node: Node, graph: Builder) -> Value:
    """GroupNormalization: over the channels of a group and the spatial axes.

    Before opset 21, scale and bias have one number for each group; since then for each channel.
    """
    source = graph.map(node, 0)
    shape, groups = channels_first(source), node.int("num_groups", 0)
    if groups < 1 or shape[1] % groups:
        raise NodeError(f"{groups} groups of {shape[1]} channels; expected a divisor of them")
    depth = shape[1] // groups
    apart = graph.reshape(source, (shape[0], groups, depth, *shape[2:]))
    ones = tuple(1 for _ in shape[2:])
    vector = (groups, 1, *ones) if node.opset < 21 else (groups, depth, *ones)
    scale, bias = (operand(node, graph, index, vector) for index in (1, 2))
    axes = range(2, len(shape) + 1)
    found = normalised(graph, apart, scale, bias, axes, node.float("epsilon", 1e-5))
    return graph.reshape(found, shape)


def mean_variance_normalization(node: Node, graph: Builder) -> Value:
    """MeanVarianceNormalization over `axes`, without scale and bias."""
    source = graph.map(node, 0)
    rank, given = len(shape_of(source)), node.ints("axes")
    axes = sorted({axis_of(axis, rank) for axis in ([0, 2, 3] if given is None else given)})
    return normalised(graph, source, None, None, axes, TINY)


def lp_normalization(node: Node, graph: Builder) -> Value:
    """LpNormalization: x / sum(|x|), or x / sqrt(sum of squares) by the root of their mean."""
    source, power = graph.map(node, 0), node.int("p", 2)
    shape = shape_of(source)
    axis = axis_of(node.int("axis", -1), len(shape))
    if power == 1:
        total = graph.emit(lambda out: ReduceOp(source, ReduceKind.L1, [axis], out))
        tiny = graph.parameter(np.array(TINY * TINY, np.float32), "tiny")
        divisor = graph.emit(lambda out: PairwiseOp(total, tiny, BinaryKind.MAX, out))
        return graph.emit(lambda out: PairwiseOp(source, divisor, BinaryKind.DIV, out))
    if power != 2:
        raise NodeError(f"p = {power}; expected 1 or 2")
    scale = graph.parameter(np.full(1, shape[axis] ** -0.5, np.float32), "scale")
    return normalised(graph, source, scale, None, [axis], TINY * TINY, rms=True)
