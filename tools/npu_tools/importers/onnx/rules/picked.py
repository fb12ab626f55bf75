"""Rules for operators that pick elements of a map by indices that are known while importing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect.npu import TransposeOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.runs import Run, runs_of
from npu_tools.importers.onnx.builder import Builder, Unknown, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.moved import Rule, moving
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.shape import axis_of

MOST_INDICES = 2**20
"""Most indices along one axis that are computed one by one."""


def expect_length(count: int, axis: int) -> None:
    """Check how many indices along an axis a rule is about to compute.

    Raises: NodeError if there are more than `MOST_INDICES`.
    """
    if count > MOST_INDICES:
        raise NodeError(f"{count} elements along axis {axis}; expected at most {MOST_INDICES}")


def listed(indices: NDArray[np.integer[Any]], axis: int) -> tuple[Run, ...]:
    """A list of indices along an axis as runs.

    Raises: NodeError if it is empty or too long.
    """
    if indices.size == 0:
        raise NodeError(f"no elements along axis {axis}; expected at least one")
    expect_length(indices.size, axis)
    return runs_of(indices)


def slice_(node: Node, graph: Builder) -> Value:
    """Slice with any steps; before opset 10, its starts and ends are attributes."""
    source = graph.map(node, 0)
    shape = shape_of(source)
    starts, ends = graph.ints(node, "starts", 1), graph.ints(node, "ends", 2)
    axes, steps = graph.ints(node, "axes", 3), graph.ints(node, "steps", 4)
    if starts is None or ends is None:
        raise NodeError("no starts or ends")
    axes = list(range(len(starts))) if axes is None else axes
    axes = [axis_of(axis, len(shape)) for axis in axes]
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) == len(set(axes)):
        raise NodeError(
            f"starts {starts}, ends {ends}, axes {axes}, steps {steps}; expected one of each for "
            "each axis"
        )
    picks: dict[int, tuple[Run, ...]] = {}
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise NodeError(f"step 0 along axis {axis}; expected another number")
        found = steps_along(shape[axis], start, end, step)
        if not found:
            raise NodeError(
                f"elements {start} to {end} by {step} of axis {axis}, which has {shape[axis]}; "
                "expected at least one element"
            )
        picks[axis] = (Run(found[0], len(found), step if len(found) > 1 else 1),)
    return graph.picked(source, picks)


def steps_along(extent: int, start: int, end: int, step: int) -> range:
    """The indices of a slice along an axis.

    Numbers beyond the axis stand for its first or last element, so a descending slice that starts
    in front of the axis has the first element; in Python it is empty.
    """
    down = step < 0
    start, end = (place + extent if place < 0 else place for place in (start, end))
    start = min(max(start, 0), extent - down)
    return range(start, min(max(end, -down), extent - down), step)


def split(node: Node, graph: Builder) -> list[Value]:
    """Split: a slice for each output that is used."""
    source = graph.map(node, 0)
    return [
        part_of(node, graph, source, index) if graph.uses[name] else Unknown(is_map=True)
        for index, name in enumerate(node.outputs)
    ]


def split_integers(node: Node, graph: Builder) -> list[Value] | None:
    """Split of a quantised map: each part is a node that moves elements."""

    def part(index: int) -> Rule:
        return lambda node, graph: part_of(node, graph, graph.map(node, 0), index)

    found = [
        moving(part(index))(node, graph) if graph.uses[name] else Unknown(is_map=True)
        for index, name in enumerate(node.outputs)
    ]
    values = [value for value in found if value is not None]
    return values if len(values) == len(found) else None


def part_of(node: Node, graph: Builder, source: SSAValue, index: int) -> SSAValue:
    """The slice for one output of Split."""
    axis = axis_of(node.int("axis", 0), len(shape_of(source)))
    sizes = split_sizes(node, graph, shape_of(source)[axis])
    if sizes[index] < 1:
        raise NodeError(f"part {index} has {sizes[index]} elements; expected at least one")
    return graph.picked(source, {axis: (Run(sum(sizes[:index]), sizes[index]),)})


def split_sizes(node: Node, graph: Builder, extent: int) -> list[int]:
    """The extents of the parts of an axis; without a list, equal ones, the last may be smaller.

    Raises: NodeError if they do not add up to the extent of the axis.
    """
    count = len(node.outputs)
    sizes = graph.ints(node, "split", 1)
    if sizes is None:
        wanted = node.int("num_outputs", count)
        each = -(-extent // max(1, wanted))
        if wanted != count or (extent % count and node.opset < 18):
            raise NodeError(f"{extent} elements in {wanted} parts for {count} outputs")
        sizes = [min(each, max(0, extent - index * each)) for index in range(count)]
    if len(sizes) != count or min(sizes) < 0 or sum(sizes) != extent:
        raise NodeError(f"parts of {sizes} for {count} outputs; expected {extent} elements in all")
    return sizes


def gather(node: Node, graph: Builder) -> Value:
    """Gather with constant indices."""
    source, indices = graph.map(node, 0), graph.constant(node, 1).array
    shape = shape_of(source)
    axis = axis_of(node.int("axis", 0), len(shape))
    extent = shape[axis]
    if indices.dtype.kind != "i" or ((indices < -extent) | (indices >= extent)).any():
        raise NodeError(
            f"indices of axis {axis}, which has {extent} elements; expected integers in "
            f"[{-extent}, {extent})"
        )
    flat = indices.reshape(-1).astype(np.int64) % extent
    found = graph.picked(source, {axis: listed(flat, axis)})
    return graph.reshape(found, (*shape[:axis], *indices.shape, *shape[axis + 1 :]))


def tile(node: Node, graph: Builder) -> Value:
    """Tile: each axis repeated as a whole, which is one index repeated on an axis of its own."""
    source, repeats = graph.map(node, 0), graph.ints(node, "repeats", 1)
    shape = shape_of(source)
    if repeats is None or len(repeats) != len(shape) or min(repeats, default=1) < 1:
        raise NodeError(f"repeats {repeats}; expected {len(shape)} numbers of at least 1")
    apart: list[int] = []
    picks: dict[int, tuple[Run, ...]] = {}
    for extent, count in zip(shape, repeats, strict=True):
        if count > 1:
            picks[len(apart)] = (Run(0, each=count),)
            apart += [1] * (extent > 1)
        apart.append(extent)
    found = graph.picked(graph.reshape(source, apart), picks)
    return graph.reshape(found, [n * count for n, count in zip(shape, repeats, strict=True)])


def expand(node: Node, graph: Builder) -> Value:
    """Expand: axes of one element, and new ones in front, are repeated."""
    source, wanted = graph.map(node, 0), graph.ints(node, "shape", 1)
    if wanted is None or min(wanted, default=1) < 1:
        raise NodeError(f"shape {wanted}; expected extents of at least 1")
    shape = shape_of(source)
    new = (1,) * (len(wanted) - len(shape))
    old = (1,) * (len(shape) - len(wanted))
    pairs = list(zip((*new, *shape), (*old, *wanted), strict=True))
    if any(1 not in pair and pair[0] != pair[1] for pair in pairs):
        raise NodeError(f"a map of shape {list(shape)} cannot be expanded to {wanted}")
    picks = {
        axis: (Run(0, each=count),)
        for axis, (extent, count) in enumerate(pairs)
        if extent == 1 and count > 1
    }
    return graph.picked(graph.reshape(source, (*new, *shape)), picks)


def depth_to_space(node: Node, graph: Builder) -> Value:
    """DepthToSpace: blocks of channels become blocks of pixels."""
    source, size = image_of(node, graph)
    batch, channels, height, width = shape_of(source)
    depth = channels // (size * size)
    if channels % (size * size):
        raise NodeError(f"{channels} channels; expected a multiple of {size * size}")
    if mode_of(node) == "DCR":
        apart, perm = (batch, size, size, depth, height, width), (0, 3, 4, 1, 5, 2)
    else:
        apart, perm = (batch, depth, size, size, height, width), (0, 1, 4, 2, 5, 3)
    result = (batch, depth, height * size, width * size)
    return permuted(graph, source, apart, perm, result)


def space_to_depth(node: Node, graph: Builder) -> Value:
    """SpaceToDepth: blocks of pixels become blocks of channels."""
    source, size = image_of(node, graph)
    batch, channels, height, width = shape_of(source)
    if height % size or width % size:
        raise NodeError(f"a map of {height} x {width}; expected multiples of {size}")
    apart = (batch, channels, height // size, size, width // size, size)
    result = (batch, channels * size * size, height // size, width // size)
    perm = (0, 3, 5, 1, 2, 4) if mode_of(node) == "DCR" else (0, 1, 3, 5, 2, 4)
    return permuted(graph, source, apart, perm, result)


def mode_of(node: Node) -> str:
    """The order of the channels: blocks first (DCR) or last (CRD).

    Raises: NodeError for another mode.
    """
    mode = node.string("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise NodeError(f"mode {mode}; expected DCR or CRD")
    return mode


def image_of(node: Node, graph: Builder) -> tuple[SSAValue, int]:
    """A feature map [N, C, H, W] and the size of its blocks.

    Raises: NodeError if the map has another rank, or if the size is not positive.
    """
    source, size = graph.map(node, 0), node.int("blocksize", 0)
    if len(shape_of(source)) != 4 or size < 1:
        raise NodeError(
            f"blocks of {size} of a map of rank {len(shape_of(source))}; expected blocks of at "
            "least 1 of a map [N, C, H, W]"
        )
    return source, size


def permuted(
    graph: Builder,
    source: SSAValue,
    apart: Sequence[int],
    perm: Sequence[int],
    shape: Sequence[int],
) -> SSAValue:
    """The map in shape `apart`, with its axes permuted, in the given shape."""
    blocks = graph.reshape(source, apart)
    moved = graph.emit(lambda out: TransposeOp(blocks, perm, out))
    return graph.reshape(moved, shape)
