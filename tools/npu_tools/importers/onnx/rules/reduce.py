"""Rules for reductions: ReduceMean, ReduceMax, ..., ArgMax and ArgMin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from npu_dialect.npu import ReduceOp
from npu_dialect.npu.enums import ReduceKind
from npu_dialect.npu.layers.reduce import computable
from npu_dialect.npu.maps import map_type, shape_of
from npu_tools.importers.onnx.builder import Builder, Value, element_name
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.pool import global_average, global_maximum
from npu_tools.importers.onnx.rules.shape import axis_of

Rule = Callable[[Node, Builder], Value]

POOLS: Mapping[ReduceKind, Callable[[Builder, SSAValue], SSAValue]] = {
    ReduceKind.MEAN: global_average,
    ReduceKind.MAX: global_maximum,
}
"""The kinds that are a global pool if all spatial axes of a map of floats are reduced."""


KEEPING = (
    ReduceKind.LOG_SUM_EXP,
    ReduceKind.MAX,
    ReduceKind.MEAN,
    ReduceKind.MIN,
    ReduceKind.PROD,
    ReduceKind.SUM,
)
"""The kinds that change nothing if no axis is reduced."""


def reduced_axes(node: Node, graph: Builder, rank: int) -> list[int]:
    """The axes that a node reduces, in order: all if none are given, unless it then does nothing.

    Raises: NodeError if a map of this rank does not have one of them.
    """
    axes = graph.ints(node, "axes", 1)
    if axes:
        return sorted({axis_of(axis, rank) for axis in axes})
    return [] if node.int("noop_with_empty_axes", 0) else list(range(rank))


def without_axes(node: Node, graph: Builder, result: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The result of a reduction; its axes of extent 1 go unless the node keeps them."""
    if node.int("keepdims", 1):
        return result
    shape = shape_of(result)
    return graph.reshape(result, [n for axis, n in enumerate(shape) if axis not in axes])


def covers_map(axes: Sequence[int], rank: int) -> bool:
    """Whether axes are all spatial axes of a map [N, C, ...] with one, two or three of them."""
    return rank in (3, 4, 5) and list(axes) == list(range(2, rank))


def reduce_of(kind: ReduceKind) -> Rule:
    """A rule for an operator that is one kind of `npu.reduce`."""

    def rule(node: Node, graph: Builder) -> Value:
        """Computed over any axes; all spatial axes of a map may be a global pool."""
        source = graph.operand(node, 0)
        rank = len(shape_of(source))
        axes = reduced_axes(node, graph, rank)
        element = map_type(source).get_element_type()
        if element not in computable(kind):
            raise NodeError(f"a map of {element_name(element)} elements; expected float32")
        if not axes and kind in KEEPING:
            return source
        pool = POOLS.get(kind)
        if pool and covers_map(axes, rank) and element == f32:
            result = pool(graph, source)
        else:
            result = graph.emit(lambda out: ReduceOp(source, kind, axes, out))
        return without_axes(node, graph, result, axes)

    return rule


def index_of(kind: ReduceKind) -> Rule:
    """A rule for ArgMax or ArgMin; the indices, int64 in the model, are i32."""

    def rule(node: Node, graph: Builder) -> Value:
        """Indices along an axis, as int32; they may be cast, but no output of a model is int64."""
        source = graph.operand(node, 0)
        axis = axis_of(node.int("axis", 0), len(shape_of(source)))
        last = bool(node.int("select_last_index", 0))
        result = graph.emit(lambda out: ReduceOp(source, kind, [axis], out, last=last), i32)
        return without_axes(node, graph, result, [axis])

    return rule


REDUCTIONS: dict[str, Rule] = {
    "ArgMax": index_of(ReduceKind.ARGMAX),
    "ArgMin": index_of(ReduceKind.ARGMIN),
    "ReduceL1": reduce_of(ReduceKind.L1),
    "ReduceL2": reduce_of(ReduceKind.L2),
    "ReduceLogSum": reduce_of(ReduceKind.LOG_SUM),
    "ReduceLogSumExp": reduce_of(ReduceKind.LOG_SUM_EXP),
    "ReduceMax": reduce_of(ReduceKind.MAX),
    "ReduceMean": reduce_of(ReduceKind.MEAN),
    "ReduceMin": reduce_of(ReduceKind.MIN),
    "ReduceProd": reduce_of(ReduceKind.PROD),
    "ReduceSum": reduce_of(ReduceKind.SUM),
    "ReduceSumSquare": reduce_of(ReduceKind.SUM_SQUARE),
}
"""The rules of this file by operator."""
