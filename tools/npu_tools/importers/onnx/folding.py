"""Constant folding: ONNX's reference evaluator computes nodes whose operands are all constants.

Only the operators in `SIZES` are computed. For each of them the size of the result is bounded
before it is computed, so a model of a few bytes cannot ask for gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper

from npu_tools.importers.onnx.builder import Constant
from npu_tools.importers.onnx.errors import ModelError, NodeError, first_line
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.tensors import LARGEST_FOLDED, NUMPY_TYPES, Array, decode, type_name

Size = Callable[[Node, Sequence[Array]], int]
"""A function that bounds the number of elements of a node's result, from the node's operands."""


def same(_: Node, operands: Sequence[Array]) -> int:
    """The number of elements of the first operand."""
    return operands[0].size


def all_together(_: Node, operands: Sequence[Array]) -> int:
    """The sum of the elements of all operands."""
    return sum(operand.size for operand in operands)


def broadcast(_: Node, operands: Sequence[Array]) -> int:
    """The number of elements of the operands' broadcast shape."""
    return prod(np.broadcast_shapes(*(operand.shape for operand in operands)))


def expand(_: Node, operands: Sequence[Array]) -> int:
    """The number of elements of the first operand, broadcast with the shape in the second."""
    shape = tuple(int(extent) for extent in operands[1])
    return prod(np.broadcast_shapes(operands[0].shape, shape))


def constant_of_shape(_: Node, operands: Sequence[Array]) -> int:
    """The number of elements of the shape in the first operand."""
    return prod(int(extent) for extent in operands[0])


def tile(_: Node, operands: Sequence[Array]) -> int:
    """The number of elements of the first operand, times the repeats of each axis in the second."""
    return operands[0].size * prod(int(count) for count in operands[1])


def pad(node: Node, operands: Sequence[Array]) -> int:
    """An upper bound for Pad: all pads together are added to each axis."""
    pads = operands[1].reshape(-1).tolist() if len(operands) > 1 else node.ints("pads") or []
    width = sum(abs(int(count)) for count in pads)
    return prod(extent + width for extent in operands[0].shape)


def gather(node: Node, operands: Sequence[Array]) -> int:
    """The number of elements of Gather's result: one slice for each index.

    Raises: NodeError for an axis that the operand does not have.
    """
    shape, axis = operands[0].shape, node.int("axis", 0)
    if not -len(shape) <= axis < len(shape):
        raise NodeError(f"axis {axis} of a tensor of rank {len(shape)}")
    return prod(shape) // max(1, shape[axis]) * operands[1].size


def count_range(_: Node, operands: Sequence[Array]) -> int:
    """An upper bound of the numbers that Range gives.

    Raises: NodeError if they are infinitely many.
    """
    start, limit, delta = (operand.item() for operand in operands)
    if not np.isfinite([start, limit, delta]).all() or delta == 0:
        raise NodeError(f"range from {start} to {limit} by {delta}")
    return max(0, int((limit - start) / delta) + 1)


def cast_size(node: Node, operands: Sequence[Array]) -> int:
    """The number of elements of the operand.

    Raises: NodeError if numpy does not have the type to cast to.
    """
    target = node.int("to", TensorProto.FLOAT)
    if target not in NUMPY_TYPES:
        raise NodeError(f"cast to {type_name(target)}; expected float32 or an integer type")
    return operands[0].size


BROADCASTING = """
    Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum
    Where Xor
"""
NOT_GROWING = """
    Abs ArgMax ArgMin CastLike Ceil Clip Erf Exp Flatten Floor Log LogSoftmax Neg Not Reciprocal
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare Relu Reshape Round Shape Sigmoid Sign Size Slice Softmax Split Sqrt
    Squeeze Tanh Transpose Trilu Unsqueeze
"""

