"""Rules for pooling: MaxPool, AveragePool, the global pools."""

from __future__ import annotations

from xdsl.ir import SSAValue

from npu_dialect.npu import AvgPool2dOp, GlobalAvgPool2dOp, GlobalMaxPool2dOp, MaxPool2dOp, PoolAttr
from npu_tools.importers.onnx.builder import Builder, Padded, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import unpadded
from npu_tools.importers.onnx.rules.window import as_rows, from_rows, spatial_rank, window


def max_pool(node: Node, graph: Builder) -> Value:
    """MaxPool without its second output."""
    if len(node.outputs) > 1 and graph.uses[node.outputs[1]]:
        raise NodeError("the second output (Indices) is used; expected the maxima only")
    source = graph.map(node, 0)
    zeros = (0,) * spatial_rank(source)
    pool = pool_attribute(node, Padded(source, zeros, zeros, ""), "max", counts_pad=False)
    image = as_rows(graph, source)
    result = graph.emit(lambda out: MaxPool2dOp(image, pool, out))
    return from_rows(graph, result, len(zeros))


def average_pool(node: Node, graph: Builder) -> Value:
    """AveragePool; it takes pads of zeros that a Pad in front of it has added.

    Those count as elements in averages. All pads of a window are treated alike, so they are built
    first if the node has pads of its own that do not count.
    """
    padded = graph.padded(node, 0)
    pool = average_window(node, padded)
    total = sum((*padded.before, *padded.after))
    if padded.label and not node.int("count_include_pad", 0) and sum(pool_pads(pool)) > total:
        padded = unpadded(graph.padded_map(padded))
        pool = average_window(node, padded)
    image = as_rows(graph, padded.source)
    result = graph.emit(lambda out: AvgPool2dOp(image, pool, out))
    return from_rows(graph, result, spatial_rank(padded.source))


def average_window(node: Node, padded: Padded) -> PoolAttr:
    """The window of AveragePool over a map with pads, which count if a Pad has added them."""
    counts_pad = bool(node.int("count_include_pad", 0)) or bool(padded.label)
    return pool_attribute(node, padded, "avg", counts_pad=counts_pad)


def pool_pads(pool: PoolAttr) -> tuple[int, ...]:
    """The pads of a pooling window: top, left, bottom, right."""
    return tuple(int(value) for value in pool.pads.iter_values())


def pool_attribute(node: Node, padded: Padded, kind: str, *, counts_pad: bool) -> PoolAttr:
    """The window attribute of a pooling node.

    Raises: NodeError if `kernel_shape` is missing, or if the window does not fit the map.
    """
    kernel = node.ints("kernel_shape")
    if kernel is None:
        raise NodeError("no kernel_shape")
    found = window(node, padded, kernel)
    return PoolAttr.of(
        kind,
        found.kernel,
        found.strides,
        found.pads,
        found.dilations,
        ceil_mode=bool(node.int("ceil_mode", 0)),
        count_include_pad=counts_pad,
    )


def global_max_pool(node: Node, graph: Builder) -> Value:
    """GlobalMaxPool."""
    return global_maximum(graph, graph.map(node, 0))


def global_maximum(graph: Builder, source: SSAValue) -> SSAValue:
    """Build the maximum of each channel; the spatial axes stay, with extent 1."""
    rank = spatial_rank(source)
    image = as_rows(graph, source)
    return from_rows(graph, graph.emit(lambda out: GlobalMaxPool2dOp(image, out)), rank)


def global_average_pool(node: Node, graph: Builder) -> Value:
    """GlobalAveragePool."""
    return global_average(graph, graph.map(node, 0))


def global_average(graph: Builder, source: SSAValue) -> SSAValue:
    """Build the average of each channel; the spatial axes stay, with extent 1."""
    rank = spatial_rank(source)
    image = as_rows(graph, source)
    return from_rows(graph, graph.emit(lambda out: GlobalAvgPool2dOp(image, out)), rank)
