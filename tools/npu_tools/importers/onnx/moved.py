"""Nodes that move elements or pick the largest, after a quantised map without layers yet.

Such a node does the same to quantised integers as to real numbers. So it is not built before the
integers are known:

    Conv -> Flatten -> QuantizeLinear

becomes a convolution, a requantisation with one scale for each channel, and a reshape of 8-bit
integers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, SSAValue

from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.names import UniqueNames
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.quantized import Params, Quantized, Scaled
from npu_tools.importers.onnx.surrounded import settled
from npu_tools.importers.onnx.tabled import IntegerRule, Rule


@dataclass(frozen=True, eq=False)
class MovedMap(Quantized):
    """The result of a node that moves or picks elements of `source`; `rule` builds the node."""

    source: Quantized
    node: Node
    rule: Rule
    result: tuple[int, ...]
    """The shape of the node's result."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the node's result."""
        return self.result

    def floats(self, graph: Builder) -> SSAValue:
        """Build the node on float32 elements."""
        return applied(self.rule, self.node, graph, self.source.as_float(graph))

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """Build the node on quantised integers."""
        return applied(self.rule, self.node, graph, self.source.quantize(graph, params))


def applied(rule: Rule, node: Node, graph: Builder, value: SSAValue) -> SSAValue:
    """Apply a rule to a node as if the node's first operand were `value`.

    Raises: NodeError if the result is no map; what the rule raises.
    """
    name = node.operand(0)
    held = graph.values[name]
    graph.values[name] = value
    try:
        result = rule(node, graph)
    finally:
        graph.values[name] = held
    if not isinstance(result, SSAValue):
        raise NodeError("a result that is no map; expected one")
    return result


def moved(rule: Rule, node: Node, graph: Builder, source: Quantized) -> MovedMap:
    """The `MovedMap` value of a node whose operand `source` has no layers yet.

    The shape of its result is found by a trial on a block that is thrown away.
    """
    block = Block(arg_types=[TensorType(f32, source.shape)])
    trial = Builder(block, Counter(graph.uses), UniqueNames(), graph.readers)
    trial.values.update(graph.values)
    result = shape_of(applied(rule, node, trial, block.args[0]))
    return MovedMap(source, node, rule, result, label=node.label)


def moving(rule: Rule, *, keeps_channels: bool = False) -> IntegerRule:
    """A rule on integers from a rule that moves or picks elements of a map.

    Such a node does the same to integers as to real numbers. It is applied to the integers at once
    if they exist and keep their scales; else the result is a `Moved` value. `keeps_channels`: the
    second axis stays the same, so scales for each channel stay right.
    """

    def on_integers(node: Node, graph: Builder) -> Value | None:
        value = settled(graph, graph.value(node, 0))
        if not isinstance(value, Quantized):
            return None
        if not isinstance(value, Scaled) or value.shape != shape_of(value.value):
            return moved(rule, node, graph, value)
        if value.scales.size > 1 and not keeps_channels:
            return moved(rule, node, graph, value)
        return replace(value, value=applied(rule, node, graph, value.value), view=None)

    return on_integers