SIZES: dict[str, Size] = {
    "Cast": cast_size,
    "Concat": all_together,
    "ConstantOfShape": constant_of_shape,
    "Expand": expand,
    "Gather": gather,
    "Pad": pad,
    "Range": count_range,
    "Tile": tile,
    **dict.fromkeys(BROADCASTING.split(), broadcast),
    **dict.fromkeys(NOT_GROWING.split(), same),
}
"""The operators that are folded, and for each the bound of its result's elements."""


def fold(node: Node, operands: Sequence[Constant | None]) -> list[Constant]:
    """Compute the results of a node; an operand that is left out is None.

    Raises: NodeError if it cannot be computed, or if the result takes more than `LARGEST_FOLDED`
    bytes.
    """
    given = [operand.array for operand in operands if operand is not None]
    if not given:
        raise NodeError("expected at least one input")
    try:
        elements = SIZES[node.op_type](node, given)
    except (IndexError, TypeError, ValueError, OverflowError) as error:
        raise NodeError(f"its constants do not fit together: {first_line(error)}") from error
    if elements * largest_item(node, given) > LARGEST_FOLDED:
        raise NodeError(
            f"its constant result takes {elements * largest_item(node, given)} bytes; "
            f"expected at most {LARGEST_FOLDED} in a tensor that is computed while importing"
        )
    results = evaluate(node, operands)
    return [Constant(name, result) for name, result in zip(node.outputs, results, strict=True)]


def largest_item(node: Node, operands: Sequence[Array]) -> int:
    """The most bytes that one element of the result can take."""
    if node.op_type == "ConstantOfShape":
        value = node.tensor("value")
        return 4 if value is None else NUMPY_TYPES.get(value.data_type, np.dtype(np.int64)).itemsize
    widens = node.op_type in ("ArgMax", "ArgMin", "Cast", "CastLike", "Shape", "Size")
    return max(8 if widens else 1, *(operand.dtype.itemsize for operand in operands), 1)


def evaluate(node: Node, operands: Sequence[Constant | None]) -> list[Array]:
    """Run one node with ONNX's reference evaluator.

    Raises: NodeError if the evaluator rejects it.
    """
    from onnx.reference import ReferenceEvaluator  # loads all of ONNX's operators

    # A constant keeps its first name behind Identity; the node reads it by another one.
    named = zip(node.inputs, operands, strict=True)
    feeds = {name: operand.array for name, operand in named if operand is not None}
    try:
        evaluator = ReferenceEvaluator(single_node_model(node, feeds))
        with np.errstate(all="ignore"):
            found = cast(Any, evaluator).run(None, feeds)
        return [np.asarray(result) for result in found]
    except Exception as error:  # the evaluator raises whatever numpy or its own checks raise
        raise NodeError(f"cannot be computed from its constants: {first_line(error)}") from error


def single_node_model(node: Node, feeds: dict[str, Array]) -> ModelProto:
    """A model of one node, with inputs for `feeds` and with the node's opset."""
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in feeds.items()
    ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in node.outputs
    ]
    graph = helper.make_graph([node.proto], "fold", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])


def constant_value(node: Node) -> Constant:
    """The value of a Constant node.

    Raises: NodeError if it has no value, or strings or a sparse tensor as value.
    """
    name = node.outputs[0]
    if (tensor := node.tensor("value")) is not None:
        try:
            return Constant(name, decode(tensor))
        except ModelError as error:
            raise NodeError(str(error)) from error
    for attribute in node.attributes.values():
        match attribute.type:
            case AttributeProto.FLOAT:
                return Constant(name, np.array(attribute.f, np.float32))
            case AttributeProto.FLOATS:
                return Constant(name, np.array(attribute.floats, np.float32))
            case AttributeProto.INT:
                return Constant(name, np.array(attribute.i, np.int64))
            case AttributeProto.INTS:
                return Constant(name, np.array(attribute.ints, np.int64))
            case _:
                raise NodeError(f"{attribute.name}; expected a dense tensor of numbers")
    raise NodeError("no value; expected a dense tensor of numbers")
