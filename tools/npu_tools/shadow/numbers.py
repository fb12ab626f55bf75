"""Integers of the IR as numpy arrays with one axis for each loop around them.

    scf.for %y = ... {            // %y has shape [Y]
      scf.for %x = ... {          // %x has shape [1, X]
        %i = arith.muli %y, %c8   // [Y]: axes behind the last one that matters are left out
        %j = arith.addi %i, %x    // [Y, X]

A number without loops is a Python integer. A number that depends on data is `None`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.interpreters.values import dtype_of

Numbers: TypeAlias = NDArray[Any]
Number: TypeAlias = "int | Numbers"
Read: TypeAlias = Callable[[SSAValue], "Number | None"]
"""A function that gives the number of a value."""


LARGEST = 1 << 22
"""The most numbers in an array."""


class Large(Exception):
    """A nest has too many iterations to look at all of them together."""


def is_number(type_: Attribute) -> bool:
    """Whether values of a type are integers."""
    return isinstance(type_, IndexType | IntegerType)


def aligned(*numbers: Number) -> tuple[Any, ...]:
    """Numbers with as many axes as the largest has; those that are missing are the innermost."""
    rank = max(each.ndim if isinstance(each, np.ndarray) else 0 for each in numbers)
    return tuple(
        each.reshape(each.shape + (1,) * (rank - each.ndim))
        if isinstance(each, np.ndarray)
        else each
        for each in numbers
    )


def added(one: Number, two: Number) -> Number:
    """The sum of two numbers."""
    if isinstance(one, int) and isinstance(two, int):
        return one + two
    first, second = aligned(one, two)
    return first + second


def truncated(one: Any, two: Any) -> Any:
    """The quotient, rounded towards zero."""
    signs = np.sign(one) * np.sign(two)
    return signs * (abs(one) // abs(two))


def unsigned(number: Any) -> Any:
    """A number of 64 bits, read without sign."""
    return np.asarray(number, np.int64).view(np.uint64)


BINARY: dict[type[Operation], Callable[[Any, Any], Any]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivSIOp: truncated,
    arith.DivUIOp: truncated,
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.CeilDivUIOp: lambda a, b: -(-a // b),
    arith.RemSIOp: lambda a, b: a - b * truncated(a, b),
    arith.RemUIOp: lambda a, b: a - b * truncated(a, b),
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.MaxUIOp: np.maximum,
    arith.MinUIOp: np.minimum,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.ShLIOp: lambda a, b: a << b,
    arith.ShRSIOp: lambda a, b: a >> b,
}
"""Integer operators; addresses and bounds are small, so nothing wraps around."""

COMPARED: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    lambda a, b: unsigned(a) < unsigned(b),
    lambda a, b: unsigned(a) <= unsigned(b),
    lambda a, b: unsigned(a) > unsigned(b),
    lambda a, b: unsigned(a) >= unsigned(b),
)
"""The predicates of `arith.cmpi`, in their order."""

SAME_NUMBER = (
    arith.IndexCastOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    UnrealizedConversionCastOp,
)
"""Casts that keep numbers that fit into both types."""


def evaluated(op: Operation, number: Read) -> Number | None:
    """The result of an integer operator; None if it depends on data or on an op unknown here.

    Raises: Large if there are too many numbers.
    """
    if isinstance(op, arith.ConstantOp):
        return op.value.value.data if isinstance(op.value, IntegerAttr) else None
    if not isinstance(op, (*BINARY, *SAME_NUMBER, arith.CmpiOp, arith.SelectOp)):
        return None
    operands: list[Number] = []
    for value in op.operands:
        found = number(value) if is_number(value.type) else None
        if found is None:
            return None
        operands.append(found)
    numbers = aligned(*operands)
    if prod(np.broadcast_shapes(*(np.shape(each) for each in numbers))) > LARGEST:
        raise Large
    try:
        return simplified(applied(op, numbers))
    except (ArithmeticError, ValueError):  # such as a division by zero
        return None


def applied(op: Operation, operands: Sequence[Any]) -> Any:
    """The result of an operator on aligned numbers."""
    if isinstance(op, arith.CmpiOp):
        return COMPARED[op.predicate.value.data](*operands)
    if isinstance(op, arith.SelectOp):
        where: Any = np.where
        return where(*operands)
    if isinstance(op, SAME_NUMBER):
        return operands[0]
    return BINARY[type(op)](*operands)


def simplified(number: Any) -> Number:
    """An array, or a Python integer if there are no axes."""
    array: Numbers = np.asarray(number)
    return array if array.ndim else int(array)


def gathered(data: Numbers, places: Number) -> Number | None:
    """Elements of a constant; None if one lies outside of it or they are no integers."""
    if data.dtype.kind not in "iub" or np.min(places) < 0 or np.max(places) >= data.size:
        return None
    return simplified(data[places].astype(np.int64))


def constant_data(value: Attribute | None) -> Numbers | None:
    """The elements of a constant global of integers in a row; None for others."""
    if not isa(value, DenseIntOrFPElementsAttr):
        return None
    dtype = dtype_of(value.get_element_type())
    if dtype.kind not in "iu":
        return None
    return np.frombuffer(value.data.data, dtype.newbyteorder("<"))
