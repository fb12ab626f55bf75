"""Imports the pruning of zero blocks, which PyTorch exports as a chain of operators, as one layer.

    maxima = F.max_pool2d(x, b, b, ceil_mode=True)
    keep = (maxima >= threshold).to(x.dtype)
    keep = F.interpolate(keep, scale_factor=b, mode="nearest")
    y = x * keep[:, :, :height, :width]          # the slices only where b does not divide the map

is exported, by either of torch's exporters, as

    MaxPool -> GreaterOrEqual(threshold) -> Cast -> Resize(nearest, 1, 1, b, b) [-> Slice]* -> Mul

GreaterOrEqual gives no map but a `BlockFlags` value. Only the next operator of the chain accepts
it. Mul turns it into `npu.prune_zero_blocks` and removes the pool.

In a quantised network, onnxruntime's quantiser puts QuantizeLinear and DequantizeLinear around the
map, and possibly around its maxima and flags. The flags are then `QuantizedFlags`, and the layer
works on the integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TypeGuard

import numpy as np
from onnx import TensorProto
from xdsl.ir import Operation, SSAValue

from npu_dialect.npu import MaxPool2dOp, PruneZeroBlocksOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import BlockFlags, Builder, Constant, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.quantized import Params, Scaled
from npu_tools.importers.onnx.quantized_operands import params_of
from npu_tools.importers.onnx.surrounded import settled

PATTERN = "MaxPool, GreaterOrEqual, Cast, Resize, Slice, Mul that prune zero blocks"
GRIDS = {
    "asymmetric": ("floor",),
    "half_pixel": ("round_prefer_floor", "round_prefer_ceil"),
}
"""The `nearest_mode`s that repeat each element b times at scale b, by
`coordinate_transformation_mode`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantizedFlags(BlockFlags):
    """Flags of blocks of a map of integers, which is `scaled`.

    `held` are the parameters of the flags if they are quantised themselves. `one` is the real
    number that a set flag has; it may differ from 1, as their scale rounds it.
    """

    scaled: Scaled
    held: Params | None = None
    one: np.float32 = field(default_factory=lambda: np.float32(1))

    @property
    def factor(self) -> np.float32:
        """The factor of kept blocks: `one`, or 1 if the difference changes no 8-bit integer."""
        return np.float32(1) if abs(float(self.one) - 1) * 255 < 0.5 else self.one


Rule = Callable[[Node, Builder], Value]
IntegerRule = Callable[[Node, Builder], Value | None]


def flags_or(rule: Rule) -> Rule:
    """A rule for GreaterOrEqual of block maxima and a threshold, which gives flags of blocks.

    Any other comparison is left to `rule`.
    """

    def greater_or_equal(node: Node, graph: Builder) -> Value:
        """Compared element by element; maxima of blocks and a threshold give flags of blocks."""
        maxima = graph.value(node, 0)
        if isinstance(maxima, SSAValue) and are_maxima(node, graph, maxima):
            return flags_of_maxima(node, graph, maxima)
        return rule(node, graph)

    return greater_or_equal


def are_maxima(node: Node, graph: Builder, maxima: SSAValue) -> bool:
    """Whether the first operand may be maxima of blocks, the second a number, and a Resize follows.

    Without a Resize the flags are those of the maxima, not of the elements of blocks.
    """
    threshold = graph.value(node, 1)
    is_number = isinstance(threshold, Constant) and threshold.array.size == 1
    found = isinstance(maxima.owner, MaxPool2dOp) and is_number
    return found and are_resized(graph, node.outputs[0])


def are_resized(graph: Builder, name: str) -> bool:
    """Whether a Resize alone reads a value, maybe behind casts and quantisation."""
    while graph.uses[name] == 1 and graph.readers.get(name):
        reader = graph.readers[name][0]
        if reader.op_type == "Resize":
            return True
        if reader.op_type not in ("Cast", "QuantizeLinear", "DequantizeLinear"):
            return False
        name = reader.output[0]
    return False


def large_integers(node: Node, graph: Builder) -> Value | None:
    """GreaterOrEqual of block maxima of a map of integers; None if the operand is no such map."""
    maxima = settled(graph, graph.value(node, 0))
    if not is_plain(maxima) or not are_maxima(node, graph, maxima.value):
        return None
    flags = flags_of_maxima(node, graph, maxima.value)
    return QuantizedFlags(
        flags.source,
        flags.block,
        flags.threshold,
        flags.shape,
        flags.pool,
        scaled=replace(maxima, value=flags.source),
    )


def is_plain(value: Value) -> TypeGuard[Scaled]:
    """Whether a value is a map of 8-bit integers without a pending clamp or reshape."""
    return (
        isinstance(value, Scaled)
        and not value.is_sum
        and not value.is_clamped
        and value.view is None
    )


