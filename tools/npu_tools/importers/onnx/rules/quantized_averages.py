"""Rules for averages of quantised maps: AveragePool, GlobalAveragePool, ReduceMean."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from npu_dialect.npu import PoolAttr
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import unpadded
from npu_tools.importers.onnx.plain import is_plain
from npu_tools.importers.onnx.quantized import Average, Scaled
from npu_tools.importers.onnx.rules.pool import average_window
from npu_tools.importers.onnx.rules.reduce import covers_map, reduced_axes
from npu_tools.importers.onnx.rules.window import as_rows, spatial_rank
from npu_tools.importers.onnx.surrounded import settled


def average_pool(node: Node, graph: Builder) -> Value | None:
    """AveragePool."""
    source = settled(graph, graph.value(node, 0))
    if not is_plain(source):
        return None
    return average(node, graph, source, average_window(node, unpadded(source.value)))


def global_average_pool(node: Node, graph: Builder) -> Value | None:
    """GlobalAveragePool."""
    source = settled(graph, graph.value(node, 0))
    return average(node, graph, source, None) if is_plain(source) else None


def reduce_mean(node: Node, graph: Builder) -> Value | None:
    """ReduceMean over neighbouring axes, as the average over one window or over its columns."""
    source = settled(graph, graph.value(node, 0))
    if not is_plain(source):
        return None
    shape = source.shape
    axes = reduced_axes(node, graph, len(shape))
    if not axes or axes != list(range(axes[0], axes[-1] + 1)):
        return None
    if covers_map(axes, len(shape)):
        found = average(node, graph, source, None)
    else:
        length = prod(shape[axis] for axis in axes)
        column = (prod(shape[: axes[0]]), 1, length, prod(shape[axes[-1] + 1 :]))
        map_ = replace(source, value=graph.reshape(source.value, column), view=None)
        found = average(node, graph, map_, PoolAttr.of("avg", (length, 1), (1, 1)))
    kept = [1 if axis in axes else extent for axis, extent in enumerate(shape)]
    if not node.int("keepdims", 1):
        kept = [extent for axis, extent in enumerate(shape) if axis not in axes]
    return replace(found, result=tuple(kept))


def average(node: Node, graph: Builder, source: Scaled, window: PoolAttr | None) -> Average:
    """The averages of a map over a sliding window; without one, over the whole map."""
    rank = spatial_rank(source.value)
    image = as_rows(graph, source.value)
    batch, channels, height, width = shape_of(image)
    if window is None:
        window = PoolAttr.of("avg", (height, width), (1, 1))
    extents = tuple(axis.outputs for axis in window.axes(height, width))
    result = (batch, channels, *extents[2 - rank :])
    return Average(replace(source, value=image, view=None), window, result, label=node.label)
