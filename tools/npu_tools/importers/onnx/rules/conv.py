"""The rule for Conv, and convolutions over one, two or three spatial axes by layers over two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu import ConcatOp, Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Padded, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.frames import (
    frame_layers,
    swapped,
)
from npu_tools.importers.onnx.rules.products import Products
from npu_tools.importers.onnx.rules.window import Window, as_rows, spatial_rank, window


def conv(node: Node, graph: Builder) -> Value:
    """Conv over one, two or three spatial axes with constant weights [O, C / groups, ...]."""
    weight, bias = graph.constant(node, 1), graph.optional(node, 2)
    products = Products(Conv2dOp, weight, bias, node.int("group", 1))
    found = convolution(node, graph, graph.padded(node, 0), products)
    return found.joined(graph, found.values)


def convolution(node: Node, graph: Builder, padded: Padded, products: Products) -> Convolved:
    """Add a convolution of a map [N, C, ...] with its pads.

    Raises: NodeError if weight, `kernel_shape`, strides, dilations or pads do not fit the map.
    """
    rank = spatial_rank(padded.source)
    shape = products.weight.array.shape
    if len(shape) != rank + 2:
        raise NodeError(f"a weight of shape {list(shape)}; expected {rank + 2} dimensions")
    kernel = node.ints("kernel_shape")
    if kernel is not None and kernel != list(shape[2:]):
        raise NodeError(f"kernel_shape {kernel}, but a weight of shape {list(shape)}")
    return convolved(graph, padded.source, products, window(node, padded, shape[2:]))


@dataclass(frozen=True)
class Convolved:
    """The results of a convolution, and the shape of the map that they are together.

    They are one map with all elements in order, or with `in_frames` maps [N * frames, O, H, W].
    """

    values: tuple[SSAValue, ...]
    shape: tuple[int, ...]
    in_frames: bool = False

    def joined(self, graph: Builder, values: Sequence[SSAValue]) -> SSAValue:
        """Put the results together; `values` stand for them."""
        if not self.in_frames:
            return graph.reshape(values[0], self.shape)
        batch, filters, depth, rows, columns = self.shape
        counts = [shape_of(value)[0] // batch for value in values]
        if batch > 1:
            values = [
                graph.reshape(value, (batch, count * filters, rows, columns))
                for value, count in zip(values, counts, strict=True)
            ]
        whole = values[0]
        if len(values) > 1:
            axis = 1 if batch > 1 else 0
            whole = graph.emit(lambda out: ConcatOp(values, axis, out))
        apart = graph.reshape(whole, (batch, depth, filters, rows * columns))
        return graph.reshape(swapped(graph, apart), self.shape)


def convolved(graph: Builder, source: SSAValue, products: Products, found: Window) -> Convolved:
    """Add a convolution of a map over one, two or three spatial axes.

    Raises: NodeError or VerifyException if map, weights and window do not fit each other.
    """
    batch, channels, *spatial = shape_of(source)
    filters, depth, *taps = products.weight.array.shape
    if found.rank < 3:
        weight = products.reshaped((filters, depth, *(1, *taps)[-2:]))
        value = products.layer(graph, as_rows(graph, source), weight, found.plane)
        return Convolved((value,), (batch, filters, *shape_of(value)[4 - found.rank :]))
    products.expect_channels(channels)
    frames, rows, columns = spatial
    if found.plane.is_neutral:
        image = graph.reshape(source, (batch, channels, frames, rows * columns))
        weight = products.reshaped((filters, depth, taps[0], 1))
        value = products.layer(graph, image, weight, found.depth.over_rows)
        return Convolved((value,), (batch, filters, shape_of(value)[2], rows, columns))
    values = frame_layers(graph, source, products, found)
    count = sum(shape_of(value)[0] for value in values) // batch
    shape = (batch, filters, count, *shape_of(values[0])[2:])
    return Convolved(tuple(values), shape, in_frames=True)
