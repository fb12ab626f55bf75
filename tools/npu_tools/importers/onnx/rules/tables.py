"""Rules on quantised maps for operators whose result is a table: functions of one map's bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from npu_dialect.interpreters.pointwise import mapped
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.activation import (
    BY_DOMAIN,
    FUNCTIONS,
    function,
    read_function,
)
from npu_tools.importers.onnx.rules.arithmetic import div, power, sub
from npu_tools.importers.onnx.rules.elementwise import add, mul
from npu_tools.importers.onnx.tabled import IntegerRule, Rule, tabled
from npu_tools.importers.onnx.tensors import Array


def powers(base: Array, exponent: Array) -> Array:
    """base to the power exponent; squares and cubes are products, as in onnxruntime."""
    if exponent.size == 1 and exponent.reshape(-1)[0] in (2, 3):
        square = base * base
        return square if exponent.reshape(-1)[0] == 2 else square * base
    return np.power(base, exponent)


BINARY: Mapping[str, tuple[Rule, Callable[[Array, Array], Array]]] = {
    "Add": (add, np.add),
    "Div": (div, np.divide),
    "Mul": (mul, np.multiply),
    "Pow": (power, powers),
    "Sub": (sub, np.subtract),
}
"""Operators of two operands: the rule in float32, and what they compute."""


def of_function(node: Node, operands: Sequence[Array]) -> Array:
    """A function of one number, of each of 256 numbers; a bias is added first."""
    return mapped(reduce(np.add, operands), read_function(node))


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

FOREIGN_TABLES: Mapping[str, Mapping[str, IntegerRule]] = {
    domain: dict.fromkeys(functions, tabled(function, of_function))
    for domain, functions in BY_DOMAIN.items()
}
"""Rules for functions of one map that become tables, by the domain of the operators."""
