"""Rules for Gemm and MatMul: a constant right-hand matrix is a weight, else both are maps."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from npu_dialect.npu import AddOp, FullyConnectedOp, MatmulOp, MulOp, TransposeOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import broadcast
from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.tensors import Array


def gemm(node: Node, graph: Builder) -> Value:
    """Gemm: alpha * A * B + beta * C, with transA and transB."""
    source = graph.map(node, 0)
    if len(shape_of(source)) != 2:
        raise NodeError(f"an input of shape {list(shape_of(source))}; expected [N, I]")
    if not isinstance(graph.value(node, 1), Constant):
        return with_addend(node, graph, gemm_of_maps(node, graph, source))
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
    if bias is not None and vector is not None:
        return fully_connected(graph, source, weight, bias, vector)
    return with_addend(node, graph, fully_connected(graph, source, weight))


def gemm_of_maps(node: Node, graph: Builder, source: SSAValue) -> SSAValue:
    """Build alpha * A * B of two maps."""
    other, alpha = graph.map(node, 1), np.float32(node.float("alpha", 1.0))
    if node.int("transA", 0):
        source = transposed(graph, source)
    flipped = bool(node.int("transB", 0))
    result = graph.emit(lambda out: MatmulOp(source, other, out, transposed_rhs=flipped))
    return times(graph, result, alpha, "alpha")


def times(graph: Builder, source: SSAValue, factor: np.float32, name: str) -> SSAValue:
    """Build a map times a number; `name` is a hint for the constant's name."""
    if factor == 1:
        return source
    number = graph.parameter(np.array(factor, np.float32), name)
    return graph.emit(lambda out: MulOp(source, number, out))


def with_addend(node: Node, graph: Builder, result: SSAValue) -> SSAValue:
    """Build a map plus beta * C of Gemm, where C may be computed.

    Raises: NodeError if C does not broadcast to the map.
    """
    beta = np.float32(node.float("beta", 1.0))
    if not node.operand(2) or beta == 0:
        return result
    if isinstance(graph.value(node, 2), Constant):
        bias = scaled_bias(node, graph, beta)
        assert bias is not None
        check_broadcast(bias.array.shape, shape_of(result))
        addend = graph.materialise(bias)
    else:
        addend = graph.map(node, 2)
        check_broadcast(shape_of(addend), shape_of(result))
        addend = times(graph, addend, beta, "beta")
    return graph.emit(lambda out: AddOp(result, addend, out))


def transposed(graph: Builder, source: SSAValue) -> SSAValue:
    """Build a matrix with its axes swapped."""
    return graph.emit(lambda out: TransposeOp(source, (1, 0), out))


def scaled_bias(node: Node, graph: Builder, beta: np.float32) -> Constant | None:
    """The constant beta * C; None if C is left out or computed, or if beta is 0."""
    if not node.operand(2) or beta == 0 or not isinstance(graph.value(node, 2), Constant):
        return None
    constant = graph.constant(node, 2)
    array = graph.weight(node, 2)
    return constant if beta == 1 else Constant(constant.name, array * beta)


def check_broadcast(addend: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Check that the addend C of Gemm can be broadcast to the shape of the result.

    Raises: NodeError if it cannot, or if the sum would have another shape.
    """
    if broadcast(addend, shape) != shape:
        raise NodeError(
            f"an addend of shape {list(addend)}; expected one that broadcasts to {list(shape)}"
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
    """MatMul; a constant matrix [I, O] or vector [I] is the weight of a fully connected layer.

    All axes of the map but the last become its rows.
    """
    constant = graph.value(node, 1)
    if not isinstance(constant, Constant) or constant.array.ndim not in (1, 2):
        lhs, (rhs, flipped) = graph.map(node, 0), right_operand(node, graph)
        sums, result = product(graph, lhs, rhs, transposed_rhs=flipped)
        return graph.reshape(sums, result)
    source = graph.map(node, 0)
    matrix, shape = graph.weight(node, 1), shape_of(source)
    depth = matrix.shape[0]
    if not shape or shape[-1] != depth:
        raise NodeError(
            f"an input of shape {list(shape)} and a weight of shape {list(matrix.shape)}; "
            f"expected a weight [{shape[-1] if shape else 1}, O]"
        )
    rows = graph.reshape(source, (prod(shape[:-1]), depth))
    columns = Constant(constant.name, matrix.reshape(depth, -1).T)
    result = fully_connected(graph, rows, columns)
    return graph.reshape(result, (*shape[:-1], *matrix.shape[1:]))


def right_operand(node: Node, graph: Builder) -> tuple[SSAValue, bool]:
    """The second operand of a product of maps, and whether it is to be read transposed.

    A Transpose that nothing else reads, and that moves the last axis to the last place but one,
    leaves it where it is: as both maps are then read along their rows, these may lie apart.
    """
    value = graph.map(node, 1)
    layer, rank = value.owner, len(shape_of(value))
    if not isinstance(layer, TransposeOp) or graph.uses[node.operand(1)] != 1:
        return value, False
    perm = int_values(layer.perm)
    if rank < 2 or perm[-2] != rank - 1 or value.first_use is not None:
        return value, False
    moved, straight = layer.input, (*perm[:-2], perm[-1], perm[-2])
    layer.detach()
    layer.erase()
    if straight == tuple(range(rank)):
        return moved, True
    return graph.emit(lambda out: TransposeOp(moved, straight, out)), True


def product(
    graph: Builder,
    lhs: SSAValue,
    rhs: SSAValue,
    *,
    transposed_rhs: bool = False,
    zero_points: tuple[int, int] | None = None,
) -> tuple[SSAValue, tuple[int, ...]]:
    """Add a product of two maps; returns its sums, and their real shape.

    A vector on the left is one row, a vector on the right one column; their axis is not in the real
    shape. With zero points, the maps hold integers and the sums are i32.

    Raises: NodeError for a scalar; VerifyException if the shapes do not fit each other.
    """
    left, right = shape_of(lhs), shape_of(rhs)
    if not left or not right:
        raise NodeError(f"inputs of shapes {list(left)} and {list(right)}; expected 1 axis or more")
    first = graph.reshape(lhs, (1, *left)) if len(left) == 1 else lhs
    second = graph.reshape(rhs, (*right, 1)) if len(right) == 1 else rhs
    sums = graph.emit(
        lambda out: MatmulOp(
            first, second, out, transposed_rhs=transposed_rhs, zero_points=zero_points
        ),
        None if zero_points is None else i32,
    )
    *batch, rows, columns = shape_of(sums)
    kept = [rows] if len(left) > 1 else []
    return sums, (*batch, *kept, *([columns] if len(right) > 1 else []))
