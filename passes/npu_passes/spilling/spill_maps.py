"""`npu-spill-maps`: move maps that do not fit on chip to off-chip memory (on buffers).

Level of IR: layers in destination style, all maps in `sram.alloc`s, before `npu-tile-loops`. The
decision is which maps do not stay on chip:

    %a = sram.alloc : memref<1x64x56x56xf32, #npu.sram>
    npu.conv2d ins(%x, %w : ...) outs(%a : memref<1x64x56x56xf32, #npu.sram>) ...
becomes
    %a = dram.alloc : memref<1x64x56x56xf32, #npu.dram>
    npu.conv2d ins(%x, %w : ...) outs(%a : memref<1x64x56x56xf32, #npu.dram>) ...

in a function with `attributes {npu.spilled_bytes = 1605632 : i64}`: the bytes that layers move to
and from spilled maps in one inference. The choice is the one with the fewest bytes, less what later
passes save (`traffic.py`), among those with which, at every op, the live maps on chip and the op's
tile buffers fit (`npu_plans/spills`). A concatenation in place is one buffer, which stays or leaves
as a whole. Off the chip maps have no gaps (`off_chip_types.py`). The copies of `npu-split-lives`
become stores, or go (`moves.py`).

With `by=plan` the plan of `npu-plan-modules` decides instead (paper 001): maps leave if their layer
does not forward them (`npu.forward = false`) or lies outside of modules. A buffer with several
writers leaves if one of them does not forward it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from npu_dialect import dram
from npu_dialect.attributes import LAYER, SPILLED, VALUE
from npu_dialect.machine import Machine
from npu_dialect.module_attributes import FORWARD
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_passes.analysis.on_chip import functions, on_chip_values
from npu_passes.analysis.views import uses_of
from npu_passes.placing.assign_sram_offsets import name_of
from npu_passes.spilling.moves import moves_of, settle
from npu_passes.spilling.off_chip_types import can_be_packed, off_chip, retype_views
from npu_passes.spilling.predicted import predicted_bytes
from npu_passes.spilling.reader import Needs, Reader, Reading
from npu_passes.spilling.tile_bytes import least_bytes, mixed, needs_of, roomy_bytes
from npu_passes.spilling.traffic import traffic, writes
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import DoesNotFit, Refusal, RefusingPass
from npu_plans.arena.problem import PlanError
from npu_plans.spills.decide import decide
from npu_plans.spills.problem import Misfit


@dataclass(frozen=True)
class SpillMapsPass(RefusingPass):
    """Move maps off chip so that the others fit. Without a machine with DMA it does nothing.

    `by`: `need` for the cheapest choice, or `plan` for the choice of `npu-plan-modules`. `maps`:
    values that leave the chip in any case, by their names in the model. `sram_bytes`: the on-chip
    memory to fit into; default: the machine's.
    """

    name = "npu-spill-maps"

    by: Literal["need", "plan"] = "need"
    """`need`: the choice that fits and moves the fewest bytes. `plan`: that of
    `npu-plan-modules`."""
    maps: tuple[str, ...] = ()
    """Values that leave the chip in any case, by their names in the model."""
    sram_bytes: int | None = None
    """The on-chip memory to fit into, in bytes. Default: the machine's."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide for every function, then rewrite."""
        machine = machine_of(op)
        if machine is None or not machine.dma_channels:
            return
        if self.sram_bytes is not None:
            if self.sram_bytes < 1:
                raise Refusal(f"expected sram-bytes of at least 1, got {self.sram_bytes}")
            machine = machine.with_sram(self.sram_bytes)
        found = [each for each in functions(op) if any(on_chip_values(each, SramSpace()))]
        unknown = dict.fromkeys(self.maps)
        plans: list[Spills] = []
        for function in found:
            plans.append(plan_spills(function, machine, self.by, self.maps))
            for name in plans[-1].names:
                unknown.pop(name, None)
        if unknown:
            raise Refusal(
                f"expected maps that layers write and that lie on chip, "
                f"got {', '.join(map(repr, unknown))}"
            )
        for plan in plans:
            rewrite(plan)


@dataclass(frozen=True)
class Spills:
    """The maps of a function that leave the chip.

    `bytes`: the bytes that layers move to and from them in one inference. `names`: the values of
    all maps that could leave, by their names in the model.
    """

    function: Operation
    allocs: tuple[AllocOp, ...]
    bytes: int
    names: tuple[str, ...]


