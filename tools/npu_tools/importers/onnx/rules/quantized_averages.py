"""Rules for averages of quantised maps: AveragePool, GlobalAveragePool, ReduceMean."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from npu_dialect.npu import PoolAttr
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import unpadded
from npu_tools.importers.onnx.plain import is_plain
from npu_tools.importers.onnx.quantized import Average, Scaled
from npu_tools.importers.onnx.rules.pool import Pooling, Step, average_pooling, global_window
from npu_tools.importers.onnx.rules.reduce import covers_map, reduced_axes
from npu_tools.importers.onnx.surrounded import settled


def average_pool(node: Node, graph: Builder) -> Value | None:
    """AveragePool; None if it takes two layers, which would round twice."""
    source = settled(graph, graph.value(node, 0))
    if not is_plain(source):
        return None
    pooling = average_pooling(node, unpadded(source.value))
    return average(node, graph, source, pooling) if len(pooling.steps) == 1 else None


def global_average_pool(node: Node, graph: Builder) -> Value | None:
    """GlobalAveragePool."""
    source = settled(graph, graph.value(node, 0))
    return average(node, graph, source, global_window(source.value)) if is_plain(source) else None


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
        found = average(node, graph, source, global_window(source.value))
    else:
        length = prod(shape[axis] for axis in axes)
        column = (prod(shape[: axes[0]]), 1, length, prod(shape[axes[-1] + 1 :]))
        step = Step(column, PoolAttr.of("avg", (length, 1), (1, 1)))
        found = average(node, graph, source, Pooling((step,), (*column[:2], *step.outputs)))
    kept = [1 if axis in axes else extent for axis, extent in enumerate(shape)]
    if not node.int("keepdims", 1):
        kept = [extent for axis, extent in enumerate(shape) if axis not in axes]
    return replace(found, result=tuple(kept))


def average(node: Node, graph: Builder, source: Scaled, pooling: Pooling) -> Average:
    """The averages of a map by one layer."""
    (step,) = pooling.steps
    image = replace(source, value=graph.reshape(source.value, step.image), view=None)
    return Average(image, step.pool, pooling.result, label=node.label)
