"""`npu-tile-slow-maps`: let the core copy tiles of maps in slow memory to fast memory (on buffers).

Level of IR: layers on buffers in chosen memories, without offsets, on a machine without a DMA
engine. It decides which layers run in tiles, which of their maps are copied, and how large the
tiles are.

    npu.conv2d ins(%x, %w, %b : memref<1x32x112x112xf32, #npu.memory<"psram">>, ...)
               outs(%y : ...) {npu.layer = "dw"}
->
    scf.for %rows = %c0 to %c5 step %c1 {
      %part = memref.subview %x[0, 0, %rows_at, 0] [1, 32, 18, 112] [1, 1, 1, 1] : ...
      %x_tile = sram.alloc : memref<1x32x18x112xf32, #npu.memory<"sram">>
      "memref.copy"(%part, %x_tile)
      npu.conv2d ins(%x_tile, %w, %b : ...) outs(%part_1 : ...)
          {npu.layer = "dw", npu.runs = 5 : i64, npu.tile = {...}}
    }

A convolution reads an element of its input for each product. In slow memory the core waits each
time; of a tile it waits once for each element that it copies. Tiles are taken where the layer then
needs fewer cycles by the model of time (`copied_maps.py`, `npu_plans/tiles/core_copies.py`). The
output is written where it lies, as each element is written once.

Tiles take the place that the arena of the fast memory has anyway while a layer runs. An arena grows
only if that saves one percent of all cycles, and never beside constants that have copies. If an
output may overwrite its input (`npu.overlays`), all tiles stand in one loop, which makes that claim
in place of the layer:

    scf.for %all = %c0 to %c1 step %c1 { ... } {npu.overlays = array<i64: 0, 1, 28672, -1>}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import OVERLAYS, TILE
from npu_dialect.kept_attributes import KEPT_IN
from npu_dialect.machine import Machine
from npu_dialect.memories import Memory
from npu_dialect.npu.attributes import MemorySpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis.lifetimes import lifetimes_of
from npu_passes.analysis.on_chip import functions
from npu_passes.analysis.row_claims import claims_of_rows
from npu_passes.placing.assign_sram_offsets import problem_of
from npu_passes.support.refuse import RefusingPass
from npu_plans.arena.greedy import quick
from npu_plans.arena.problem import PlanError, Problem, live_bound

if TYPE_CHECKING:  # machines with one memory, which most have, need none of it
    from npu_passes.tiling.copied_maps import CopiedMaps
    from npu_passes.tiling.stage import Staging
    from npu_plans.tiles.core_copies import Way
    from npu_plans.time.rates import Rates

GROWTH = Fraction(1, 100)
"""The share of all cycles that is to be saved if an arena grows for it."""


@dataclass(frozen=True)
class TileSlowMapsPass(RefusingPass):
    """Copy tiles of slow maps where that is faster; see the module.

    Nothing changes on a machine with one memory, with a DMA engine, or whose file does not say how
    long things take. A layer with a working memory, or that writes over what it reads, stays.
    """

    name = "npu-tile-slow-maps"

    sharing: bool = True
    """Whether buffers that do not live together may share bytes, as with the strategies `greedy`
    and `exact` of npu-assign-sram-offsets. If not, nothing is done."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose and build function by function."""
        machine = machine_of(op)
        if machine is None or len(machine.memories) < 2 or machine.dma_channels:
            return
        from npu_plans.time.rates import Rates, UnknownRate

        try:
            rates = Rates.of(machine)
        except UnknownRate:
            return
        for function in list(functions(op)) if self.sharing else ():
            if isinstance(function, FuncOp):
                tile_function(function, machine, rates)


@dataclass(frozen=True)
class Tiled:
    """A layer that shall run in tiles: its position among the ops of its function.

    `saved`: the cycles that the tiles save in one inference. `claims`: whether its output may
    overwrite an input. `grows`: whether the arena of the fast memory grows for its tiles.
    """

    place: int
    way: Way[Staging]
    saved: Fraction
    claims: bool
    grows: bool


def tile_function(function: FuncOp, machine: Machine, rates: Rates) -> None:
    """Choose the layers of a function that run in tiles, and build their loops.

    If no offsets are found with which all memories hold their arenas, fewer layers are tried.
    """
    from npu_passes.tiling.copied_maps import CopiedMaps

    layers = {
        place: CopiedMaps(op, machine, rates)
        for place, op in enumerate(function.walk())
        if isinstance(op, LayerOp)
    }
    slow = {place: layer for place, layer in layers.items() if layer.stage is not None}
    before = arenas(function, machine) if slow else None
    cycles = cycles_of(layers.values())
    if before is None or cycles is None:
        return
    fast, most = machine.memories[0], {each.name: each.bytes for each in machine.memories}
    if any(KEPT_IN.is_on(get) for get in walk_kind(function, memref.GetGlobalOp)):
        most = before
    least = GROWTH * cycles
    wanted = chosen(function, slow, machine, (before[fast.name], most[fast.name]))
    if saved_by(each for each in wanted if each.grows) < least:
        wanted = [each for each in wanted if not each.grows]
    found = fitting(function, wanted, machine, {**before, fast.name: most[fast.name]})
    if saved_by(wanted) - saved_by(found) >= least:
        more = fitting(function, wanted, machine, most)
        found = more if saved_by(more) - saved_by(found) >= least else found
    build(function, found, MemorySpace.of(fast.name))


def saved_by(layers: Iterable[Tiled]) -> Fraction:
    """The cycles that tiles save."""
    return sum((each.saved for each in layers), Fraction())


