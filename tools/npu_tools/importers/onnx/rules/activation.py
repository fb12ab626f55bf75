"""Activations that are built from simpler layers: LeakyRelu, HardSigmoid, HardSwish, Sigmoid."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import AddOp, ClampOp, FullyConnectedOp, MulOp, ReluOp, SoftmaxOp
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.node import Node

INFINITY = float("inf")


def leaky_relu(node: Node, graph: Builder) -> Value:
    """LeakyRelu: max(x, 0) + alpha * min(x, 0)."""
    source = graph.map(node, 0)
    positive = graph.emit(lambda out: ReluOp(source, out))
    negative = graph.emit(lambda out: ClampOp(source, -INFINITY, 0.0, out))
    small = times(graph, negative, node.float("alpha", 0.01), "alpha")
    return graph.emit(lambda out: AddOp(positive, small, out))


def hard_sigmoid(node: Node, graph: Builder) -> Value:
    """HardSigmoid: max(0, min(1, alpha * x + beta))."""
    alpha, beta = node.float("alpha", 0.2), node.float("beta", 0.5)
    return ramp(graph, graph.map(node, 0), alpha, beta)


def hard_swish(node: Node, graph: Builder) -> Value:
    """HardSwish: x * max(0, min(1, x / 6 + 1 / 2))."""
    source = graph.map(node, 0)
    gate = ramp(graph, source, 1 / 6, 0.5)
    return graph.emit(lambda out: MulOp(source, gate, out))


def ramp(graph: Builder, source: SSAValue, alpha: float, beta: float) -> SSAValue:
    """Build max(0, min(1, alpha * x + beta))."""
    slope = times(graph, source, alpha, "alpha")
    offset = graph.parameter(np.array(beta, np.float32), "beta")
    line = graph.emit(lambda out: AddOp(slope, offset, out))
    return graph.emit(lambda out: ClampOp(line, 0.0, 1.0, out))


def times(graph: Builder, source: SSAValue, factor: float, hint: str) -> SSAValue:
    """Build a map times a number; `hint` is a hint for the number's name."""
    number = graph.parameter(np.array(factor, np.float32), hint)
    return graph.emit(lambda out: MulOp(source, number, out))


def sigmoid(node: Node, graph: Builder) -> Value:
    """Sigmoid: 1 / (1 + exp(-x)) is the first of the two numbers softmax(x, 0)."""
    source = graph.map(node, 0)
    shape = shape_of(source)
    column = graph.reshape(source, (prod(shape), 1))
    first = np.array([[1.0], [0.0]], np.float32)
    beside, pick = graph.parameter(first, "beside"), graph.parameter(first.T.copy(), "first")
    pairs = graph.emit(lambda out: FullyConnectedOp(column, beside, None, out))
    shares = graph.emit(lambda out: SoftmaxOp(pairs, 1, out))
    result = graph.emit(lambda out: FullyConnectedOp(shares, pick, None, out))
    return graph.reshape(result, shape)
