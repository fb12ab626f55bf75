"""The meaning of layers of two or three maps, and of casts, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from npu_dialect.interpreters.values import Array, dtype_of
from npu_dialect.npu.enums import BinaryKind
from npu_dialect.npu.layers.pairwise import CastOp, PairwiseOp, WhereOp


def divisors(array: Array) -> Array:
    """The elements as divisors of integers, with 1 in place of 0."""
    return np.where(array == 0, array.dtype.type(1), array)


def quotient(a: Array, b: Array) -> Array:
    """a / b; of integers it is rounded towards zero, and 0 where b is 0."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    wide, by = a.astype(np.int64), divisors(b).astype(np.int64)
    made = np.abs(wide) // np.abs(by) * np.sign(wide) * np.sign(by)
    return np.where(b == 0, 0, made).astype(a.dtype)


def rest(a: Array, b: Array) -> Array:
    """The rest of a / b with the sign of a; of integers it is 0 where b is 0."""
    return np.fmod(a, b if a.dtype.kind == "f" else divisors(b))


def modulo(a: Array, b: Array) -> Array:
    """The rest of a / b with the sign of b; of integers it is 0 where b is 0."""
    return np.mod(a, b if a.dtype.kind == "f" else divisors(b))


FUNCTIONS: Mapping[BinaryKind, Callable[[Array, Array], Array]] = {
    BinaryKind.SUB: np.subtract,
    BinaryKind.MUL: np.multiply,
    BinaryKind.DIV: quotient,
    BinaryKind.MAX: np.maximum,
    BinaryKind.MIN: np.minimum,
    BinaryKind.POW: np.power,
    BinaryKind.MOD: modulo,
    BinaryKind.REM: rest,
    BinaryKind.EQUAL: np.equal,
    BinaryKind.NOT_EQUAL: np.not_equal,
    BinaryKind.LESS: np.less,
    BinaryKind.LESS_OR_EQUAL: np.less_equal,
    BinaryKind.GREATER: np.greater,
    BinaryKind.GREATER_OR_EQUAL: np.greater_equal,
    BinaryKind.AND: np.bitwise_and,
    BinaryKind.OR: np.bitwise_or,
    BinaryKind.XOR: np.bitwise_xor,
}
"""What each kind computes of two arrays."""


def pairwise(op: PairwiseOp, inputs: Sequence[Array]) -> Array:
    """`npu.binary`."""
    made = FUNCTIONS[op.kind.data](*inputs)
    return made.astype(dtype_of(op.output_type.get_element_type()))


def where(_: WhereOp, inputs: Sequence[Array]) -> Array:
    """`npu.where`."""
    condition, lhs, rhs = inputs
    return np.where(condition != 0, lhs, rhs)


def cast(op: CastOp, inputs: Sequence[Array]) -> Array:
    """`npu.cast`."""
    (array,), dtype = inputs, dtype_of(op.output_type.get_element_type())
    if array.dtype.kind != "f" or dtype.kind == "f":
        return array.astype(dtype)
    limits = np.iinfo(dtype)
    numbers = np.where(np.isnan(array), 0.0, array.astype(np.float64))
    return np.clip(np.trunc(numbers), limits.min, limits.max).astype(dtype)
