"""Rules for Gemm and MatMul with a constant right-hand matrix."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import AddOp, FullyConnectedOp, TransposeOp
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.tensors import Array


def gemm(node: Node, graph: Builder) -> Value:
    """Gemm: alpha * A * B + beta * C with a constant B [I, O], or [O, I] with transB."""
    source = graph.map(node, 0)
    if len(shape_of(source)) != 2:
        raise NodeError(f"an input of shape {list(shape_of(source))}; expected [N, I]")
    weight = graph.constant(node, 1)
    matrix = graph.weight(node, 1)
    if matrix.ndim != 2:
        raise NodeError(f"a weight of shape {list(matrix.shape)}; expected [I, O]")
    if not node.int("transB", 0):
        weight = Constant(weight.name, matrix.T)
    alpha = np.float32(node.float("alpha", 1.0))
    if alpha != 1:
        weight = Constant(weight.name, weight.array * alpha)
    if node.int("transA", 0):
        source = transposed(graph, source)
    bias = scaled_bias(node, graph, np.float32(node.float("beta", 1.0)))
    shape = (shape_of(source)[0], weight.array.shape[0])
    vector = None if bias is None else row_vector(bias.array, shape)
    result = fully_connected(graph, source, weight, None if vector is None else bias, vector)
    if bias is None or vector is not None:
        return result
    check_broadcast(bias, shape)
    addend = graph.materialise(bias)
    return graph.emit(lambda out: AddOp(result, addend, out))


def transposed(graph: Builder, source: SSAValue) -> SSAValue:
    """Build a matrix with its axes swapped."""
    return graph.emit(lambda out: TransposeOp(source, (1, 0), out))


def scaled_bias(node: Node, graph: Builder, beta: np.float32) -> Constant | None:
    """The constant beta * C; None if C is left out or beta is 0."""
    if graph.optional(node, 2) is None or beta == 0:
        return None
    constant = graph.constant(node, 2)
    array = graph.weight(node, 2)
    return constant if beta == 1 else Constant(constant.name, array * beta)


def check_broadcast(bias: Constant, shape: tuple[int, int]) -> None:
    """Check that the addend C of Gemm can be broadcast to the shape of the result.

    Raises: NodeError if it cannot, or if the sum would have another shape.
    """
    try:
        fits = np.broadcast_shapes(bias.array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise NodeError(
            f"an addend of shape {list(bias.array.shape)}; expected one that broadcasts to "
            f"{list(shape)}"
        )


def row_vector(array: Array, shape: tuple[int, ...]) -> Array | None:
    """The vector [O] that `array` adds to each row of a map [..., O]; None if rows differ."""
    if array.ndim > len(shape) or (array.ndim and array.shape[-1] not in (1, shape[-1])):
        return None
    if any(extent != 1 for extent in array.shape[:-1]):
        return None
    return np.ascontiguousarray(np.broadcast_to(array.reshape(-1), shape[-1:]))


def fully_connected(
    graph: Builder,
    source: SSAValue,
    weight: Constant,
    bias: Constant | None = None,
    vector: Array | None = None,
) -> SSAValue:
    """Add a fully connected layer, for a weight [O, I].

    `vector` is the bias [O]; `bias` is the constant that it comes from.
    """
    weights = graph.materialise(weight)
    biases = None
    if bias is not None and vector is not None:
        as_it_is = bias.array.shape == vector.shape
        biases = graph.materialise(bias) if as_it_is else graph.parameter(vector, bias.name)
    return graph.emit(lambda out: FullyConnectedOp(source, weights, biases, out))


def matmul(node: Node, graph: Builder) -> Value:
    """MatMul: x * W with a constant W [I, O] or [I]. All axes of x but the last become rows."""
    source = graph.map(node, 0)
    weight = graph.constant(node, 1)
    matrix, shape = graph.weight(node, 1), shape_of(source)
    if matrix.ndim not in (1, 2) or not shape:
        raise NodeError(f"a weight of shape {list(matrix.shape)}; expected [I, O]")
    depth = matrix.shape[0]
    if shape[-1] != depth:
        raise NodeError(
            f"an input of shape {list(shape)} and a weight of shape {list(matrix.shape)}; "
            f"expected a weight [{shape[-1]}, O]"
        )
    rows = graph.reshape(source, (prod(shape[:-1]), depth))
    columns = Constant(weight.name, matrix.reshape(depth, -1).T)
    result = fully_connected(graph, rows, columns)
    return graph.reshape(result, (*shape[:-1], *matrix.shape[1:]))
