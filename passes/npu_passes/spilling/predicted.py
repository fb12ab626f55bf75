"""Predicts how many bytes cross the border for maps, behind a decision of `npu-spill-maps`.

The passes to come save some of the bytes for which the decision pays: they keep maps and parts on
chip between layers, and let layers that read the same map run one behind the other. So which of two
decisions is better shows only behind them. A prediction runs them on a copy of the function, and
adds up what each layer then moves by itself; layers that will run on the same tiles load their map
once.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.maps import bytes_of, map_type
from npu_dialect.walking import walk_kind
from npu_passes.analysis.on_chip import allocated
from npu_passes.spilling.gather_readers import Gatherer, is_reader
from npu_passes.spilling.keep_maps import Keeper, is_off_chip, keep
from npu_passes.spilling.keep_parts import has_room, users_of
from npu_passes.spilling.keep_parts import keep as keep_part
from npu_passes.spilling.tile_bytes import least_bytes, mixed, needs_of, roomy_bytes
from npu_passes.spilling.traffic import lasting_traffic
from npu_passes.tiling.shared_tiles import is_next, is_worth


def predicted_bytes(function: Operation, machine: Machine) -> int:
    """The bytes that cross the border for maps of a function whose maps have left; it is changed.

    Raises: PassFailedException if the passes that the prediction runs do.
    """
    for run in Keeper.of(function, machine).runs():
        keep(run)
    for view in list(walk_kind(function, memref.SubviewOp)):
        users = users_of(view)
        if len(users) > 1 and has_room(function, view, users, machine):
            keep_part(view, users)
    needs = mixed(needs_of(roomy_bytes, machine), needs_of(least_bytes, machine))
    Gatherer(function, machine, needs).gather()
    maps = filter(is_off_chip, (*function.regions[0].blocks[0].args, *allocated(function)))
    return sum(map(lasting_traffic, maps)) - sum(shared_bytes(function, machine))


def shared_bytes(function: Operation, machine: Machine) -> Iterator[int]:
    """The bytes of maps that a layer finds in the tiles of the layer in front of it."""
    last: dict[SSAValue, Operation] = {}
    for op in function.walk():
        if is_reader(op) and is_off_chip(op.operands[0]):
            first = last.get(op.operands[0])
            if first is not None and first.parent is op.parent and is_next(first, op):
                if is_worth((first, op), machine, machine.planned_bytes):
                    yield bytes_of(map_type(op.operands[0]))
            last[op.operands[0]] = op
