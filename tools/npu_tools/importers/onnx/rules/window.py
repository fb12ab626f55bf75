"""Reads sliding windows of convolutions and pools from ONNX attributes, with auto_pad.

A one-dimensional window becomes a two-dimensional one over a map of one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Padded
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node


@dataclass(frozen=True)
class Window:
    """A window: kernel, strides, dilations (rows, columns) and pads (top, left, bottom, right)."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]


def spatial_rank(source: SSAValue) -> int:
    """The number of spatial axes of a map [N, C, ...].

    Raises: NodeError if it is neither 1 nor 2.
    """
    rank = len(shape_of(source)) - 2
    if rank not in (1, 2):
        raise NodeError(
            f"an input of shape {list(shape_of(source))}; expected [N, C, H, W] or [N, C, L]"
        )
    return rank


def per_axis(node: Node, name: str, count: int, default: int) -> list[int]:
    """An attribute that is a list of `count` integers; without it, a list of the default.

    Raises: NodeError if the list has another length.
    """
    values = node.ints(name)
    if values is None:
        return [default] * count
    if len(values) != count:
        raise NodeError(f"{name} {values}; expected {count} values")
    return values


def window(node: Node, padded: Padded, kernel: Sequence[int]) -> Window:
    """The window of a node over a map; the pads that the map has are added to the node's own.

    Raises: NodeError if a list has a wrong length, or if a value is out of range.
    """
    rank = spatial_rank(padded.source)
    if len(kernel) != rank:
        raise NodeError(f"a kernel of shape {list(kernel)}; expected {rank} dimensions")
    strides = per_axis(node, "strides", rank, 1)
    dilations = per_axis(node, "dilations", rank, 1)
    for what, values in (("kernel", kernel), ("strides", strides), ("dilations", dilations)):
        if any(value < 1 for value in values):
            raise NodeError(f"{what} {list(values)}; expected values of at least 1")
    extents = [
        size + before + after
        for size, before, after in zip(
            shape_of(padded.source)[2:], padded.before, padded.after, strict=True
        )
    ]
    reach = [(taps - 1) * step + 1 for taps, step in zip(kernel, dilations, strict=True)]
    before, after = own_pads(node, extents, reach, strides)
    before = [a + b for a, b in zip(before, padded.before, strict=True)]
    after = [a + b for a, b in zip(after, padded.after, strict=True)]
    return Window(
        lift(kernel, 1), lift(strides, 1), lift(dilations, 1), (*lift(before, 0), *lift(after, 0))
    )


def own_pads(
    node: Node, extents: Sequence[int], reach: Sequence[int], strides: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The node's own pads before and after each axis, from `pads` or `auto_pad`.

    `extents` are those of the map, `reach` those of the dilated kernel.

    Raises: NodeError for negative pads, an unknown mode, or one for which runtimes disagree.
    """
    rank, mode = len(extents), node.string("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = per_axis(node, "pads", 2 * rank, 0)
        if any(pad < 0 for pad in pads):
            raise NodeError(f"pads {pads}; expected values of at least 0")
        return pads[:rank], pads[rank:]
    if mode == "VALID":
        return [0] * rank, [0] * rank
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise NodeError(f"auto_pad {mode}; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    totals = [
        (-(-extent // stride) - 1) * stride + taps - extent
        for extent, stride, taps in zip(extents, strides, reach, strict=True)
    ]
    if min(totals) < (-1 if mode == "SAME_UPPER" else -2):
        raise NodeError(
            f"auto_pad {mode} with strides {list(strides)} that leave gaps between windows of "
            f"{list(reach)}, where runtimes disagree; expected explicit pads"
        )
    totals = [max(0, total) for total in totals]
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def lift(values: Sequence[int], filler: int) -> tuple[int, int]:
    """One value per spatial axis as (rows, columns); `filler` is for the rows of a single axis."""
    rows, columns = (filler, *values) if len(values) == 1 else values
    return rows, columns


def as_rows(graph: Builder, source: SSAValue) -> SSAValue:
    """Reshape a map [N, C, L] to [N, C, 1, L]; a map [N, C, H, W] stays as it is."""
    shape = shape_of(source)
    return source if len(shape) == 4 else graph.reshape(source, (*shape[:2], 1, shape[2]))


def from_rows(graph: Builder, result: SSAValue, rank: int) -> SSAValue:
    """Undo `as_rows`: reshape [N, C, 1, L] to [N, C, L] if `rank`, the spatial axes, is 1."""
    shape = shape_of(result)
    return result if rank == 2 else graph.reshape(result, (*shape[:2], shape[3]))
