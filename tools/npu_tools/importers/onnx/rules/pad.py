"""Rules for Pad: pads are kept apart until a layer takes them into its own pads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32

from npu_dialect.npu.maps import map_type, shape_of
from npu_tools.importers.onnx.builder import Builder, Value, element_name
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import Padded, unpadded
from npu_tools.importers.onnx.quantized import ELEMENTS, Scaled
from npu_tools.importers.onnx.rules.window import spatial_rank
from npu_tools.importers.onnx.surrounded import Surrounded, settled
from npu_tools.importers.onnx.tensors import Array


def pad(node: Node, graph: Builder) -> Value:
    """Pad the spatial axes: real numbers with zeros, quantised integers with any integer.

    If all pads are zero wide, the result is the operand.

    Raises: NodeError for other pads; VerifyException from a layer.
    """
    padded = graph.padded(node, 0)
    rank = len(shape_of(padded.source))
    before, after = all_pads(node, graph, rank)
    if not any((*before, *after)):
        return padded if padded.label else padded.source
    fill = fill_of(node, graph)
    if not padded.is_integer:
        check_zero(fill, padded)
    check_spatial(before, after)
    integer = integer_fill(fill, padded) if padded.is_integer else 0
    if padded.label and integer != padded.fill:
        padded = unpadded(graph.padded_map(padded))
    return Padded(
        padded.source,
        tuple(a + b for a, b in zip(padded.before, before[2:], strict=True)),
        tuple(a + b for a, b in zip(padded.after, after[2:], strict=True)),
        node.label,
        integer,
    )


def pad_quantised(node: Node, graph: Builder) -> Value | None:
    """Pad of a quantised map after DequantizeLinear; None if it must be computed on floats."""
    value = settled(graph, graph.value(node, 0))
    if not isinstance(value, Scaled) or value.is_sum or value.is_clamped:
        return None
    before, after = all_pads(node, graph, len(value.shape))
    if not any((*before, *after)):
        return value
    check_spatial(before, after)
    spatial_rank(value.value)
    fill = fill_of(node, graph)
    number = 0.0 if fill is None else float(fill[0])
    if np.isnan(number):
        raise NodeError("pads of value nan; expected a number")
    around = tuple(before[2:]), tuple(after[2:])
    return Surrounded(value, *around, number, label=node.label)


def check_spatial(before: Sequence[int], after: Sequence[int]) -> None:
    """Check that only spatial axes have pads.

    Raises: NodeError if the axes N or C have some, or if there is no spatial axis.
    """
    if len(before) < 3 or any((*before[:2], *after[:2])):
        raise NodeError(f"pads {[*before, *after]}; expected zeros around the spatial axes only")


def fill_of(node: Node, graph: Builder) -> Array | None:
    """The value of the pads, as an array of one number; None if it is left out.

    Raises: NodeError if the mode is not `constant`, or if there is more than one number.
    """
    mode = node.string("mode", "constant")
    if mode != "constant":
        raise NodeError(f"mode {mode}; expected constant")
    fill = graph.optional(node, 2)
    if fill is None:
        value = node.float("value", 0.0)
        return np.array([value], np.float32) if value else None
    if fill.array.size != 1:
        raise NodeError(f"'{fill.name}' holds {fill.array.size} values of pads; expected one")
    return fill.array.reshape(-1)


def integer_fill(fill: Array | None, padded: Padded) -> int:
    """The integer in the pads of a quantised map; 0 if it is left out.

    Raises: NodeError if its type is not that of the map.
    """
    element = map_type(padded.source).get_element_type()
    if fill is None:
        return 0
    if ELEMENTS.get(fill.dtype) != element:
        raise NodeError(
            f"pads of {fill.dtype} around {element_name(element)} elements; expected equal types"
        )
    return int(fill[0])


def check_zero(fill: Array | None, padded: Padded) -> None:
    """Check that the pads of a map of real numbers are zeros.

    Raises: NodeError if they are not, or if the map's elements are not float32.
    """
    element = map_type(padded.source).get_element_type()
    if element != f32:
        raise NodeError(
            f"an input of {element_name(element)} elements; expected float32, int8 or uint8"
        )
    if fill is not None and fill[0] != 0:
        raise NodeError(f"pads of value {fill[0]}; expected zero")


def all_pads(node: Node, graph: Builder, rank: int) -> tuple[list[int], list[int]]:
    """The widths of the pads before and after each axis.

    Raises: NodeError for a list of a wrong length, an axis that the map does not have, or a
    negative width.
    """
    pads = graph.ints(node, "pads", 1) or []
    axes = graph.ints(node, "axes", 3) or list(range(rank))
    axes = [axis + rank if axis < 0 else axis for axis in axes]
    if len(pads) != 2 * len(axes) or not set(axes) <= set(range(rank)):
        raise NodeError(f"pads {pads} of axes {axes}; expected two for each axis")
    if any(count < 0 for count in pads):
        raise NodeError(f"pads {pads}; expected values of at least 0")
    before, after = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        before[axis], after[axis] = pads[index], pads[index + len(axes)]
    return before, after
