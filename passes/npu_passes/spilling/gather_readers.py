"""`npu-gather-readers`: let layers that read the same map off the chip run one behind the other.

Level of IR: layers in destination style on buffers, before they are cut into tiles.

    npu.conv2d ins(%x, %v, ...) outs(%y)          npu.conv2d ins(%x, %v, ...) outs(%y)
    npu.conv2d ins(%y, %u, ...) outs(%z)    =>    npu.conv2d ins(%x, %w, ...) outs(%a)
    npu.conv2d ins(%x, %w, ...) outs(%a)          npu.conv2d ins(%y, %u, ...) outs(%z)

`npu-tile-loops` then brings each tile of the map on chip once for all of them. A layer moves up to
the reader before it, if nothing between them writes what it reads, or uses what it writes. If its
result lies on chip, all buffers and tiles must still fit, as the result lives longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.target import machine_of
from npu_passes.analysis.accesses import accesses, is_known
from npu_passes.analysis.on_chip import functions, in_space
from npu_passes.spilling.reader import Needs, Reader
from npu_passes.spilling.tile_bytes import least_bytes, mixed, needs_of, roomy_bytes
from npu_passes.support.refuse import RefusingPass
from npu_passes.tiling.fused_producers import behind
from npu_passes.tiling.shared_tiles import (
    are_apart,
    are_independent,
    buffers_of,
    is_harmless,
    is_next,
    is_worth,
)
from npu_passes.tiling.stage import off_chip_operands
from npu_plans.spills.room import room


@dataclass(frozen=True)
class GatherReadersPass(RefusingPass):
    """Let layers that read the same map off the chip run one behind the other; see the module.

    Without a machine with DMA it does nothing.
    """

    name = "npu-gather-readers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move the layers of every function."""
        machine = machine_of(op)
        if machine is None or not machine.dma_channels:
            return
        needs = mixed(needs_of(roomy_bytes, machine), needs_of(least_bytes, machine))
        for function in functions(op):
            Gatherer(function, machine, needs).gather()


@dataclass
class Gatherer:
    """Moves the layers of one function.

    `needs`: the tile bytes with which an op runs well. `reader`: the buffers on chip, if they are
    known of the order of the layers.
    """

    function: Operation
    machine: Machine
    needs: Needs
    reader: Reader | None = None

    def gather(self) -> None:
        """Move all layers that should, those first that come first."""
        last: dict[SSAValue, Operation] = {}
        for op in list(self.function.walk()):
            if not is_reader(op):
                continue
            first = last.get(op.operands[0])
            if first is not None and first.parent is op.parent and not is_next(first, op):
                self.move_up(op, first)
            last[op.operands[0]] = op

    def move_up(self, op: Operation, first: Operation) -> None:
        """Move an op behind another one, with what it needs, if it may and all buffers fit."""
        moved = needed(op, first)
        *between, _ = behind(first, op)
        passed = [each for each in between if each not in moved]
        most = self.machine.planned_bytes
        if not may_pass(op, moved, passed) or not are_independent(first, op):
            return
        if not is_worth((first, op), self.machine, most):
            return
        on_chip, known = in_space(op.operands[-1], SramSpace()), self.reader
        self.put(moved, first)
        if not is_worth((first, op), self.machine, self.free(op)) or (on_chip and not self.fits()):
            self.put([*between, op], first)
            self.reader = known

    def put(self, ops: Sequence[Operation], place: Operation) -> None:
        """Put some ops behind another one of their block."""
        for op in ops:
            op.detach()
        assert place.parent is not None
        place.parent.insert_ops_after(list(ops), place)
        self.reader = None

    def free(self, op: Operation) -> int:
        """How many bytes the buffers that live at an op leave free."""
        lived = self.read().lifetimes
        point = lived.ops.index(op)
        memory = (self.machine.planned_bytes, self.machine.alignment)
        return room(lived.occupancy(), {point: 0}, *memory)[point]

    def fits(self) -> bool:
        """Whether all buffers on chip fit, with tiles that let each layer run well."""
        problem = self.read().read(self.needs, self.machine.alignment, spills=False).problem
        return problem.fits(frozenset(), self.machine.planned_bytes)

    def read(self) -> Reader:
        """The buffers of the function on chip."""
        if self.reader is None:
            self.reader = Reader.of(self.function)
        return self.reader


def is_reader(op: Operation) -> bool:
    """Whether an op computes in tiles, and reads a map off the chip first."""
    return is_computed_on_buffers(op) and op.operands[0] in off_chip_operands(op)


def needed(op: Operation, first: Operation) -> list[Operation]:
    """An op, and in front of it the ops behind `first` that its operands come from."""
    found: dict[Operation, None] = {op: None}
    for each in reversed(list(behind(first, op))[:-1]):
        if any(result in user.operands for user in found for result in each.results):
            found[each] = None
    return list(reversed(found))


def may_pass(op: Operation, moved: Sequence[Operation], passed: Sequence[Operation]) -> bool:
    """Whether an op may run before others: none writes what it reads, or uses what it writes.

    The ops that move with it may only make buffers and views.
    """
    if not all(each is op or is_harmless(each) for each in moved):
        return False
    out = op.operands[-1]
    for each in passed:
        if not is_known(each):
            return False
        for access in accesses(each):
            if not are_apart(access.value, out):
                return False
            if access.writes and not all(
                are_apart(access.value, value) for value in buffers_of(op)
            ):
                return False
    return True
