"""What layers do to each element by itself, on arrays: bounds, functions, tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.interpreters.values import Array
from npu_dialect.npu.functions import Arithmetic, Call
from npu_dialect.npu.pointwise import ActivationAttr, FunctionAttr, PointwiseAttr, TableAttr

CALLS: Mapping[Call, Callable[..., Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": np.vectorize(erf, otypes=[np.float64]),
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "log1p": np.log1p,
    "round": np.rint,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
"""The functions of formulas in numpy."""

Floats = NDArray[np.floating[Any]]


class ArrayArithmetic(Arithmetic[Floats]):
    """Formulas on float arrays.

    A function is computed with doubles and rounded once, so it is as exact as the type allows.
    """

    def __init__(self, kind: type[np.floating[Any]]) -> None:
        self.kind = kind

    def number(self, value: float) -> Floats:
        """A constant."""
        return np.asarray(value, np.float32).astype(self.kind)

    def add(self, lhs: Floats, rhs: Floats) -> Floats:
        """lhs + rhs."""
        return lhs + rhs

    def sub(self, lhs: Floats, rhs: Floats) -> Floats:
        """lhs - rhs."""
        return lhs - rhs

    def mul(self, lhs: Floats, rhs: Floats) -> Floats:
        """lhs * rhs."""
        return lhs * rhs

    def div(self, lhs: Floats, rhs: Floats) -> Floats:
        """lhs / rhs."""
        return lhs / rhs

    def neg(self, value: Floats) -> Floats:
        """-value."""
        return -value

    def call(self, name: Call, value: Floats) -> Floats:
        """A function of each element."""
        return np.asarray(CALLS[name](value.astype(np.float64))).astype(self.kind)

    def if_less(self, lhs: Floats, rhs: Floats, then: Floats, otherwise: Floats) -> Floats:
        """`then` where lhs < rhs, else `otherwise`."""
        return np.where(lhs < rhs, then, otherwise)


def clamp(array: Array, low: float, high: float) -> Array:
    """min(max(x, low), high); for integer maps, bounds outside their range have no effect."""
    if array.dtype.kind != "f":
        limits = np.iinfo(array.dtype)
        low = min(max(np.ceil(low), limits.min), limits.max)
        high = max(min(np.floor(high), limits.max), low)
    kind = array.dtype.type
    return np.minimum(np.maximum(array, kind(low)), kind(high))


def mapped(array: Array, function: FunctionAttr) -> Array:
    """A function of each element; parameters by channel belong to the second axis.

    Raises: InterpretationError if the elements are integers.
    """
    if array.dtype.kind != "f":
        raise InterpretationError(f"expected a function of floats, got {array.dtype} elements")
    arithmetic = ArrayArithmetic(array.dtype.type)
    numbers = [arithmetic.number(number) for number in function.arguments]
    if function.has_channels:
        numbers = [np.stack(numbers).reshape(-1, *[1] * (array.ndim - 2))]
    with np.errstate(all="ignore"):
        return function.rule.formula(arithmetic, array, numbers)


def looked_up(array: Array, table: TableAttr) -> Array:
    """The entry for each element."""
    return table.entries[array.astype(np.int16) - table.least]


def activate(array: Array, activation: PointwiseAttr | None) -> Array:
    """The array after what a layer does to each element, if anything."""
    match activation:
        case ActivationAttr():
            return clamp(array, *activation.bounds)
        case FunctionAttr():
            return mapped(array, activation)
        case TableAttr():
            return looked_up(array, activation)
        case _:
            return array
