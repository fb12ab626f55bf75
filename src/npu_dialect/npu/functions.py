"""The functions of one number that layers apply to each element, each as one formula.

A formula is written once, over an `Arithmetic`: numpy's arrays in the interpreter, the ops of loops
in the lowering. Each step is one float32 operation in the order of onnxruntime. x is the element,
p holds the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import Literal, Protocol, TypeVar

from xdsl.dialects import math

from npu_dialect.npu.enums import Function

T = TypeVar("T")

Call = Literal[
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp",
    "floor", "log", "log1p", "round", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip
"""The functions that the arithmetic itself has; `round` rounds half to even."""

MATH_OPS: Mapping[Call, type[math.FloatingPointLikeUnaryMathOperation]] = {
    "abs": math.AbsFOp,
    "acos": math.AcosOp,
    "acosh": math.AcoshOp,
    "asin": math.AsinOp,
    "asinh": math.AsinhOp,
    "atan": math.AtanOp,
    "atanh": math.AtanhOp,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log1p": math.Log1pOp,
    "round": math.RoundEvenOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
}
"""The functions of the arithmetic as ops."""


class Arithmetic(Protocol[T]):
    """What formulas are made of."""

    def number(self, value: float) -> T:
        """A float32 constant."""
        ...

    def add(self, lhs: T, rhs: T) -> T:
        """lhs + rhs."""
        ...

    def sub(self, lhs: T, rhs: T) -> T:
        """lhs - rhs."""
        ...

    def mul(self, lhs: T, rhs: T) -> T:
        """lhs * rhs."""
        ...

    def div(self, lhs: T, rhs: T) -> T:
        """lhs / rhs."""
        ...

    def neg(self, value: T) -> T:
        """-value; a zero changes its sign, too."""
        ...

    def call(self, name: Call, value: T) -> T:
        """A function of one number."""
        ...

    def if_less(self, lhs: T, rhs: T, then: T, otherwise: T) -> T:
        """`then` if lhs < rhs, else `otherwise`, also if one of both is NaN."""
        ...


class Formula(Protocol):
    """Computes a function of x with parameters p."""

    def __call__(self, m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
        """The value at x."""
        ...


def called(name: Call) -> Formula:
    """The formula of a function that the arithmetic has."""

    def formula(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
        return m.call(name, x)

    return formula


def clamped(m: Arithmetic[T], x: T, low: float, high: float) -> T:
    """min(max(x, low), high); NaN stays NaN."""
    least, most = m.number(low), m.number(high)
    x = m.if_less(x, least, least, x)
    return m.if_less(most, x, most, x)


def neg(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """-x."""
    return m.neg(x)


def reciprocal(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """1 / x."""
    return m.div(m.number(1.0), x)


def sign(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """-1, 0 or 1; NaN stays NaN."""
    zero = m.number(0.0)
    below = m.if_less(x, zero, m.number(-1.0), m.mul(x, zero))
    return m.if_less(zero, x, m.number(1.0), below)


def affine(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """alpha * x + beta."""
    return m.add(m.mul(p[0], x), p[1])


def scaled_tanh(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """alpha * tanh(beta * x)."""
    return m.mul(p[0], m.call("tanh", m.mul(p[1], x)))


def sigmoid(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """1 / (1 + exp(-x))."""
    one = m.number(1.0)
    return m.div(one, m.add(one, m.call("exp", m.neg(x))))


def silu(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """x * sigmoid(x)."""
    return m.mul(x, sigmoid(m, x, ()))


def swish(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """x * sigmoid(alpha * x)."""
    return m.mul(x, sigmoid(m, m.mul(x, p[0]), ()))


def ramp(m: Arithmetic[T], x: T, slope: T, offset: T) -> T:
    """max(0, min(1, slope * x + offset))."""
    return clamped(m, m.add(m.mul(slope, x), offset), 0.0, 1.0)


def hard_sigmoid(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """max(0, min(1, alpha * x + beta))."""
    return ramp(m, x, p[0], p[1])


def hard_swish(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """x * max(0, min(1, x / 6 + 1 / 2)); the sixth is a float32 factor."""
    return m.mul(x, ramp(m, x, m.number(1 / 6), m.number(0.5)))


def exponential(m: Arithmetic[T], x: T, scale: T) -> T:
    """scale * (exp(x) - 1)."""
    return m.mul(scale, m.sub(m.call("exp", x), m.number(1.0)))


def elu(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """x, below zero alpha * (exp(x) - 1)."""
    return m.if_less(x, m.number(0.0), exponential(m, x, p[0]), x)


def selu(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """gamma * elu(x) with parameters alpha and gamma."""
    return m.mul(p[1], elu(m, x, p))


def celu(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """x, below zero alpha * (exp(x / alpha) - 1)."""
    return m.if_less(x, m.number(0.0), exponential(m, m.div(x, p[0]), p[0]), x)


def gelu(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """x / 2 * (1 + erf(x / sqrt(2)))."""
    share = m.add(m.number(1.0), m.call("erf", m.mul(x, m.number(sqrt(0.5)))))
    return m.mul(m.mul(x, m.number(0.5)), share)


def gelu_tanh(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
    cube = m.mul(m.mul(m.mul(x, x), x), m.number(0.044715))
    inner = m.mul(m.number(sqrt(2 / pi)), m.add(x, cube))
    return m.mul(m.mul(x, m.number(0.5)), m.add(m.number(1.0), m.call("tanh", inner)))


def softplus(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """log(1 + exp(x)); above zero x + log(1 + exp(-x)), which does not overflow."""
    below = m.call("log1p", m.call("exp", x))
    above = m.add(x, m.call("log1p", m.call("exp", m.neg(x))))
    return m.if_less(m.number(0.0), x, above, below)


def mish(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """x * tanh(softplus(x))."""
    return m.mul(x, m.call("tanh", softplus(m, x, ())))


def softsign(m: Arithmetic[T], x: T, _: Sequence[T], /) -> T:
    """x / (1 + |x|)."""
    return m.div(x, m.add(m.number(1.0), m.call("abs", x)))


def leaky_relu(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """x, below zero alpha * x."""
    return m.if_less(x, m.number(0.0), m.mul(p[0], x), x)


def thresholded_relu(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """x if it is above alpha, else 0."""
    return m.if_less(p[0], x, x, m.number(0.0))


def shrink(m: Arithmetic[T], x: T, p: Sequence[T], /) -> T:
    """x + bias below -lambda, x - bias above lambda, else 0; p holds bias and lambda."""
    inside = m.if_less(x, m.neg(p[1]), m.add(x, p[0]), m.number(0.0))
    return m.if_less(p[1], x, m.sub(x, p[0]), inside)


def never(_: Sequence[float]) -> bool:
    """Not monotone, or NaN for some numbers."""
    return False


def always(_: Sequence[float]) -> bool:
    """Monotone."""
    return True


def if_positive(p: Sequence[float]) -> bool:
    """Monotone if all parameters are positive; zero times infinity is NaN."""
    return all(number > 0 for number in p)


@dataclass(frozen=True)
class FunctionRule:
    """What a function computes, how many parameters it has, and when it is monotone.

    `monotone` takes the parameters. A monotone function has a larger or equal value for each larger
    number, and NaN for NaN only. So it may come after a maximum in place of before it.
    """

    formula: Formula
    parameters: int = 0
    monotone: Callable[[Sequence[float]], bool] = never


FUNCTIONS: Mapping[Function, FunctionRule] = {
    Function.ABS: FunctionRule(called("abs")),
    Function.ACOS: FunctionRule(called("acos")),
    Function.ACOSH: FunctionRule(called("acosh")),
    Function.AFFINE: FunctionRule(affine, 2, lambda p: p[0] > 0),
    Function.ASIN: FunctionRule(called("asin")),
    Function.ASINH: FunctionRule(called("asinh"), monotone=always),
    Function.ATAN: FunctionRule(called("atan"), monotone=always),
    Function.ATANH: FunctionRule(called("atanh")),
    Function.CEIL: FunctionRule(called("ceil"), monotone=always),
    Function.CELU: FunctionRule(celu, 1, if_positive),
    Function.COS: FunctionRule(called("cos")),
    Function.COSH: FunctionRule(called("cosh")),
    Function.ELU: FunctionRule(elu, 1, if_positive),
    Function.ERF: FunctionRule(called("erf"), monotone=always),
    Function.EXP: FunctionRule(called("exp"), monotone=always),
    Function.FLOOR: FunctionRule(called("floor"), monotone=always),
    Function.GELU: FunctionRule(gelu),
    Function.GELU_TANH: FunctionRule(gelu_tanh),
    Function.HARD_SIGMOID: FunctionRule(hard_sigmoid, 2, lambda p: p[0] > 0),
    Function.HARD_SWISH: FunctionRule(hard_swish),
    Function.LEAKY_RELU: FunctionRule(leaky_relu, 1, if_positive),
    Function.LOG: FunctionRule(called("log")),
    Function.MISH: FunctionRule(mish),
    Function.NEG: FunctionRule(neg),
    Function.PRELU: FunctionRule(leaky_relu, 1, if_positive),
    Function.RECIPROCAL: FunctionRule(reciprocal),
    Function.ROUND: FunctionRule(called("round"), monotone=always),
    Function.SCALED_TANH: FunctionRule(scaled_tanh, 2, if_positive),
    Function.SELU: FunctionRule(selu, 2, if_positive),
    Function.SHRINK: FunctionRule(shrink, 2),
    Function.SIGMOID: FunctionRule(sigmoid, monotone=always),
    Function.SIGN: FunctionRule(sign, monotone=always),
    Function.SILU: FunctionRule(silu),
    Function.SIN: FunctionRule(called("sin")),
    Function.SINH: FunctionRule(called("sinh"), monotone=always),
    Function.SOFTPLUS: FunctionRule(softplus, monotone=always),
    Function.SOFTSIGN: FunctionRule(softsign),
    Function.SQRT: FunctionRule(called("sqrt")),
    Function.SWISH: FunctionRule(swish, 1),
    Function.TAN: FunctionRule(called("tan")),
    Function.TANH: FunctionRule(called("tanh"), monotone=always),
    Function.THRESHOLDED_RELU: FunctionRule(thresholded_relu, 1),
}
"""All functions. Those of `prelu` are one for each channel, of which the formula gets its own."""
