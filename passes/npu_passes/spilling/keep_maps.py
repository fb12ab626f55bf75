"""`npu-keep-maps`: keep a copy of an off-chip map on chip between layers that use it.

Level of IR: layers on buffers, behind `npu-spill-maps` and before `npu-tile-loops`. A map that has
to leave the chip for some layers is off the chip for all of them, and a part of a concatenation
lies where the concatenation does. Each layer that reads it would load it anew, also where there is
room for it:

    %map = memref.subview %all[0, 0, 0, 0] ...          %kept = sram.alloc
    npu.conv2d ins(%x, ...) outs(%map)                  npu.conv2d ins(%x, ...) outs(%kept)
    npu.relu ins(%map) outs(%y)                   =>    memref.copy %kept, %map
    npu.max_pool2d ins(%map) outs(%z)                   npu.relu ins(%kept) outs(%y)
                                                        npu.max_pool2d ins(%kept) outs(%z)

The decision: between which of its uses a copy of each map stays, so that the fewest bytes cross the
border (`npu_plans/spills`). At every op the copies, the live maps on chip and the op's tile buffers
fit. If the first of these layers reads the map, it is copied in front of it. If it writes the map,
that is copied back, as the layer would have stored it; no other layer has to wait for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dram
from npu_dialect.attributes import SPILLED
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import DramSpace, SramSpace
from npu_dialect.npu.maps import bytes_of
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_passes.analysis.on_chip import functions, in_space
from npu_passes.analysis.views import root_of
from npu_passes.placing.assign_sram_offsets import name_of
from npu_passes.spilling.keep_parts import copied
from npu_passes.spilling.map_uses import MapUse, used_maps
from npu_passes.spilling.off_chip_types import packed_layout
from npu_passes.spilling.reader import Needs, Reader
from npu_passes.spilling.tile_bytes import least_bytes, mixed, needs_of, roomy_bytes
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_passes.tiling.staging import off_chip_operands
from npu_plans.arena.problem import PlanError, align
from npu_plans.spills.kept import Gap, kept_gaps
from npu_plans.spills.problem import SpillProblem


@dataclass(frozen=True)
class KeepMapsPass(RefusingPass):
    """Keep copies of off-chip maps on chip between layers; see the module.

    Without a machine with DMA it does nothing.
    """

    name = "npu-keep-maps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose for every function, then rewrite."""
        machine = machine_of(op)
        if machine is None or not machine.dma_channels:
            return
        for function in functions(op):
            runs = Keeper.of(function, machine).runs()
            for run in runs:
                keep(run)
            if (spilled := SPILLED.get(function)) is not None:
                saved = sum(run.saved for run in runs if run.is_spilled)
                SPILLED.set(function, spilled - saved)


@dataclass(frozen=True)
class Run:
    """Neighbouring uses of a map between which it stays on chip."""

    value: SSAValue
    uses: tuple[MapUse, ...]

    @property
    def saved(self) -> int:
        """The bytes that the uses do not load."""
        return bytes_of(memref_type(self.value)) * (len(self.uses) - 1)

    @property
    def is_spilled(self) -> bool:
        """Whether the map could lie on chip; an input or output of the function could not."""
        return isinstance(root_of(self.value).owner, dram.AllocOp)


Pair: TypeAlias = tuple[int, SSAValue, MapUse, MapUse]
"""The number of a map, the map, and two neighbouring uses of it."""