def plan_spills(
    function: Operation, machine: Machine, by: Literal["need", "plan"], maps: Sequence[str]
) -> Spills:
    """Decide for one function.

    Of its moves, only those that store a map stay in it. None stays if that, as far as it can be
    predicted, does not save bytes behind the passes to come (`predicted.py`).

    Raises: PassFailedException if the memory is too small for some op, whichever maps leave; with
    `by=plan`, if it is too small when the planned maps have left.
    """
    roomy, smallest = needs_of(roomy_bytes, machine), needs_of(least_bytes, machine)
    planner = Planner(machine, by, maps, roomy, smallest)
    moves = moves_of(function)
    if not moves:
        return planner.plan(function)
    trial = Trial.of(function, planner, split=False)
    if by == "need":
        split = Trial.of(function, planner, split=True)
        if any(split.stores) and split.moved(machine) < trial.moved(machine):
            trial = split
    for copy in moves:
        settle(copy, trial.off)
    return trial.plan


def spilled_bytes(function: Operation, machine: Machine) -> int:
    """The bytes that layers move to and from the maps that would leave, if all moves stayed.

    Raises: PassFailedException if the memory is too small for some op, whichever maps leave.
    """
    needs = (needs_of(roomy_bytes, machine), needs_of(least_bytes, machine))
    return Planner(machine, "need", (), *needs).plan(function).bytes


@dataclass(frozen=True)
class Trial:
    """A decision for a function with moves, made on a copy of it.

    `copied`: the copy and its decision. `plan`: the same for the function. `off`: allocations that
    are off the chip when the moves are settled. `stores`: the moves that stay.
    """

    copied: Spills
    plan: Spills
    off: frozenset[Operation]
    stores: tuple[Operation, ...]

    @staticmethod
    def of(function: Operation, planner: Planner, *, split: bool) -> Trial:
        """The decision if moves may stay, or if none does.

        Raises: PassFailedException if the memory is too small for some op.
        """
        copy = function.clone()
        original = dict(zip(copy.walk(), function.walk(), strict=True))
        moves = moves_of(copy)
        off = frozenset(planner.plan(copy).allocs) if split else frozenset[AllocOp]()
        for each in moves:
            settle(each, off)
        left = frozenset(each for each in off if each.parent is not None)
        copied = planner.plan(copy, left)
        allocs = [original[each] for each in copied.allocs]
        plan = replace(copied, function=function, allocs=tuple(map(alloc_of, allocs)))
        stores = tuple(each for each in moves if each.parent is not None)
        return Trial(copied, plan, frozenset(original[each] for each in off), stores)

    def moved(self, machine: Machine) -> int:
        """The bytes that cross the border for maps; this rewrites the copy of the function."""
        rewrite(self.copied)
        return predicted_bytes(self.copied.function, machine)


def alloc_of(op: Operation) -> AllocOp:
    """An op that is known to be an allocation."""
    assert isinstance(op, AllocOp)
    return op


@dataclass(frozen=True)
class Planner:
    """Decides for functions without moves, or as if all moves stayed; see `plan_spills`."""

    machine: Machine
    by: Literal["need", "plan"]
    maps: Sequence[str]
    roomy: Needs
    smallest: Needs

    def plan(self, function: Operation, left: AbstractSet[AllocOp] = frozenset()) -> Spills:
        """The decision for one function. `left`: allocations that leave the chip in any case."""
        machine, reader = self.machine, Reader.of(function)
        is_free = self.by == "need" and not self.maps and not left
        if is_free and all_fit(reader, machine, (self.roomy, self.smallest)):
            return Spills(function, (), 0, ())
        reading = reader.read(self.roomy, machine.alignment)
        spilled = self.spilled(reader, reading, left)
        allocs = tuple(reading.alloc(index) for index in sorted(spilled))
        return Spills(
            function,
            allocs,
            sum(traffic(alloc.buffer) for alloc in allocs),
            tuple(
                name
                for index in sorted(reading.problem.movable)
                for name in values(reading.alloc(index))
            ),
        )

    def spilled(
        self, reader: Reader, reading: Reading, left: AbstractSet[AllocOp]
    ) -> AbstractSet[int]:
        """The buffers that leave the chip. `reading`: the problem with roomy tile buffers."""
        machine, forced = self.machine, self.forced(reading, left)
        spilled: AbstractSet[int] | None = forced
        if self.by == "need":
            spilled = choose(reading, machine, forced)
        if self.by == "need" and spilled:
            needs = mixed(self.roomy, self.smallest)
            tight = choose(reader.read(needs, machine.alignment), machine, forced)
            if tight is not None and reading.problem.cost(tight) < reading.problem.cost(spilled):
                spilled = tight
        if spilled is None or (
            self.by == "plan" and reading.problem.worst(forced)[0] > machine.planned_bytes
        ):
            least = reader.read(self.smallest, machine.alignment)
            spilled = checked(least, machine, forced, self.by)
        return spilled

    def forced(self, reading: Reading, left: AbstractSet[AllocOp]) -> set[int]:
        """The buffers that leave the chip in any case."""
        return {
            index
            for index in sorted(reading.problem.movable)
            if (alloc := reading.alloc(index)) in left
            or not set(self.maps).isdisjoint(values(alloc))
            or (self.by == "plan" and not is_forwarded(alloc))
        }


