"""Bytes of tile buffers that a layer needs at least for what it has off chip."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_dialect.target import Machine

SHARE = 16
"""Part of a map that is on chip at a time."""


def least_bytes(op: Operation, off_chip: AbstractSet[SSAValue], machine: Machine) -> int:
    """Two groups of kernels, the other parameters as a whole, and a share of each map."""
    parameters = list(op.parameter_inputs) if isinstance(op, LayerOp) else []
    total = 0
    for value in dict.fromkeys(op.operands):
        if value not in off_chip:
            continue
        size = bytes_of(map_type(value))
        if value not in parameters:
            total += -(-size // SHARE)
        elif value is parameters[0]:
            kernels = shape_of(value)[0]
            total += size // kernels * min(kernels, 2 * (machine.kernel_group or 1))
        else:
            total += size
    return total
