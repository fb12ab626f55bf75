"""Rules for onnxruntime's operators of one quantised map: QLinearSigmoid and the like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32

from npu_dialect.interpreters.pointwise import mapped
from npu_dialect.npu import SoftmaxOp
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.quantized import Params, Scaled, quantized_floats
from npu_tools.importers.onnx.quantized_operands import params_of
from npu_tools.importers.onnx.rules.activation import FUNCTIONS
from npu_tools.importers.onnx.rules.qlinear import Rule, map_operand
from npu_tools.importers.onnx.rules.shape import axis_of
from npu_tools.importers.onnx.tabled import looked_up, sources_of

NAMES = {"QLinearLeakyRelu": "LeakyRelu", "QLinearSigmoid": "Sigmoid"}
"""The operator of real numbers that an operator computes."""


def operands(node: Node, graph: Builder) -> tuple[Scaled, Params]:
    """The map, and the parameters of the result."""
    source = map_operand(node, graph, 0)
    return source, params_of(node, graph, 3, 4, source.element)


def function(node: Node, graph: Builder) -> Value:
    """A function of one number: a table."""
    source, params = operands(node, graph)
    value, reals = next(sources_of(source))
    what = FUNCTIONS[NAMES[node.op_type]](node)
    return looked_up(graph, value, mapped(reals, what), params)


def softmax(node: Node, graph: Builder) -> Value:
    """QLinearSoftmax, computed in float32.

    As in onnxruntime, the step of the result is the reciprocal of an integer: 1 / 256 if the scale
    is a bit more than that.

    Raises: NodeError for the form of opset 12 and before over several axes.
    """
    source, params = operands(node, graph)
    axis = axis_of(node.int("axis", -1), len(source.shape))
    if node.int("opset", 13) < 13 and np.prod(source.shape[axis + 1 :]) != 1:
        raise NodeError("opset below 13 and axes behind `axis`; expected the last axis")
    real = source.as_float(graph)
    shares = graph.emit(lambda out: SoftmaxOp(real, axis, out), f32)
    steps = np.maximum(np.floor(np.float32(1) / params.scale), np.float32(1))
    return quantized_floats(graph, shares, replace(params, scale=np.float32(1) / steps))


FUNCTIONS_OF_BYTES: Mapping[str, Rule] = {
    **dict.fromkeys(NAMES, function),
    "QLinearSoftmax": softmax,
}
"""The rules of operators of the domain com.microsoft."""
