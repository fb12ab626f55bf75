"""Reject layers whose destination overlaps an input: their loops would read what they have written.

    npu.max_pool2d ins(%x : ...) outs(%x : ...) ...     // rejected
    npu.relu ins(%x : ...) outs(%x : ...)               // element by element: in place
    npu.conv2d ins(%x, %w, %r : ...) outs(%r : ...) ... then add residual first     // so is this

The check finds overlaps of views of one buffer with static layouts. It cannot see whether two
arguments of a function overlap; that is the duty of the caller.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type
from npu_passes.analysis.views import base_of
from npu_passes.support.refuse import Refusal

WORK = 1000
"""Budget of the search for a common element (numpy's `max_work`); if it is spent, the views count
as disjoint."""


def reject_overlaps(layer: LayerOp) -> None:
    """Reject a layer whose destination certainly overlaps an input that it still needs.

    Raises: Refusal, attached to the layer, if there is such an input.
    """
    out = layer.destination
    if out is None:
        return
    in_place = layer.in_place_inputs()
    for index, value in enumerate(layer.inputs):
        if overlap(value, out) and not (index in in_place and same_elements(value, out)):
            layer.emit_error(
                "overwrites its input",
                Refusal(f"expected {layer.name} to write a buffer that overlaps none it reads"),
            )


def overlap(one: SSAValue, two: SSAValue) -> bool:
    """Whether two buffers certainly share an element."""
    if one is two:
        return 0 not in map_type(one).get_shape()
    if base_of(one) is not base_of(two):
        return False
    first, second = elements(one), elements(two)
    if first is None or second is None:
        return False
    try:
        return np.shares_memory(first, second, max_work=cast(Any, WORK))
    except np.exceptions.TooHardError:
        return False


def same_elements(one: SSAValue, two: SSAValue) -> bool:
    """Whether two overlapping buffers have the same shape and the same element at each index."""
    if one is two:
        return True
    first, second = elements(one), elements(two)
    return (
        first is not None
        and second is not None
        and first.__array_interface__ == second.__array_interface__
    )


BASE = np.empty(1, np.uint8)
"""The common start of all compared arrays; nothing is read from it."""


def elements(value: SSAValue) -> NDArray[np.uint8] | None:
    """A byte array with a buffer's shape, offset and strides; None if they are not static."""
    type_ = map_type(value)
    if not isinstance(type_, MemRefType):
        return None
    strides, offset = type_.get_strides(), type_.get_offset()
    if strides is None or offset is None or offset < 0 or None in strides:
        return None
    steps = [step for step in strides if step is not None]
    try:
        whole = as_strided(BASE, (offset + 1,), (1,))
        return as_strided(whole[offset:], type_.get_shape(), steps, writeable=False)
    except ValueError:  # more elements than an array can have
        return None
