"""Rules for pooling: MaxPool, AveragePool, the global pools.

A pool over three spatial axes is one over rows and columns, then one over the depth. An average of
averages is right, as each of the latter counts the same number of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu import AvgPool2dOp, GlobalAvgPool2dOp, GlobalMaxPool2dOp, MaxPool2dOp, PoolAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Padded, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import unpadded
from npu_tools.importers.onnx.rules.frame_maps import Convolved, FrameMap
from npu_tools.importers.onnx.rules.window import (
    Window,
    spatial_extents,
    spatial_rank,
    window,
)


@dataclass(frozen=True)
class Step:
    """A pool over rows and columns of a map that is reshaped to `image` [N, C, H, W]."""

    image: tuple[int, ...]
    pool: PoolAttr

    @property
    def outputs(self) -> tuple[int, ...]:
        """The rows and columns of the result."""
        return tuple(axis.outputs for axis in self.pool.axes(*self.image[2:]))


@dataclass(frozen=True)
class Pooling:
    """A pool over one, two or three spatial axes: steps in a row, and the shape of the result."""

    steps: tuple[Step, ...]
    result: tuple[int, ...]

    def build(
        self,
        graph: Builder,
        source: SSAValue,
        layer: Callable[[SSAValue, PoolAttr, Attribute], LayerOp],
    ) -> SSAValue:
        """Add the layers that `layer` makes for a map, a window and a result type."""
        for step in self.steps:
            image = graph.reshape(source, step.image)
            source = graph.emit(lambda out, image=image, pool=step.pool: layer(image, pool, out))
        return graph.reshape(source, self.result)


def max_pool(node: Node, graph: Builder) -> Value:
    """MaxPool without its second output."""
    if len(node.outputs) > 1 and graph.uses[node.outputs[1]]:
        raise NodeError("the second output (Indices) is used; expected the maxima only")
    value = graph.value(node, 0)
    if isinstance(value, FrameMap):
        return pooled_frames(node, graph, value, "max", MaxPool2dOp)
    source = graph.map(node, 0)
    found = pool_window(node, shape_of(source))
    pools = pooling(shape_of(source), found, "max", ceil_mode=bool(node.int("ceil_mode", 0)))
    return pools.build(graph, source, MaxPool2dOp)


def average_pool(node: Node, graph: Builder) -> Value:
    """AveragePool; it takes pads of zeros that a Pad in front of it has added.

    Those count as elements in averages. All pads of a window are treated alike, so they are built
    first if the node has pads of its own that do not count.
    """
    value = graph.value(node, 0)
    if isinstance(value, FrameMap):
        return pooled_frames(node, graph, value, "avg", AvgPool2dOp)
    padded = graph.padded(node, 0)
    found = pool_window(node, shape_of(padded.source), padded)
    total = sum((*padded.before, *padded.after))
    if padded.label and not node.int("count_include_pad", 0) and sum(found.pads) > total:
        padded = unpadded(graph.padded_map(padded))
    return average_pooling(node, padded).build(graph, padded.source, AvgPool2dOp)


def pooled_frames(
    node: Node,
    graph: Builder,
    source: FrameMap,
    kind: str,
    layer: Callable[[SSAValue, PoolAttr, Attribute], LayerOp],
) -> FrameMap:
    """A pool of a map in frames."""
    found = pool_window(node, source.shape)
    pools = pooling(
        source.shape,
        found,
        kind,
        ceil_mode=bool(node.int("ceil_mode", 0)),
        counts_pad=bool(node.int("count_include_pad", 0)),
        in_frames=True,
    )
    batch, channels, depth, *plane = pools.result
    value = pools.build(graph, source.image(graph), layer)
    frames = graph.reshape(value, (batch * depth, channels, *plane))
    return FrameMap(Convolved((frames,), pools.result, in_frames=True), node.label)


def average_pooling(node: Node, padded: Padded) -> Pooling:
    """AveragePool over a map with pads, which count if a Pad has added them."""
    shape = shape_of(padded.source)
    found = pool_window(node, shape, padded)
    counts_pad = bool(node.int("count_include_pad", 0)) or bool(padded.label)
    ceil_mode = bool(node.int("ceil_mode", 0))
    return pooling(shape, found, "avg", ceil_mode=ceil_mode, counts_pad=counts_pad)


def pool_window(node: Node, shape: Sequence[int], padded: Padded | None = None) -> Window:
    """The window of a pooling node over a map [N, C, ...], with the pads that it has.

    Raises: NodeError if `kernel_shape` is missing, or if the window does not fit the map.
    """
    kernel = node.ints("kernel_shape")
    if kernel is None:
        raise NodeError("no kernel_shape")
    return window(node, spatial_extents(shape), kernel, padded)


def pooling(
    shape: Sequence[int],
    found: Window,
    kind: str,
    *,
    ceil_mode: bool = False,
    counts_pad: bool = False,
    in_frames: bool = False,
) -> Pooling:
    """A pool of a map [N, C, ...] over a window; `in_frames`: it lies as [N, D, C, H, W]."""

    def step(image: tuple[int, ...], plane: Window) -> Step:
        pool = PoolAttr.of(
            kind,
            plane.kernel,
            plane.strides,
            plane.pads,
            plane.dilations,
            ceil_mode=ceil_mode,
            count_include_pad=counts_pad,
        )
        return Step(image, pool)

    batch, channels, *spatial = shape
    if found.rank < 3:
        only = step((batch, channels, *(1, *spatial)[-2:]), found.plane)
        return Pooling((only,), (batch, channels, *only.outputs[-found.rank :]))
    depth, rows, columns = spatial
    plane = step((batch, channels * depth, rows, columns), found.plane)
    rows, columns = plane.outputs
    outer, inner = (1, channels) if in_frames else (channels, 1)
    along = step((batch, outer, depth, inner * rows * columns), found.depth.over_rows)
    windows = (plane, found.plane), (along, found.depth)
    steps = tuple(each for each, its_window in windows if not its_window.is_neutral)
    return Pooling(steps, (batch, channels, along.outputs[0], rows, columns))


def global_window(source: SSAValue) -> Pooling:
    """The average of a whole map, over one window."""
    ones = (1,) * spatial_rank(source)
    batch, channels, *spatial = shape_of(source)
    image = (batch, channels, prod(spatial[:-1]), spatial[-1])
    step = Step(image, PoolAttr.of("avg", image[2:], (1, 1)))
    return Pooling((step,), (batch, channels, *ones))


def global_max_pool(node: Node, graph: Builder) -> Value:
    """GlobalMaxPool."""
    return global_maximum(graph, graph.map(node, 0))


def global_maximum(graph: Builder, source: SSAValue) -> SSAValue:
    """Build the maximum of each channel; the spatial axes stay, with extent 1."""
    return global_pool(graph, source, GlobalMaxPool2dOp)


def global_average_pool(node: Node, graph: Builder) -> Value:
    """GlobalAveragePool."""
    return global_average(graph, graph.map(node, 0))


def global_average(graph: Builder, source: SSAValue) -> SSAValue:
    """Build the average of each channel; the spatial axes stay, with extent 1."""
    return global_pool(graph, source, GlobalAvgPool2dOp)


def global_pool(
    graph: Builder, source: SSAValue, kind: type[GlobalMaxPool2dOp | GlobalAvgPool2dOp]
) -> SSAValue:
    """Build one number for each channel; the spatial axes stay, with extent 1."""
    whole = global_window(source)
    image = graph.reshape(source, whole.steps[0].image)
    return graph.reshape(graph.emit(lambda out: kind(image, out)), whole.result)
