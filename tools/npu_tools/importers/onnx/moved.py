"""What moves elements, or picks the largest of some, behind a real map that is not computed yet.

It does to quantised integers what it does to real numbers, so it can wait until there are some:

    Conv -> Flatten -> QuantizeLinear

is a convolution, a requantisation by one scale for each channel, and a reshape of 8-bit integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, SSAValue

from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.names import UniqueNames
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.quantized import Params, Quantized

Rule = Callable[[Node, Builder], Value]


@dataclass(frozen=True, eq=False)
class MovedMap(Quantized):
    """A node that moves elements, and the map that it reads."""

    source: Quantized
    node: Node
    rule: Rule
    result: tuple[int, ...]
    """The shape of the map."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the map."""
        return self.result

    def floats(self, graph: Builder) -> SSAValue:
        """The node on floats."""
        return applied(self.rule, self.node, graph, self.source.as_float(graph))

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """The node on quantised integers."""
        return applied(self.rule, self.node, graph, self.source.quantize(graph, params))


def applied(rule: Rule, node: Node, graph: Builder, value: SSAValue) -> SSAValue:
    """What a rule makes of a node whose first input is `value`."""
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
    """A node behind a map that is not computed yet; its shape is found on the side."""
    block = Block(arg_types=[TensorType(f32, source.shape)])
    trial = Builder(block, Counter(graph.uses), UniqueNames())
    trial.values.update(graph.values)
    result = shape_of(applied(rule, node, trial, block.args[0]))
    return MovedMap(source, node, rule, result, label=node.label)