def fitting(
    function: FuncOp, wanted: list[Tiled], machine: Machine, limits: Mapping[str, int]
) -> list[Tiled]:
    """The layers with whose tiles each arena has at most `limits` bytes: all, or else fewer."""
    while wanted:
        trial = function.clone()
        build(trial, wanted, MemorySpace.of(machine.memories[0].name))
        if fit(trial, machine, limits):
            return wanted
        wanted = fewer(wanted)
    return []


def cycles_of(layers: Iterable[CopiedMaps]) -> int | None:
    """The cycles of layers in one inference; None if those of one are not known."""
    from npu_passes.analysis.timed_ops import NotTimed, task_of

    try:
        tasks = ((task_of(each.op, each.rates), each) for each in layers)
        return sum(
            task.cycles(each.rates) * each.op.repetitions
            for task, each in tasks
            if task is not None
        )
    except NotTimed:
        return None


def fewer(wanted: Sequence[Tiled]) -> list[Tiled]:
    """Some of the layers, those first that save most.

    Without one whose output may overwrite its input, as tiles never do that from the last row to
    the first; if there is none, the better half.
    """
    claiming = [each for each in wanted if each.claims]
    if claiming:
        return [each for each in wanted if each is not claiming[-1]]
    return list(wanted[: len(wanted) // 2])


def chosen(
    function: FuncOp, layers: Mapping[int, CopiedMaps], machine: Machine, sizes: Sequence[int]
) -> list[Tiled]:
    """The layers that are faster in tiles, those first that save most.

    `sizes`: bytes of the arena in the fast memory, and the most that it may have.
    """
    from npu_plans.spills.room import occupied
    from npu_plans.tiles.core_copies import best_way

    fast = machine.memories[0]
    alignment = max(machine.alignment, fast.alignment)
    lived = lifetimes_of(function, MemorySpace.of(fast.name)).occupancy()
    found: list[Tiled] = []
    for place, layer in layers.items():
        taken = occupied(lived, place, alignment)
        in_place = layer.in_place
        way = best_way(layer.ways(), in_place, *(size - taken for size in sizes))
        if way is not None:
            saved = (in_place - way.cycles) * layer.op.repetitions
            grows = way.footprint > sizes[0] - taken
            found.append(Tiled(place, way, saved, OVERLAYS.is_on(layer.op), grows))
    return sorted(found, key=lambda each: (-each.saved, each.place))


def arenas(function: FuncOp, machine: Machine) -> dict[str, int] | None:
    """The bytes of the arena in each memory, which hold it; None if no quick search finds them."""
    found: dict[str, int] = {}
    for each in machine.memories:
        try:
            found[each.name] = quick(problem_in(function, machine, each)).arena
        except PlanError:
            return None
        if found[each.name] > each.bytes:
            return None
    return found


def fit(function: FuncOp, machine: Machine, limits: Mapping[str, int]) -> bool:
    """Whether offsets are found with which each arena has at most `limits` bytes."""
    problems = ((problem_in(function, machine, m), limits[m.name]) for m in machine.memories)
    return all(
        live_bound(problem).bytes <= limit and quick(problem, limit).arena <= limit
        for problem, limit in problems
    )


def problem_in(function: FuncOp, machine: Machine, memory: Memory) -> Problem:
    """The offset problem of the buffers of a function in one memory."""
    lifetimes = lifetimes_of(function, MemorySpace.of(memory.name))
    return problem_of(lifetimes, max(machine.alignment, memory.alignment))


def build(function: FuncOp, wanted: Sequence[Tiled], space: Attribute) -> None:
    """Build the loops of layers, and renew the claims of loops around them."""
    from npu_passes.tiling.copy_nest import build_copies
    from npu_passes.tiling.tile_moves import outermost

    ops = list(function.walk())
    loops: dict[scf.ForOp, None] = {}
    for each in wanted:
        layer = ops[each.place]
        assert isinstance(layer, LayerOp)
        outer = outermost(layer)
        if OVERLAYS.is_on(layer):
            OVERLAYS.drop(layer)
            loops[enclose(layer)] = None
        elif isinstance(outer, scf.ForOp) and OVERLAYS.is_on(outer):
            loops[outer] = None
        first = build_copies(layer, each.way.tiles, space)
        TILE.set(first, described(layer, each))
        Rewriter.erase_op(layer)
    for loop in loops:
        claims = claims_of_rows(loop)
        OVERLAYS.drop(loop)
        if claims:
            OVERLAYS.set(loop, tuple(n for claim in claims for n in claim.numbers()))


def enclose(layer: LayerOp) -> scf.ForOp:
    """Put a layer into a loop that runs once, which can make a claim for all that is in it."""
    none, one = (arith.ConstantOp(IntegerAttr(number, IndexType())) for number in (0, 1))
    block = Block(arg_types=[IndexType()])
    loop = scf.ForOp(none, one, one, [], Region(block))
    Rewriter.insert_op([none, one, loop], InsertPoint.before(layer))
    layer.detach()
    block.add_ops((layer, scf.YieldOp()))
    none.result.name_hint, one.result.name_hint = "c0", "c1"
    block.args[0].name_hint = "all"
    return loop


def described(layer: LayerOp, tiled: Tiled) -> DictionaryAttr:
    """The value of `npu.tile`: the tiles of a layer, and what is copied in one of its runs."""
    staging = tiled.way.tiles
    sizes: dict[str, Attribute] = {name: IntegerAttr(size, i64) for name, size in staging.cut.sizes}
    numbers = {
        "bytes": staging.bytes,
        "transfers": staging.transfers,
        "on_chip": staging.footprint,
        "saved_cycles": int(tiled.saved),
    }
    return DictionaryAttr(
        {
            "sizes": DictionaryAttr(sizes),
            "order": StringAttr(" ".join(staging.cut.order)),
            **{key: IntegerAttr(number, i64) for key, number in numbers.items()},
        }
    )
