"""The rule for Softmax and LogSoftmax, whose meaning changed with opset 13."""

from __future__ import annotations

from math import prod

from npu_dialect.npu import SoftmaxOp
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.shape import axis_of


def softmax(node: Node, graph: Builder) -> Value:
    """Softmax and LogSoftmax along one axis; before opset 13 along all axes from that one on."""
    source, log = graph.map(node, 0), node.op_type == "LogSoftmax"
    shape = shape_of(source)
    if node.opset >= 13:
        axis = axis_of(node.int("axis", -1), len(shape))
        return graph.emit(lambda out: SoftmaxOp(source, axis, out, log=log))
    axis = axis_of(node.int("axis", 1), len(shape))
    if prod(shape[axis + 1 :]) == 1:
        return graph.emit(lambda out: SoftmaxOp(source, axis, out, log=log))
    rows = graph.reshape(source, (prod(shape[:axis]), prod(shape[axis:])))
    result = graph.emit(lambda out: SoftmaxOp(rows, 1, out, log=log))
    return graph.reshape(result, shape)
