"""The rule for Conv, and convolutions over one, two or three spatial axes by layers over two."""

from __future__ import annotations

from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Padded, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.frame_maps import Convolved, FrameMap, shape_read
from npu_tools.importers.onnx.rules.frames import frame_layers
from npu_tools.importers.onnx.rules.products import Products
from npu_tools.importers.onnx.rules.window import Window, as_rows, spatial_extents, window


def conv(node: Node, graph: Builder) -> Value:
    """Conv over one, two or three spatial axes with constant weights [O, C / groups, ...]."""
    weight, bias = graph.constant(node, 1), graph.optional(node, 2)
    products = Products(Conv2dOp, weight, bias, node.int("group", 1))
    value = graph.value(node, 0)
    source = value if isinstance(value, FrameMap) else graph.padded(node, 0)
    return together(node, graph, convolution(node, graph, source, products))


def together(node: Node, graph: Builder, found: Convolved) -> Value:
    """The results of a convolution as a map; frames stay as they are."""
    if found.in_frames:
        return FrameMap(found, node.label)
    return found.joined(graph, found.values)


def convolution(
    node: Node, graph: Builder, source: Padded | FrameMap, products: Products
) -> Convolved:
    """Add a convolution of a map [N, C, ...] with its pads.

    Raises: NodeError if weight, `kernel_shape`, strides, dilations or pads do not fit the map.
    """
    padded = source if isinstance(source, Padded) else None
    read = source.source if isinstance(source, Padded) else source
    extents, shape = spatial_extents(shape_read(read)), products.weight.array.shape
    if len(shape) != len(extents) + 2:
        raise NodeError(f"a weight of shape {list(shape)}; expected {len(extents) + 2} dimensions")
    kernel = node.ints("kernel_shape")
    if kernel is not None and kernel != list(shape[2:]):
        raise NodeError(f"kernel_shape {kernel}, but a weight of shape {list(shape)}")
    return convolved(graph, read, products, window(node, extents, shape[2:], padded))


def convolved(
    graph: Builder, source: SSAValue | FrameMap, products: Products, found: Window
) -> Convolved:
    """Add a convolution of a map over one, two or three spatial axes.

    Raises: NodeError or VerifyException if map, weights and window do not fit each other.
    """
    batch, channels, *spatial = shape_read(source)
    filters, depth, *taps = products.weight.array.shape
    if isinstance(source, SSAValue) and found.rank < 3:
        weight = products.reshaped((filters, depth, *(1, *taps)[-2:]))
        value = products.layer(graph, as_rows(graph, source), weight, found.plane)
        return Convolved((value,), (batch, filters, *shape_of(value)[4 - found.rank :]))
    products.expect_channels(channels)
    frames, rows, columns = spatial
    if isinstance(source, SSAValue) and found.plane.is_neutral:
        image = graph.reshape(source, (batch, channels, frames, rows * columns))
        weight = products.reshaped((filters, depth, taps[0], 1))
        value = products.layer(graph, image, weight, found.depth.over_rows)
        return Convolved((value,), (batch, filters, shape_of(value)[2], rows, columns))
    values = frame_layers(graph, source, products, found)
    count = sum(shape_of(value)[0] for value in values) // batch
    shape = (batch, filters, count, *shape_of(values[0])[2:])
    return Convolved(tuple(values), shape, in_frames=True)
