"""Conv."""

from __future__ import annotations

from npu_dialect.npu import Conv2dOp
from npu_tools.onnx_import.builder import Builder, Constant, Value
from npu_tools.onnx_import.errors import NodeError
from npu_tools.onnx_import.node import Node
from npu_tools.onnx_import.rules.window import as_rows, from_rows, spatial_rank, window


def conv(node: Node, graph: Builder) -> Value:
    """Conv over one or two spatial axes with constant weights [O, C / groups, ...]."""
    padded = graph.padded(node, 0)
    rank = spatial_rank(padded.source)
    weight, bias = graph.constant(node, 1), graph.optional(node, 2)
    shape = weight.array.shape
    if len(shape) != rank + 2:
        raise NodeError(f"a weight of shape {list(shape)}; expected {rank + 2} dimensions")
    kernel = node.ints("kernel_shape")
    if kernel is not None and kernel != list(shape[2:]):
        raise NodeError(f"kernel_shape {kernel}, but a weight of shape {list(shape)}")
    found = window(node, padded, shape[2:])
    if rank == 1:
        weight = Constant(weight.name, weight.array.reshape(*shape[:2], 1, shape[2]))
    image = as_rows(graph, padded.source)
    weights = graph.materialise(weight)
    biases = None if bias is None else graph.materialise(bias)
    groups = node.int("group", 1)
    result = graph.emit(
        lambda out: Conv2dOp(
            image,
            weights,
            biases,
            out,
            strides=found.strides,
            pads=found.pads,
            dilations=found.dilations,
            groups=groups,
        )
    )
    return from_rows(graph, result, rank)
