"""Rules for operators that move single elements, as their constant operands say.

The numbers of the elements are moved first, by ONNX's reference evaluator where it can be trusted.
The layer picks by these numbers.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.folding import evaluate
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.picked import expect_length, listed
from npu_tools.importers.onnx.rules.shape import axis_of
from npu_tools.importers.onnx.tensors import Array


def numbered(node: Node, graph: Builder) -> Value:
    """GatherND, ReverseSequence and Trilu with constant operands.

    Raises: NodeError if an operand is computed or wrong, or if there are too many elements.
    """
    source = graph.map(node, 0)
    shape = shape_of(source)
    rest = [graph.optional(node, index) for index in range(1, len(node.inputs))]
    check_count(node, shape, rest)
    numbers = np.arange(1, prod(shape) + 1, dtype=np.int64).reshape(shape)
    (found,) = evaluate(node, [Constant(node.operand(0), numbers), *rest])
    if found.size == 0 or found.min() < 0 or found.max() > prod(shape):
        raise NodeError("its constants pick no elements of the map; expected at least one")
    return picked(graph, source, found - 1)


def gather_elements(node: Node, graph: Builder) -> Value:
    """GatherElements with constant indices.

    Raises: NodeError if an index lies outside of the map, or if there are too many elements.
    """
    source, indices = graph.map(node, 0), graph.constant(node, 1).array
    shape = shape_of(source)
    axis = axis_of(node.int("axis", 0), len(shape))
    extent = shape[axis]
    fits = indices.ndim == len(shape) and indices.dtype.kind == "i"
    others = [place for place in range(len(shape)) if place != axis]
    if not fits or any(indices.shape[place] > shape[place] for place in others):
        raise NodeError(f"indices of shape {list(indices.shape)} of a map of {list(shape)}")
    if ((indices < -extent) | (indices >= extent)).any():
        raise NodeError(f"indices of axis {axis}; expected integers in [{-extent}, {extent})")
    expect_length(max(prod(shape), indices.size), 0)
    places: Array = np.indices(indices.shape, np.int64)
    places[axis] = indices.astype(np.int64) % extent
    numbers: Array = np.arange(prod(shape)).reshape(shape)[tuple(places)]
    return picked(graph, source, numbers)


def picked(graph: Builder, source: SSAValue, numbers: Array) -> SSAValue:
    """The elements with these numbers in the order of the map; 0 where the number is -1."""
    flat = graph.reshape(source, (prod(shape_of(source)),))
    found = graph.picked(flat, {0: listed(numbers.reshape(-1), 0)}, 0.0)
    return graph.reshape(found, numbers.shape)


def check_count(node: Node, shape: tuple[int, ...], rest: list[Constant | None]) -> None:
    """Check that neither the map nor the result has too many elements to number them.

    Raises: NodeError if one of them has.
    """
    expect_length(prod(shape), 0)
    if node.op_type == "GatherND" and rest[0] is not None and rest[0].array.ndim:
        *places, depth = rest[0].array.shape
        expect_length(prod(places) * prod(shape[depth:]), 0)
