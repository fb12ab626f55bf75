"""The meaning of reductions in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from npu_dialect.interpreters.values import Array, dtype_of
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.enums import ReduceKind
from npu_dialect.npu.layers.reduce import INDICES, ReduceOp

Axes: TypeAlias = tuple[int, ...]


def total(array: Array, axes: Axes) -> Array:
    """The sum in the type of the elements, which wraps around."""
    return array.sum(axis=axes, keepdims=True, dtype=array.dtype)


def mean(array: Array, axes: Axes) -> Array:
    """The mean; of integers it is rounded towards zero."""
    sums, count = total(array, axes), prod(array.shape[axis] for axis in axes)
    if array.dtype.kind == "f":
        return sums / array.dtype.type(count)
    wide = sums.astype(np.int64)
    return np.sign(wide) * (np.abs(wide) // count)


def log_sum_exp(array: Array, axes: Axes) -> Array:
    """log(sum(e^x)), where the greatest element is subtracted first if it is finite."""
    best: Array = array.max(axis=axes, keepdims=True)
    pivot: Array = np.where(np.isinf(best), np.zeros_like(best), best)
    return np.log(total(np.exp(array - pivot), axes)) + pivot


FUNCTIONS: Mapping[ReduceKind, Callable[[Array, Axes], Array]] = {
    ReduceKind.MEAN: mean,
    ReduceKind.SUM: total,
    ReduceKind.MAX: lambda array, axes: array.max(axis=axes, keepdims=True),
    ReduceKind.MIN: lambda array, axes: array.min(axis=axes, keepdims=True),
    ReduceKind.PROD: lambda array, axes: array.prod(axis=axes, keepdims=True, dtype=array.dtype),
    ReduceKind.L1: lambda array, axes: total(np.abs(array), axes),
    ReduceKind.L2: lambda array, axes: np.sqrt(total(array * array, axes)),
    ReduceKind.LOG_SUM: lambda array, axes: np.log(total(array, axes)),
    ReduceKind.LOG_SUM_EXP: log_sum_exp,
    ReduceKind.SUM_SQUARE: lambda array, axes: total(array * array, axes),
}
"""What each kind computes along some axes, which stay with extent 1."""


def indices(array: Array, axis: int, kind: ReduceKind, *, last: bool) -> Array:
    """The index of the best element along an axis: the first of equal ones, or the last."""
    moved = np.moveaxis(array, axis, 0)
    better = np.less if kind == ReduceKind.ARGMIN else np.greater
    best: Array = moved[0]
    found: Array = np.zeros(moved.shape[1:], np.int32)
    for index, values in enumerate(moved[1:], 1):
        here: Array = better(values, best) | (last & (values == best))
        best, found = np.where(here, values, best), np.where(here, np.int32(index), found)
    return np.expand_dims(found, axis)


def reduction(op: ReduceOp, inputs: Sequence[Array]) -> Array:
    """`npu.reduce`."""
    (array,), axes, kind = inputs, int_values(op.axes), op.kind.data
    if kind in INDICES:
        return indices(array, axes[0], kind, last=op.last is not None)
    made = FUNCTIONS[kind](array, axes)
    return made.astype(dtype_of(op.output_type.get_element_type()))
