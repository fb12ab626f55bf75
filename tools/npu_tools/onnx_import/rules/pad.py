"""Pad: zeros around the spatial axes are kept aside until a layer takes them into its own pads."""

from __future__ import annotations

from npu_dialect.npu.maps import shape_of
from npu_tools.onnx_import.builder import Builder, Padded, Value
from npu_tools.onnx_import.errors import NodeError
from npu_tools.onnx_import.node import Node


def pad(node: Node, graph: Builder) -> Value:
    """Pad with zeros around the spatial axes; nothing if there is nothing to add."""
    padded = graph.padded(node, 0)
    rank = len(shape_of(padded.source))
    before, after = all_pads(node, graph, rank)
    if not any((*before, *after)):
        return padded if padded.label else padded.source
    check_fill(node, graph)
    if rank < 3 or any((*before[:2], *after[:2])):
        raise NodeError(f"pads {[*before, *after]}; expected zeros around the spatial axes only")
    return Padded(
        padded.source,
        tuple(a + b for a, b in zip(padded.before, before[2:], strict=True)),
        tuple(a + b for a, b in zip(padded.after, after[2:], strict=True)),
        node.label,
    )


def check_fill(node: Node, graph: Builder) -> None:
    """Check that what is added are zeros."""
    mode = node.string("mode", "constant")
    if mode != "constant":
        raise NodeError(f"mode {mode}; expected constant")
    fill = graph.optional(node, 2)
    value = node.float("value", 0.0) if fill is None else fill.array.reshape(-1)[:1].sum()
    if value != 0:
        raise NodeError(f"pads of value {value}; expected zero")


def all_pads(node: Node, graph: Builder, rank: int) -> tuple[list[int], list[int]]:
    """What is added before and after each axis.

    Raises: NodeError for lists of a wrong length, and for pads that cut.
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
