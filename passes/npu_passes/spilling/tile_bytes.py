"""What an op asks for tile buffers: enough to work well, or the least with which it works at all.

With the least, a layer moves its maps element by element and its weights again and again; maps that
leave the chip should leave room for better.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_passes.tiling.staging import least_bytes

SHARE = 16
"""Part of a map off chip that is on chip at a time."""
MOST = 4
"""Part of the memory that the tiles of one operand take at most."""


def roomy_bytes(op: Operation, off_chip: AbstractSet[SSAValue], machine: Machine) -> int:
    """Two groups of kernels, other parameters as a whole, a share of each map."""
    parameters = list(op.parameter_inputs) if isinstance(op, LayerOp) else []
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
        total += min(size, machine.sram_bytes // MOST)
    return max(total, least_bytes(op, off_chip, machine))


__all__ = ["least_bytes", "roomy_bytes"]
