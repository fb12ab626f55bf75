"""Pruned zero blocks, as PyTorch exports them: a chain of operators that is one layer.

    maxima = F.max_pool2d(x, b, b, ceil_mode=True)
    keep = (maxima >= threshold).to(x.dtype)
    keep = F.interpolate(keep, scale_factor=b, mode="nearest")
    y = x * keep[:, :, :height, :width]          # the slices only where b does not divide the map

gives, from either of torch's exporters,

    MaxPool -> GreaterOrEqual(threshold) -> Cast -> Resize(nearest, 1, 1, b, b) [-> Slice]* -> Mul

From GreaterOrEqual on the flags are no map but a `BlockFlags` value, which only the next operator
of the chain takes; Mul makes `npu.prune_zero_blocks` of it, and the pool is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from onnx import TensorProto
from xdsl.ir import Operation, SSAValue

from npu_dialect.npu import MaxPool2dOp, PruneZeroBlocksOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_tools.onnx_import.builder import BlockFlags, Builder, Value
from npu_tools.onnx_import.errors import NodeError
from npu_tools.onnx_import.node import Node

PATTERN = "MaxPool, GreaterOrEqual, Cast, Resize, Slice, Mul that prune zero blocks"
GRIDS = {
    "asymmetric": ("floor",),
    "half_pixel": ("round_prefer_floor", "round_prefer_ceil"),
}
"""Ways to find the nearest element that repeat each one b times, where the scale is b."""


def flags_of(node: Node, graph: Builder) -> BlockFlags:
    """The first operand, as flags of blocks.

    Raises: NodeError if it is anything else.
    """
    value = graph.value(node, 0)
    if not isinstance(value, BlockFlags):
        raise NodeError(f"of feature maps, the operator is supported in a chain of {PATTERN} only")
    return value


def greater_or_equal(node: Node, graph: Builder) -> Value:
    """GreaterOrEqual: which block maxima are not below the threshold."""
    maxima, array = graph.value(node, 0), graph.weight(node, 1)
    pool = maxima.owner if isinstance(maxima, SSAValue) else None
    if not isinstance(pool, MaxPool2dOp) or array.size != 1:
        raise NodeError(f"expected block maxima and a scalar: {PATTERN} are supported")
    block = int_values(pool.kernel)[0]
    plain = {tuple(int_values(each)) for each in (pool.kernel, pool.strides)} == {(block, block)}
    padded = any(int_values(pool.pads)) or set(int_values(pool.dilations)) != {1}
    outputs = tuple(-(-extent // block) for extent in shape_of(pool.input)[2:])
    if not plain or padded or shape_of(pool.results[0])[2:] != outputs:
        raise NodeError(
            "expected maxima of square blocks side by side that cover the map (ceil_mode=1 where "
            "they do not divide it)"
        )
    alone = graph.uses[node.operand(0)] == 1
    return BlockFlags(
        pool.input,
        block,
        float(array.reshape(-1)[0]),
        shape_of(pool.results[0]),
        pool if alone else None,
    )


def resize(node: Node, graph: Builder) -> Value:
    """Resize: the flag of a block for each of its elements."""
    flags = flags_of(node, graph)
    images, channels, height, width = flags.shape
    size = flags.block
    wanted = (images, channels, height * size, width * size)
    grid = node.string("coordinate_transformation_mode", "half_pixel")
    nearest = node.string("nearest_mode", "round_prefer_floor")
    if (
        resized(node, graph, flags.shape) != wanted
        or node.string("mode", "nearest") != "nearest"
        or nearest not in GRIDS.get(grid, ())
        or node.ints("axes")
    ):
        raise NodeError(f"expected each flag repeated {size} times along rows and columns")
    return replace(flags, shape=wanted, spread=True)


def resized(node: Node, graph: Builder, shape: Sequence[int]) -> tuple[float, ...] | None:
    """The extents that Resize gives, by its scales or sizes."""
    if node.operand(3):
        sizes = graph.constant(node, 3).array.reshape(-1)
        return tuple(int(extent) for extent in sizes)
    if not node.operand(2):
        return None
    scales = graph.constant(node, 2).array.reshape(-1)
    if len(scales) != len(shape):
        return None
    return tuple(extent * float(scale) for extent, scale in zip(shape, scales, strict=True))


def slice_(node: Node, graph: Builder) -> Value:
    """Slice: rows and columns of flags that the map does not have are cut off."""
    flags = flags_of(node, graph)
    starts, ends = graph.ints(node, "starts", 1), graph.ints(node, "ends", 2)
    axes, steps = graph.ints(node, "axes", 3), graph.ints(node, "steps", 4)
    if starts is None or ends is None or len(starts) != len(ends) or any(starts):
        raise NodeError("expected a slice of flags that starts at 0")
    axes = list(range(len(ends))) if axes is None else axes
    if len(axes) != len(ends) or any(step != 1 for step in steps or ()):
        raise NodeError("expected a slice of flags along known axes, in steps of 1")
    shape = list(flags.shape)
    for axis, end in zip(axes, ends, strict=True):
        if not -len(shape) <= axis < len(shape):
            raise NodeError(f"axis {axis} of a map of rank {len(shape)}")
        extent = shape[axis]
        shape[axis] = max(0, min(end + extent if end < 0 else end, extent))
    return replace(flags, shape=tuple(shape))


Rule = Callable[[Node, Builder], Value]


def cast_or(rule: Rule) -> Rule:
    """Cast of flags to 0.0 and 1.0, or what another rule says."""

    def cast(node: Node, graph: Builder) -> Value:
        value = graph.value(node, 0)
        if not isinstance(value, BlockFlags):
            return rule(node, graph)
        if node.int("to", TensorProto.FLOAT) != TensorProto.FLOAT:
            raise NodeError("expected flags of zero blocks that become float32")
        return value

    return cast


def mul_or(rule: Rule) -> Rule:
    """Mul of a map and the flags of its blocks, or what another rule says."""

    def mul(node: Node, graph: Builder) -> Value:
        values = [graph.value(node, index) for index in range(2)]
        for index, flags in enumerate(values):
            if isinstance(flags, BlockFlags):
                source = graph.map(node, 1 - index)
                if source is not flags.source or shape_of(source) != flags.shape:
                    raise NodeError("expected flags of the blocks of the map that they multiply")
                return pruned(node, graph, flags)
        return rule(node, graph)

    return mul


def pruned(node: Node, graph: Builder, flags: BlockFlags) -> SSAValue:
    """The layer; the pool that nobody else reads goes away."""
    if not flags.spread:
        raise NodeError(f"expected a Resize before it: {PATTERN} are supported")
    value = graph.emit(
        lambda out: PruneZeroBlocksOp(flags.source, flags.block, flags.threshold, out)
    )
    if isinstance(flags.pool, Operation) and flags.pool.parent is not None:
        flags.pool.detach()
        flags.pool.erase()
    return value
