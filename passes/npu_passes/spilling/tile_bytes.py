"""The bytes of tile buffers of an op: `roomy_bytes` to run well, `least_bytes` to run at all.

With `least_bytes`, a layer moves its maps element by element and loads its weights many times. So
`npu-spill-maps` first tries to leave `roomy_bytes` for each op.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue

from npu_dialect.computing import parameters_of
from npu_dialect.machine import Machine
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_passes.tiling.staging import least_bytes

SHARE = 16
"""Tile buffers for a 16th of each off-chip map are counted."""
MOST = 4
"""The tiles of one operand take at most a 4th of the on-chip memory."""


def roomy_bytes(op: Operation, off_chip: AbstractSet[SSAValue], machine: Machine) -> int:
    """The bytes of tile buffers with which an op runs well if these operands lie off chip.

    They are for a group of kernels in each weight buffer, other parameters as a whole, and a share
    of each map.
    """
    parameters = parameters_of(op)
    total = 0
    for value in dict.fromkeys(op.operands):
        if value not in off_chip:
            continue
        size = bytes_of(map_type(value))
        if value not in parameters:
            size = -(-size // SHARE)
        elif len(shape := shape_of(value)) > 1:
            group = machine.weight_buffers * max(1, machine.kernel_group)
            size = size // shape[0] * min(shape[0], group)
        total += min(size, machine.planned_bytes // MOST)
    return max(total, least_bytes(op, off_chip, machine))


__all__ = ["least_bytes", "roomy_bytes"]
