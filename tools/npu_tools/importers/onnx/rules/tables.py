"""Rules on quantised maps for operators whose result is a table: functions of one map's bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from npu_dialect.interpreters.pointwise import mapped
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.activation import FUNCTIONS, function
from npu_tools.importers.onnx.rules.arithmetic import div, sub
from npu_tools.importers.onnx.rules.elementwise import add, mul
from npu_tools.importers.onnx.tabled import IntegerRule, Rule, tabled
from npu_tools.importers.onnx.tensors import Array

BINARY: Mapping[str, tuple[Rule, Callable[[Array, Array], Array]]] = {
    "Add": (add, np.add),
    "Div": (div, np.divide),
    "Mul": (mul, np.multiply),
    "Sub": (sub, np.subtract),
}
"""Operators of two operands: the rule in float32, and what they compute."""


def of_function(node: Node, operands: Sequence[Array]) -> Array:
    """A function of one number, of each of 256 numbers."""
    return mapped(operands[0], FUNCTIONS[node.op_type](node))


def of_operator(kind: str) -> IntegerRule:
    """The rule of an operator of `BINARY` on functions of one map."""
    rule, compute = BINARY[kind]
    return tabled(rule, lambda _, operands: reduce(compute, operands))


def table_or(kind: str, other: IntegerRule) -> IntegerRule:
    """A rule that gives a table if it can, else what another rule on integers gives."""
    by_table = of_operator(kind)

    def either(node: Node, graph: Builder) -> Value | None:
        found = by_table(node, graph)
        return other(node, graph) if found is None else found

    return either


TABLES: Mapping[str, IntegerRule] = {
    **{kind: of_operator(kind) for kind in BINARY},
    **dict.fromkeys(FUNCTIONS, tabled(function, of_function)),
}
"""Rules for operators that become tables between DequantizeLinear and QuantizeLinear."""
