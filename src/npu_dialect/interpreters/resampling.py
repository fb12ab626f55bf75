"""The meaning of `npu.resample` in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npu_dialect.interpreters.values import Array
from npu_dialect.npu.layers import ResampleOp
from npu_dialect.resampling import taps_of


def resample(op: ResampleOp, inputs: Sequence[Array]) -> Array:
    """The weighted sums of the taps, axis by axis from the last to the first."""
    array, by_axis = inputs[0], op.by_axis
    missing = np.zeros(op.output_type.get_shape(), bool)
    for number in sorted(by_axis, reverse=True):
        taps = taps_of(by_axis[number], array.shape[number], op.filter)
        shape = [1] * array.ndim
        shape[number] = len(taps.first)
        first = np.maximum(taps.first, 0)
        total = array.take(first, axis=number) * taps.weights[:, 0].reshape(shape)
        for tap in range(1, taps.count):
            total += array.take(first + tap, axis=number) * taps.weights[:, tap].reshape(shape)
        array = total
        missing |= (taps.first < 0).reshape(shape)
    if op.fill is not None:
        array = np.where(missing, array.dtype.type(op.fill.value.data), array)
    return array
