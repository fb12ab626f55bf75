"""Rules for LpPool and GlobalLpPool: an average of powers times their number, and its root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import AvgPool2dOp, MapOp, MulOp, PairwiseOp, ReduceOp
from npu_dialect.npu.enums import BinaryKind, Function, ReduceKind
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_dialect.windows import Axis
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.pool import pool_window, pooling
from npu_tools.importers.onnx.rules.window import spatial_rank


def lp_pool(node: Node, graph: Builder) -> Value:
    """LpPool; taps on padding are zeros, and so are those of a partial window of `ceil_mode`."""
    power, source = power_of(node), graph.map(node, 0)
    found = pool_window(node, shape_of(source))
    if node.int("ceil_mode", 0):
        found = replace(found, after=whole_pads(found.axes(shape_of(source)[2:], ceil=True)))
    pools = pooling(shape_of(source), found, "avg", counts_pad=True)
    average = pools.build(graph, powers(graph, source, power), AvgPool2dOp)
    count = graph.parameter(np.full(1, prod(found.kernel), np.float32), "count")
    return root(graph, graph.emit(lambda out: MulOp(average, count, out)), power)


def whole_pads(axes: Sequence[Axis]) -> tuple[int, ...]:
    """The pads after some axes with which a partial window at the end is a whole one."""
    return tuple(
        (axis.outputs - 1) * axis.stride + axis.reach - axis.size - axis.before for axis in axes
    )


def global_lp_pool(node: Node, graph: Builder) -> Value:
    """GlobalLpPool."""
    power, source = power_of(node), graph.map(node, 0)
    axes = range(2, 2 + spatial_rank(source))
    numbers = powers(graph, source, power)
    total = graph.emit(lambda out: ReduceOp(numbers, ReduceKind.SUM, axes, out))
    return root(graph, total, power)


def power_of(node: Node) -> int:
    """The power p.

    Raises: NodeError if it is below 1.
    """
    power = node.int("p", 2)
    if power < 1:
        raise NodeError(f"p = {power}; expected at least 1")
    return power


def powers(graph: Builder, source: SSAValue, power: int) -> SSAValue:
    """The absolute values of a map to some power."""
    if power == 2:
        return graph.emit(lambda out: MulOp(source, source, out))
    positive = graph.emit(lambda out: MapOp(source, FunctionAttr.of(Function.ABS), out))
    return raised(graph, positive, power)


def root(graph: Builder, source: SSAValue, power: int) -> SSAValue:
    """A map of numbers that are not negative to the power 1 / `power`."""
    if power == 2:
        return graph.emit(lambda out: MapOp(source, FunctionAttr.of(Function.SQRT), out))
    return raised(graph, source, 1 / power)


def raised(graph: Builder, source: SSAValue, exponent: float) -> SSAValue:
    """A map to some power."""
    if exponent == 1:
        return source
    number = graph.parameter(np.full(1, exponent, np.float32), "exponent")
    return graph.emit(lambda out: PairwiseOp(source, number, BinaryKind.POW, out))
