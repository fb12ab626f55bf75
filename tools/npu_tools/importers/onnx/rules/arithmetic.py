"""Rules for element-wise operators of two or more maps that become `npu.binary` or `npu.where`.

A value of bool in the model is a map of uint8, 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_dialect.npu import (
    BatchNormOp,
    CastOp,
    ClampOp,
    Conv2dOp,
    FullyConnectedOp,
    MulOp,
    PairwiseOp,
    ReluOp,
    WhereOp,
)
from npu_dialect.npu.enums import COMPARISONS, BinaryKind
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import ui8
from npu_tools.importers.onnx.builder import Builder, Constant, Value, float_array
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.elementwise import (
    INFINITY,
    added,
    channel_vector,
    folded_sum,
    normalised,
)

Rule = Callable[[Node, Builder], Value]


def paired(graph: Builder, kind: BinaryKind, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Build a function of two maps."""
    result = ui8 if kind in COMPARISONS else None
    return graph.emit(lambda out: PairwiseOp(lhs, rhs, kind, out), result)


def pair_of(kind: BinaryKind) -> Rule:
    """A rule for an operator of two maps that is one kind of `npu.binary`."""

    def rule(node: Node, graph: Builder) -> Value:
        """Computed of two maps, element by element."""
        return paired(graph, kind, graph.operand(node, 0), graph.operand(node, 1))

    return rule


def sub(node: Node, graph: Builder) -> Value:
    """Sub; a constant with one number per channel goes into the layer before it, as in Add."""
    lhs, rhs = graph.value(node, 0), graph.value(node, 1)
    if isinstance(rhs, Constant) and rhs.array.dtype == np.float32:
        negative = Constant(rhs.name, -rhs.array)
        folded = folded_sum(graph, lhs, negative, node.operand(0))
        if folded is not None:
            return folded
    return pair_of(BinaryKind.SUB)(node, graph)


def div(node: Node, graph: Builder) -> Value:
    """Div; by a constant with one number per channel, it scales the layer before it."""
    divisor = graph.value(node, 1)
    source = graph.operand(node, 0)
    if isinstance(divisor, Constant) and is_linear(source):
        with np.errstate(all="ignore"):
            factor = channel_vector(np.float32(1) / float_array(divisor), shape_of(source))
        if factor is not None and np.isfinite(factor).all():
            return normalised(graph, source, factor, np.zeros_like(factor), divisor.name)
    return paired(graph, BinaryKind.DIV, source, graph.operand(node, 1))


def is_linear(source: SSAValue) -> bool:
    """Whether a map of floats comes from a layer into which a factor can be folded."""
    linear = isinstance(source.owner, Conv2dOp | FullyConnectedOp | BatchNormOp)
    return linear and map_type(source).get_element_type() == f32


def extreme_of(kind: BinaryKind) -> Rule:
    """A rule for Max or Min of any number of maps; a scalar constant becomes a clamp."""

    def both(graph: Builder, lhs: SSAValue, rhs: tuple[Value, str]) -> SSAValue:
        value, name = rhs
        bound = bound_of(value, shape_of(lhs))
        if bound is None:
            return paired(graph, kind, lhs, graph.numbers(value, name))
        if kind == BinaryKind.MIN:
            return graph.emit(lambda out: ClampOp(lhs, -INFINITY, bound, out))
        if bound == 0:
            return graph.emit(lambda out: ReluOp(lhs, out))
        return graph.emit(lambda out: ClampOp(lhs, bound, INFINITY, out))

    def rule(node: Node, graph: Builder) -> Value:
        """Chosen of any number of maps, element by element; a scalar constant becomes a clamp."""
        named = [(graph.value(node, index), name) for index, name in enumerate(node.inputs)]
        if not named:
            raise NodeError("no inputs")
        named.sort(key=lambda each: isinstance(each[0], Constant))  # a clamp needs a map first
        first = graph.numbers(*named[0])
        return reduce(lambda lhs, rhs: both(graph, lhs, rhs), named[1:], first)

    return rule


def bound_of(value: Value, shape: tuple[int, ...]) -> float | None:
    """The number in a float32 scalar constant, as a bound of a map of this shape.

    None if it is anything else, or NaN, or if it has more axes than the map.
    """
    if not isinstance(value, Constant) or value.array.size != 1 or value.array.dtype != np.float32:
        return None
    number = float(value.array.reshape(-1)[0])
    return None if np.isnan(number) or value.array.ndim > len(shape) else number


def mean(node: Node, graph: Builder) -> Value:
    """Mean of any number of maps: their sum times the reciprocal of their number."""
    values = [graph.value(node, index) for index in range(len(node.inputs))]
    total = graph.as_map(added(graph, values, node.inputs), node.operand(0))
    if len(values) == 1:
        return total
    share = graph.parameter(np.array(1 / len(values), np.float32), "share")
    return graph.emit(lambda out: MulOp(total, share, out))


def power(node: Node, graph: Builder) -> Value:
    """Pow; the powers 1, 2 and 3 are products, as in onnxruntime.

    Raises: NodeError for any other power of integers.
    """
    base, exponent = graph.operand(node, 0), graph.value(node, 1)
    array = exponent.array if isinstance(exponent, Constant) else None
    if array is not None and array.size == 1 and array.ndim <= len(shape_of(base)):
        count = float(array.reshape(-1)[0])
        if count in (1, 2, 3):
            return reduce(
                lambda found, _: graph.emit(lambda out: MulOp(found, base, out)),
                range(int(count) - 1),
                base,
            )
    if map_type(base).get_element_type() != f32:
        raise NodeError("a power of integers; expected float32, or the constant power 1, 2 or 3")
    if array is not None and array.dtype.kind in "iu":
        exponent = Constant(node.operand(1), array.astype(np.float32))
    by = graph.numbers(exponent, node.operand(1))
    if map_type(by).get_element_type() != f32:
        integers = by
        by = graph.emit(lambda out: CastOp(integers, out), f32)
    return paired(graph, BinaryKind.POW, base, by)


def mod(node: Node, graph: Builder) -> Value:
    """Mod: the rest has the sign of the divisor, with `fmod` that of the dividend."""
    return pair_of(BinaryKind.REM if node.int("fmod", 0) else BinaryKind.MOD)(node, graph)


def not_(node: Node, graph: Builder) -> Value:
    """Not: a comparison with false."""
    source = graph.operand(node, 0)
    false = graph.numbers(Constant("false", np.array(False)), "false")
    return paired(graph, BinaryKind.EQUAL, source, false)


def where(node: Node, graph: Builder) -> Value:
    """Where."""
    condition, lhs, rhs = (graph.operand(node, index) for index in range(3))
    element = map_type(lhs).get_element_type()
    return graph.emit(lambda out: WhereOp(condition, lhs, rhs, out), element)


ARITHMETIC: dict[str, Rule] = {
    "And": pair_of(BinaryKind.AND),
    "Div": div,
    "Equal": pair_of(BinaryKind.EQUAL),
    "Greater": pair_of(BinaryKind.GREATER),
    "Less": pair_of(BinaryKind.LESS),
    "LessOrEqual": pair_of(BinaryKind.LESS_OR_EQUAL),
    "Max": extreme_of(BinaryKind.MAX),
    "Mean": mean,
    "Min": extreme_of(BinaryKind.MIN),
    "Mod": mod,
    "Not": not_,
    "Or": pair_of(BinaryKind.OR),
    "Pow": power,
    "Sub": sub,
    "Where": where,
    "Xor": pair_of(BinaryKind.XOR),
}
"""The rules of this file by operator; GreaterOrEqual is in `RULES`."""
