"""Constants that hold one number for each channel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npu_tools.importers.onnx.tensors import Array


def channel_vector(array: Array, shape: Sequence[int]) -> Array | None:
    """The numbers [C] that `array`, broadcast to a map [N, C, ...], has for each channel.

    None if they are not the same over all other axes of the map.
    """
    if len(shape) < 2 or array.ndim > len(shape):
        return None
    extents = (1,) * (len(shape) - array.ndim) + array.shape
    wrong = [extent for axis, extent in enumerate(extents) if axis != 1 and extent != 1]
    if wrong or extents[1] not in (1, shape[1]):
        return None
    return np.ascontiguousarray(np.broadcast_to(array.reshape(-1), (shape[1],)))