def all_fit(reader: Reader, machine: Machine, needs: Sequence[Needs]) -> bool:
    """Whether all maps fit on chip, with one of these tile buffers.

    Smaller tiles are cheaper than a map that leaves.
    """
    return any(fits(reader.read(each, machine.alignment, spills=False), machine) for each in needs)


def fits(reading: Reading, machine: Machine) -> bool:
    """Whether all maps fit on chip; False if pinned buffers collide, an error found elsewhere."""
    try:
        return reading.problem.fits(frozenset(), machine.planned_bytes)
    except PlanError:
        return False


def choose(reading: Reading, machine: Machine, forced: AbstractSet[int]) -> frozenset[int] | None:
    """The maps to spill that move the fewest bytes; None if some op fits in no way.

    Raises: PassFailedException if an offset in the IR is misaligned or two pinned buffers collide.
    """
    try:
        return decide(reading.problem, machine.planned_bytes, forced)
    except Misfit:
        return None
    except PlanError as error:
        raise Refusal(f"@{name_of(reading.function)}: {error}") from None


def checked(
    least: Reading, machine: Machine, forced: AbstractSet[int], by: Literal["need", "plan"]
) -> AbstractSet[int]:
    """The maps to spill if every op has the smallest tiles: `least` is the problem with those.

    Raises: PassFailedException if some op does not fit even then.
    """
    if by == "need":
        try:
            return decide(least.problem, machine.planned_bytes, forced)
        except Misfit as found:
            reject(least, machine, found.needed, found.point)
    needed, point = least.problem.worst(forced)
    if needed > machine.planned_bytes:
        reject(least, machine, needed, point)
    return forced


def reject(reading: Reading, machine: Machine, needed: int, point: int) -> NoReturn:
    """Raise the error that the op at `point` needs more memory than there is."""
    op = reading.lifetimes.ops[point]
    layer = LAYER.get(op)
    where = op.name if layer is None else f'{op.name} "{layer}"'
    raise DoesNotFit(
        f"@{name_of(reading.function)}: {where} needs {needed} bytes of SRAM at least, "
        f"{machine.name} has {machine.planned_bytes}",
        needed,
    )


def values(alloc: AllocOp) -> Iterator[str]:
    """The values that layers write into a buffer, by their names in the model."""
    for op in writers(alloc):
        if (name := VALUE.get(op)) is not None:
            yield name


def writers(alloc: AllocOp) -> Iterator[Operation]:
    """The ops that write into a buffer or views of it."""
    for use in uses_of(alloc.buffer):
        if writes(use):
            yield use.operation


def is_forwarded(alloc: AllocOp) -> bool:
    """Whether the plan of a module keeps a map on chip: all of its planned writers forward it.

    Writers without a plan do not count if another one has a plan: they merge, or work in place.
    """
    said = [flag for op in writers(alloc) if (flag := FORWARD.get(op)) is not None]
    return bool(said) and all(said)


def rewrite(plan: Spills) -> None:
    """Replace the allocations of the chosen maps by `dram.alloc`."""
    for alloc in plan.allocs:
        type_ = memref_type(alloc.buffer)
        packed = can_be_packed(alloc.buffer)
        new = dram.AllocOp(off_chip(type_, packed=packed))
        new.attributes.update(alloc.attributes)
        new.buffer.name_hint = alloc.buffer.name_hint
        Rewriter.replace_op(alloc, new)
        retype_views(new.buffer, packed=packed)
    if plan.allocs:
        SPILLED.set(plan.function, plan.bytes)
