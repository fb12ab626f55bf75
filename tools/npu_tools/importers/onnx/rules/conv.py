"""The rule for Conv, and what it shares with convolutions of quantised integers."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.layer import LayerOp
from npu_tools.importers.onnx.builder import Builder, Constant, Padded, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.window import Window, as_rows, from_rows, spatial_rank, window
from npu_tools.importers.onnx.tensors import Array


def conv(node: Node, graph: Builder) -> Value:
    """Conv over one or two spatial axes with constant weights [O, C / groups, ...]."""
    weight, bias = graph.constant(node, 1), graph.optional(node, 2)

    def build(image: SSAValue, taps: Array, found: Window) -> Callable[[Attribute], LayerOp]:
        as_it_is = taps.shape == weight.array.shape
        weights = graph.materialise(weight if as_it_is else Constant(weight.name, taps))
        biases = None if bias is None else graph.materialise(bias)
        return lambda out: Conv2dOp(
            image,
            weights,
            biases,
            out,
            strides=found.strides,
            pads=found.pads,
            dilations=found.dilations,
            groups=node.int("group", 1),
        )

    padded = graph.padded(node, 0)
    result = convolution(node, graph, padded, weight.array, build)
    return from_rows(graph, result, spatial_rank(padded.source))


def convolution(
    node: Node,
    graph: Builder,
    padded: Padded,
    weight: Array,
    build: Callable[[SSAValue, Array, Window], Callable[[Attribute], LayerOp]],
    element: Attribute | None = None,
) -> SSAValue:
    """Add a convolution over one or two spatial axes; returns the result [N, C, H, W].

    With one spatial axis the result has one row. `build` gets the map [N, C, H, W], the weight
    [O, C / groups, KH, KW] and the window; it returns a function that makes the layer for a result
    type. `element` is the element type of the result, if it is not that of the map.

    Raises: NodeError if weight, `kernel_shape`, strides, dilations or pads do not fit the map.
    """
    rank = spatial_rank(padded.source)
    shape = weight.shape
    if len(shape) != rank + 2:
        raise NodeError(f"a weight of shape {list(shape)}; expected {rank + 2} dimensions")
    kernel = node.ints("kernel_shape")
    if kernel is not None and kernel != list(shape[2:]):
        raise NodeError(f"kernel_shape {kernel}, but a weight of shape {list(shape)}")
    found = window(node, padded, shape[2:])
    image = as_rows(graph, padded.source)
    taps = weight.reshape(*shape[:2], 1, shape[2]) if rank == 1 else weight
    return graph.emit(build(image, taps, found), element)
