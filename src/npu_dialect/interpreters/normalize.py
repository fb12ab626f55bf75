"""Normalisation by mean and variance, in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npu_dialect.interpreters.values import Array
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layers.normalize import NormalizeOp


def normalize(op: NormalizeOp, inputs: Sequence[Array]) -> Array:
    """`npu.normalize`.

    The mean is that of the differences to one element, plus this element. So a large offset of the
    whole map does not make it less exact.
    """
    array, axes = inputs[0], int_values(op.axes)
    kind = array.dtype.type
    if op.rms is None:
        first = array[tuple(slice(0, 1) if a in axes else slice(None) for a in range(array.ndim))]
        array = array - (first + (array - first).mean(axis=axes, keepdims=True, dtype=kind))
    variance = (array * array).mean(axis=axes, keepdims=True, dtype=kind)
    result = array * (kind(1) / np.sqrt(variance + kind(op.epsilon.value.data)))
    for factor in inputs[1:2]:
        result = result * factor
    for shift in inputs[2:3]:
        result = result + shift
    return result