def flags_of_maxima(node: Node, graph: Builder, maxima: SSAValue | None) -> BlockFlags:
    """The flags of a map from the comparison of its block maxima with a threshold.

    Raises: NodeError if `maxima` are not the maxima of square blocks that cover a map, or if the
    threshold is not a constant of at least 0.
    """
    array, pool = graph.weight(node, 1), None if maxima is None else maxima.owner
    if not isinstance(pool, MaxPool2dOp) or array.size != 1:
        raise NodeError(f"expected block maxima and a scalar: {PATTERN} are supported")
    threshold = float(array.reshape(-1)[0])
    if not threshold >= 0 or threshold == np.inf:
        raise NodeError(f"a threshold of {threshold}; expected a number of at least 0")
    block = int_values(pool.kernel)[0]
    plain = {tuple(int_values(each)) for each in (pool.kernel, pool.strides)} == {(block, block)}
    padded = any(int_values(pool.pads)) or set(int_values(pool.dilations)) != {1}
    outputs = tuple(-(-extent // block) for extent in shape_of(pool.input)[2:])
    if not plain or padded or shape_of(pool.results[0])[2:] != outputs:
        raise NodeError(
            "expected maxima of square blocks side by side that cover the map (ceil_mode=1 where "
            "they do not divide it)"
        )
    alone = all(graph.uses[name] == 1 for name in names_of(graph, pool.results[0]))
    shape = shape_of(pool.results[0])
    return BlockFlags(pool.input, block, threshold, shape, pool if alone else None)


def names_of(graph: Builder, map: SSAValue) -> list[str]:
    """The names of the model's values that a map of the IR stands for."""
    return [
        name
        for name, value in graph.values.items()
        if value is map or (isinstance(value, Scaled) and value.value is map)
    ]


def resize_or(rule: Rule) -> Rule:
    """A rule for Resize of flags; any other operand is left to `rule`."""

    def resize(node: Node, graph: Builder) -> Value:
        flags = graph.value(node, 0)
        return spread(node, graph, flags) if isinstance(flags, BlockFlags) else rule(node, graph)

    return resize


def spread(node: Node, graph: Builder, flags: BlockFlags) -> Value:
    """Resize of flags: each block's flag is repeated for all elements of the block."""
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
    """The shape of Resize's result, from its sizes or scales; None if they do not fit."""
    if node.operand(3):
        sizes = graph.constant(node, 3).array.reshape(-1)
        return tuple(int(extent) for extent in sizes)
    if not node.operand(2):
        return None
    scales = graph.constant(node, 2).array.reshape(-1)
    if len(scales) != len(shape):
        return None
    return tuple(extent * float(scale) for extent, scale in zip(shape, scales, strict=True))


def slice_or(rule: Rule) -> Rule:
    """A rule for Slice of flags; any other operand is left to `rule`."""

    def slice_(node: Node, graph: Builder) -> Value:
        flags = graph.value(node, 0)
        return cut(node, graph, flags) if isinstance(flags, BlockFlags) else rule(node, graph)

    return slice_


def cut(node: Node, graph: Builder, flags: BlockFlags) -> Value:
    """Slice of flags: it cuts off the rows and columns that the map does not have."""
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


def quantize_or(rule: Rule) -> Rule:
    """A rule for QuantizeLinear of flags; any other operand is left to `rule`."""

    @wraps(rule)
    def quantize(node: Node, graph: Builder) -> Value:
        flags = graph.value(node, 0)
        if not isinstance(flags, QuantizedFlags):
            return rule(node, graph)
        params = params_of(node, graph, 1, 2)
        one = np.float32(params.integer(float(flags.one)) - params.zero_point) * params.scale
        return replace(flags, held=params, one=np.float32(one))

    return quantize


def dequantize_or(rule: Rule) -> Rule:
    """A rule for DequantizeLinear of flags; any other operand is left to `rule`."""

    @wraps(rule)
    def dequantize(node: Node, graph: Builder) -> Value:
        flags = graph.value(node, 0)
        if not isinstance(flags, QuantizedFlags):
            return rule(node, graph)
        if flags.held != params_of(node, graph, 1, 2):
            raise NodeError("expected the scale and zero point that the flags have got")
        return replace(flags, held=None)

    return dequantize


def cast_or(rule: Rule) -> Rule:
    """A rule for Cast of flags to 0.0 and 1.0; any other operand is left to `rule`."""

    @wraps(rule)
    def cast(node: Node, graph: Builder) -> Value:
        value = graph.value(node, 0)
        if not isinstance(value, BlockFlags):
            return rule(node, graph)
        if node.int("to", TensorProto.FLOAT) != TensorProto.FLOAT:
            raise NodeError("expected flags of zero blocks that become float32")
        return value

    return cast


def mul_or(rule: Rule) -> Rule:
    """A rule for Mul of a map and the flags of its blocks; other operands are left to `rule`."""

    @wraps(rule)
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


def mul_integers_or(rule: IntegerRule) -> IntegerRule:
    """A rule for Mul of a map of integers and its flags; other operands are left to `rule`."""

    def mul(node: Node, graph: Builder) -> Value | None:
        values = [graph.value(node, index) for index in range(2)]
        for index, flags in enumerate(values):
            if isinstance(flags, QuantizedFlags):
                source = settled(graph, values[1 - index])
                if (
                    not is_plain(source)
                    or source.value is not flags.source
                    or source.params != flags.scaled.params
                    or shape_of(source.value) != flags.shape
                ):
                    raise NodeError("expected flags of the blocks of the map that they multiply")
                scales = (source.scales * flags.factor).astype(np.float32)
                return replace(source, value=pruned(node, graph, flags), scales=scales)
        return rule(node, graph)

    return mul


def pruned(node: Node, graph: Builder, flags: BlockFlags) -> SSAValue:
    """Add the layer that prunes a map, and remove the pool of its maxima if it has no other reader.

    Raises: NodeError if there is not a flag for each element.
    """
    if not flags.spread:
        raise NodeError(f"expected a Resize before it: {PATTERN} are supported")
    source, block, threshold = flags.source, flags.block, flags.threshold
    if isinstance(flags, QuantizedFlags):
        scale, zero = float(flags.scaled.scale), flags.scaled.zero_point
        value = graph.emit(
            lambda out: PruneZeroBlocksOp(
                source, block, threshold, out, scale=scale, zero_point=zero
            ),
            flags.scaled.element,
        )
    else:
        value = graph.emit(lambda out: PruneZeroBlocksOp(source, block, threshold, out))
    if isinstance(flags.pool, Operation) and flags.pool.parent is not None:
        flags.pool.detach()
        flags.pool.erase()
    return value