@dataclass(frozen=True)
class Keeper:
    """Chooses the runs of one function. `gaps` are those between the uses of `pairs`."""

    reader: Reader
    machine: Machine
    needs: Needs
    pairs: tuple[Pair, ...]
    gaps: tuple[Gap, ...] = ()

    @staticmethod
    def of(function: Operation, machine: Machine) -> Keeper:
        """The uses of all maps off the chip.

        Raises: PassFailedException if `lifetimes_of` does.
        """
        maps = used_maps(function.regions[0].blocks[0], is_off_chip)
        pairs = tuple(
            (part, each.value, first, second)
            for part, each in enumerate(maps)
            for first, second in each.pairs()
        )
        reader = Reader.of(function)
        roomy, least = needs_of(roomy_bytes, machine), needs_of(least_bytes, machine)
        keeper = Keeper(reader, machine, mixed(roomy, least), pairs)
        points = {op: point for point, op in enumerate(reader.lifetimes.ops)}
        return replace(keeper, gaps=tuple(keeper.gap(pair, points) for pair in pairs))

    def gap(self, pair: Pair, points: Mapping[Operation, int]) -> Gap:
        """The gap between two uses."""
        part, value, *uses = pair
        size = align(bytes_of(memref_type(value)), self.machine.alignment)
        first, last = (points[use.op] for use in uses)
        before, behind = map(self.relief, uses)
        return Gap(part, size, first, last, (before, behind))

    def runs(self) -> list[Run]:
        """The runs that save the most bytes.

        Raises: PassFailedException if an offset in the IR is misaligned or two pinned buffers
            collide.
        """
        if not self.gaps:
            return []
        try:
            kept = kept_gaps(self.gaps, self.problem, self.machine.planned_bytes)
        except PlanError as error:
            name = name_of(self.reader.lifetimes.function)
            raise Refusal(f"@{name}: {error}") from None
        found: list[Run] = []
        for gap, (_, value, first, second) in zip(self.gaps, self.pairs, strict=True):
            if gap not in kept:
                continue
            if found and found[-1].uses[-1] is first:
                found[-1] = replace(found[-1], uses=(*found[-1].uses, second))
            else:
                found.append(Run(value, (first, second)))
        return found

    def problem(self, kept: Sequence[Gap]) -> SpillProblem:
        """The buffers of the function, with the tile buffers that its ops need with some gaps."""
        on_chip: dict[Operation, set[SSAValue]] = {}
        for gap, (_, _, *uses) in zip(self.gaps, self.pairs, strict=True):
            for use in uses if gap in kept else ():
                on_chip.setdefault(use.op, set()).update(use.values)

        def needs(op: Operation, off_chip: AbstractSet[SSAValue]) -> int:
            return self.tiles(op, off_chip - on_chip.get(op, set()))

        return self.reader.read(needs, self.machine.alignment, spills=False).problem

    def tiles(self, op: Operation, off_chip: AbstractSet[SSAValue]) -> int:
        """The bytes of tile buffers of an op, if these operands lie off chip."""
        return self.needs(op, off_chip) if off_chip else 0

    def relief(self, use: MapUse) -> int:
        """The bytes of tile buffers that a layer needs less if a map that it uses is on chip."""
        off_chip = off_chip_operands(use.op)
        return self.tiles(use.op, off_chip) - self.tiles(use.op, off_chip.difference(use.values))


def is_off_chip(value: SSAValue) -> bool:
    """Whether a value is a map off the chip, or a part of one, and no constant."""
    return in_space(value, DramSpace()) and not isinstance(root_of(value).owner, memref.GetGlobalOp)


def keep(run: Run) -> None:
    """Let the layers of a run use a buffer on chip."""
    type_ = memref_type(run.value)
    strides = [step for step in type_.get_strides() or () if step is not None]
    layout = packed_layout(type_.get_shape(), strides)
    kept = AllocOp(MemRefType(type_.element_type, type_.get_shape(), layout, SramSpace()))
    kept.buffer.name_hint = run.value.name_hint
    first = run.uses[0]
    Rewriter.insert_op(kept, InsertPoint.before(first.op))
    for use in run.uses:
        use.op.operands = [kept.buffer if each in use.values else each for each in use.op.operands]
    if first.reads:
        load = copied(first.values[0], kept.buffer, first.op)
        Rewriter.insert_op(load, InsertPoint.before(first.op))
    else:
        store = copied(kept.buffer, first.values[0], first.op)
        Rewriter.insert_op(store, InsertPoint.after(first.op))
