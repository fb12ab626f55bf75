"""Reads the constant operands of quantised maps: scales and zero points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType

from npu_dialect.npu.quantization import BYTE_TYPES, ui8
from npu_tools.importers.onnx.builder import Builder
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.quantized import ELEMENTS, Params
from npu_tools.importers.onnx.tensors import Array


def scales_of(node: Node, graph: Builder, index: int) -> Array:
    """The scales in a constant operand: one positive float32 number, or a vector of them.

    Raises: NodeError if it is computed, or holds anything else.
    """
    constant = graph.constant(node, index)
    array = constant.array
    if array.dtype != np.float32 or array.ndim > 1 or array.size == 0:
        raise NodeError(
            f"scale '{constant.name}' holds {array.dtype} of shape {list(array.shape)}; "
            "expected float32 numbers, one or a vector"
        )
    if not (np.isfinite(array).all() and (array > 0).all()):
        wrong = array.reshape(-1)[~(np.isfinite(array) & (array > 0)).reshape(-1)][0]
        raise NodeError(f"scale '{constant.name}' is {wrong}; expected positive, finite numbers")
    return array


def one_scale(node: Node, graph: Builder, index: int) -> np.float32:
    """The scale in a constant operand that must hold one number, for a whole map.

    Raises: NodeError if it holds several; see also `scales_of`.
    """
    array = scales_of(node, graph, index)
    if array.size != 1:
        raise NodeError(
            f"scale '{node.operand(index)}' has {array.size} numbers; expected one for a map"
        )
    return np.float32(array.reshape(-1)[0])


def zero_point_of(node: Node, graph: Builder, index: int) -> Array | None:
    """The zero points in a constant operand, of a type in `ELEMENTS`, or int32 zeros.

    None if they are left out.

    Raises: NodeError if it is computed, or holds anything else.
    """
    constant = graph.optional(node, index)
    if constant is None:
        return None
    array = constant.array
    if array.dtype == np.int32 and not array.any():
        return array
    if array.dtype not in ELEMENTS or array.ndim > 1 or array.size == 0:
        raise NodeError(
            f"zero point '{constant.name}' holds {array.dtype} of shape {list(array.shape)}; "
            "expected int8, uint8 or int16, one or a vector"
        )
    return array


def params_of(
    node: Node,
    graph: Builder,
    scale: int,
    zero_point: int,
    default: IntegerType = ui8,
    elements: Sequence[IntegerType] = BYTE_TYPES,
) -> Params:
    """The parameters of a quantised map from operands number `scale` and `zero_point`.

    A zero point that is left out is 0 of type `default`. The map has one of `elements`.

    Raises: NodeError for wrong operands.
    """
    found = one_scale(node, graph, scale)
    array = zero_point_of(node, graph, zero_point)
    if array is None:
        return Params(found, 0, default)
    element = ELEMENTS.get(array.dtype)
    if array.size != 1 or element is None or element not in elements:
        names = " or ".join(str(kind) for kind, each in ELEMENTS.items() if each in elements)
        raise NodeError(
            f"zero point '{node.operand(zero_point)}' holds {array.size} {array.dtype}; "
            f"expected one {names} for a map"
        )
    return Params(found, int(array.reshape(-1)[0]), element)
