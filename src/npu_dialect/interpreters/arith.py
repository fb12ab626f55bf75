"""The meaning of the scalar ops of arith and math: each is a Python function of its operands.

f32 values are `np.float32`, so every operation rounds as in the generated code. Integers are Python
integers that wrap around at the width of their type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    UnrealizedConversionCastOp,
)
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.fixed_point import WORD_BITS
from npu_dialect.interpreters.expressions import WITH_EXPRESSIONS, expression_of, function_of
from npu_dialect.interpreters.fused import scalar_fma
from npu_dialect.interpreters.pointwise import CALLS
from npu_dialect.interpreters.values import bits_of, dense_array, scalar_of, wrapped
from npu_dialect.npu.functions import MATH_OPS, Call

Meaning: TypeAlias = Callable[..., Any]
"""A function from the operands of an op to its only result."""


def divided(lhs: int, rhs: int) -> int:
    """The quotient, rounded towards zero.

    Raises: InterpretationError for a division by zero.
    """
    quotient = floor_divided(abs(lhs), abs(rhs))
    return quotient if (lhs < 0) == (rhs < 0) else -quotient


def floor_divided(lhs: int, rhs: int) -> int:
    """The quotient, rounded down.

    Raises: InterpretationError for a division by zero.
    """
    if rhs == 0:
        raise InterpretationError("division by zero")
    return lhs // rhs


SIGNED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.DivSIOp: divided,
    arith.FloorDivSIOp: floor_divided,
    arith.CeilDivSIOp: lambda lhs, rhs: -floor_divided(-lhs, rhs),
    arith.RemSIOp: lambda lhs, rhs: lhs - divided(lhs, rhs) * rhs,
}
"""Integer ops without an expression that read their operands as signed."""

UNSIGNED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.DivUIOp: floor_divided,
    arith.CeilDivUIOp: lambda lhs, rhs: -floor_divided(-lhs, rhs),
    arith.RemUIOp: lambda lhs, rhs: lhs - floor_divided(lhs, rhs) * rhs,
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.ShRUIOp: int.__rshift__,
}
"""Integer ops that read their operands as unsigned."""


def rounded_call(name: Call) -> Meaning:
    """A function of one number, computed with doubles and rounded once."""

    def compute(value: np.floating[Any]) -> Any:
        return type(value)(CALLS[name](np.float64(value)))

    return compute


FLOATING: dict[type[Operation], Meaning] = {
    arith.DivfOp: np.divide,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
    llvm.FRemOp: np.fmod,
    math.PowFOp: np.power,
    **{op: rounded_call(name) for name, op in MATH_OPS.items()},
}
"""Ops that numpy computes on scalars, in the type of their operands."""

FLOAT_PREDICATES: tuple[Callable[[Any, Any], bool], ...] = (
    operator.eq,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    operator.ne,
)
"""The predicates of `arith.cmpf` for operands that are not NaN: numbers 1 to 6 (`oeq` to `one`),
and 8 to 13 (`ueq` to `une`)."""


def meaning_of(op: Operation) -> Meaning | None:
    """The function of a scalar op; None if it has none."""
    type_ = op.results[0].type if op.results else None
    if type_ is None:
        return None
    if (expression := expression_of(op)) is not None:
        return function_of(expression, len(op.operands))
    if (floating := FLOATING.get(type(op))) is not None:
        return floating
    if (signed := SIGNED.get(type(op))) is not None:
        return signed if isinstance(type_, IndexType) else wrapping(type_, signed)
    if (unsigned := UNSIGNED.get(type(op))) is not None:
        return wrapping(type_, masked(type_, unsigned))
    if (special := SPECIAL.get(type(op))) is not None:
        return special(op, type_)
    return None


def wrapping(type_: Attribute, function: Callable[[int, int], int]) -> Meaning:
    """The same function, with a result that wraps around at the width of a type."""

    def wrapped_result(lhs: int, rhs: int) -> int:
        return wrapped(type_, function(lhs, rhs))

    return wrapped_result


def masked(type_: Attribute, function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """The same function, with operands of an integer type that are read as unsigned."""
    mask = (1 << bits_of(type_)) - 1

    def of_unsigned(lhs: int, rhs: int) -> int:
        return function(lhs & mask, rhs & mask)

    return of_unsigned


def constant(op: Operation, type_: Attribute) -> Meaning:
    """The scalar of a constant op, or the elements of its dense attribute as an array.

    Raises: InterpretationError if it has another attribute.
    """
    assert isinstance(op, arith.ConstantOp)
    match op.value:
        case DenseIntOrFPElementsAttr() as dense:
            value = dense_array(dense)
        case IntegerAttr() | FloatAttr() as scalar:
            value = scalar_of(type_, scalar.value.data)
        case other:
            raise InterpretationError(f"expected a number or dense elements, got {other}")
    return lambda: value


def float_comparison(op: Operation, _: Attribute) -> Meaning:
    """`arith.cmpf` with the predicate of the op."""
    assert isinstance(op, arith.CmpfOp)
    number = op.predicate.value.data

    def compare(lhs: Any, rhs: Any) -> bool:
        if bool(lhs != lhs) or bool(rhs != rhs):
            return number >= 8
        return number in (7, 15) or (
            number % 7 != 0 and bool(FLOAT_PREDICATES[number % 7 - 1](lhs, rhs))
        )

    return compare


def conversion(_: Operation, type_: Attribute) -> Meaning:
    """A cast: the same number in another type."""

    def convert(value: float) -> Any:
        return scalar_of(type_, value)

    return convert


def unsigned_conversion(op: Operation, type_: Attribute) -> Meaning:
    """A cast of an integer that is read as unsigned."""
    mask = (1 << bits_of(op.operands[0].type)) - 1

    def convert(value: int) -> Any:
        return scalar_of(type_, value & mask)

    return convert


def same_bits(op: Operation, type_: Attribute) -> Meaning:
    """`arith.bitcast` of 32 bits: an integer as a float, or the reverse.

    Raises: InterpretationError for another width.
    """
    to_integer = isa(type_, IntegerType)
    integer = type_ if to_integer else op.operands[0].type
    if (bits := bits_of(integer)) != WORD_BITS:
        raise InterpretationError(f"expected a bitcast of {WORD_BITS} bits, got {bits}")

    def convert(value: float) -> Any:
        if to_integer:
            return int(np.float32(value).view(np.int32))
        return np.int32(value).view(np.float32)

    return convert


def fused_multiply_add(_: Operation, type_: Attribute) -> Meaning:
    """a * b + c of f32, rounded once."""

    def compute(a: float, b: float, c: float) -> Any:
        return scalar_of(type_, scalar_fma(float(a), float(b), float(c)))

    return compute


def reinterpretation(_: Operation, type_: Attribute) -> Meaning:
    """A cast between signed and unsigned integers: the same bits, read in the new type."""
    unsigned = isa(type_, IntegerType) and type_.signedness.data == Signedness.UNSIGNED
    mask = (1 << bits_of(type_)) - 1

    def convert(value: int) -> Any:
        return value & mask if unsigned else wrapped(type_, value)

    return convert


SPECIAL: dict[type[Operation], Callable[[Operation, Attribute], Meaning]] = {
    arith.ConstantOp: constant,
    arith.CmpfOp: float_comparison,
    arith.IndexCastOp: conversion,
    arith.SIToFPOp: conversion,
    arith.UIToFPOp: unsigned_conversion,
    arith.FPToSIOp: conversion,
    arith.ExtFOp: conversion,
    arith.TruncFOp: conversion,
    arith.BitcastOp: same_bits,
    arith.ExtSIOp: conversion,
    arith.ExtUIOp: unsigned_conversion,
    arith.TruncIOp: conversion,
    math.FmaOp: fused_multiply_add,
    UnrealizedConversionCastOp: reinterpretation,
}
"""Ops whose function depends on their attributes or types.

`UnrealizedConversionCastOp` casts between the bytes of maps, i8 and ui8."""


def run_scalar(
    _: Any, _interpreter: Interpreter, op: Operation, args: PythonValues
) -> PythonValues:
    """The interpreter's function for all ops of the tables in this file."""
    meaning = meaning_of(op)
    assert meaning is not None
    return (meaning(*args),)


@cache  # a class, which each run would make again
def scalar_functions() -> InterpreterFunctions:
    """The dialects arith and math, and the words of dsp, for xDSL's interpreter."""
    members = {
        type_.__name__: impl(type_)(run_scalar)
        for table in (WITH_EXPRESSIONS, SIGNED, UNSIGNED, FLOATING, SPECIAL)
        for type_ in table
    }
    return register_impls(type("ScalarFunctions", (InterpreterFunctions,), members))()
