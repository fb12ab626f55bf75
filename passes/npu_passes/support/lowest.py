"""Which constants are the maximum of nothing: the lowest number of a type."""

from __future__ import annotations

from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa


def is_lowest(value: SSAValue) -> bool:
    """Whether a value is a constant that no number of its type is below, as -inf or -2^31."""
    if not isinstance(value.owner, arith.ConstantOp):
        return False
    number = value.owner.value
    if isa(number, FloatAttr):
        return number.value.data == -inf
    if not isa(number, IntegerAttr[IntegerType]):
        return False
    return number.value.data == -(1 << (number.type.width.data - 1))
