"""Rules for arithmetic of two quantised maps, and for indices of their greatest elements."""

from __future__ import annotations

from collections.abc import Callable

from npu_dialect.npu.enums import BinaryKind
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.combined import Combined
from npu_tools.importers.onnx.moved import applied
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.plain import as_plain, is_plain
from npu_tools.importers.onnx.quantized import Quantized
from npu_tools.importers.onnx.rules.arithmetic import bound_of
from npu_tools.importers.onnx.rules.elementwise import INFINITY
from npu_tools.importers.onnx.rules.reduce import REDUCTIONS
from npu_tools.importers.onnx.surrounded import settled

IntegerRule = Callable[[Node, Builder], Value | None]


def index_on_integers(node: Node, graph: Builder) -> Value | None:
    """ArgMax and ArgMin: the order of the integers is that of the real numbers."""
    source = settled(graph, graph.value(node, 0))
    if not is_plain(source) or source.view is not None:
        return None
    return applied(REDUCTIONS[node.op_type], node, graph, source.value)


def combine(kind: BinaryKind) -> IntegerRule:
    """A rule for an operator of two maps of integers, or of a map and a constant."""

    def on_integers(node: Node, graph: Builder) -> Value | None:
        if len(node.inputs) != 2:
            return None
        values = [graph.value(node, 0), graph.value(node, 1)]
        if kind in (BinaryKind.MAX, BinaryKind.MIN):
            for value, other in (values, reversed(values)):
                bound = bound_of(other, value.shape) if isinstance(value, Quantized) else None
                if isinstance(value, Quantized) and bound is not None:
                    is_max = kind == BinaryKind.MAX
                    ends = (bound, INFINITY) if is_max else (-INFINITY, bound)
                    return value.clamped(*ends)
        lhs, rhs = (as_plain(graph, value) for value in values)
        if lhs is None or rhs is None:
            return None
        return Combined(kind, lhs, rhs, label=node.label)

    return on_integers
