"""The bytes of tile buffers of an op: `roomy_bytes` to run well, `least_bytes` to run at all.

With `least_bytes`, a layer moves its maps element by element and loads its weights many times. So
`npu-spill-maps` first tries to leave `roomy_bytes` for each op.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue

from npu_dialect.computing import parameters_of
from npu_dialect.machine import Machine
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_passes.spilling.reader import Needs
from npu_passes.tiling.alike import Remembered, shape_of_layer
from npu_passes.tiling.staging import least_bytes
from npu_plans.spills.problem import MOST, SHARE


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


def needs_of(
    size: Callable[[Operation, AbstractSet[SSAValue], Machine], int], machine: Machine
) -> Needs:
    """The tile bytes of an op on a machine, as `Reader.read` wants them; found once a shape."""
    found = Remembered[int]()
    return lambda op, off_chip: found.of(
        shape_of_layer(op, off_chip), lambda: size(op, off_chip, machine)
    )


def mixed(roomy: Needs, smallest: Needs) -> Needs:
    """The smallest tile bytes of ops whose maps are all on chip, and roomy ones for all others.

    The former fetch each parameter once, with any tiles. So fewer maps may have to leave.
    """

    def needs(op: Operation, off_chip: AbstractSet[SSAValue]) -> int:
        maps = set(op.operands).difference(parameters_of(op))
        return (smallest if off_chip.isdisjoint(maps) else roomy)(op, off_chip)

    return needs


__all__ = ["least_bytes", "mixed", "needs_of", "roomy_bytes"]
