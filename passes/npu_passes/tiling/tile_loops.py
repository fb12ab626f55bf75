"""`npu-tile-loops`: cut layers with operands off the chip into tiles that a DMA engine brings.

Level of IR: in: layers in destination style on buffers; out: loops, transfers and the same layers
on on-chip buffers. It decides the tiles of each layer, in which order they come, and how many
buffers they have (paper 004).

    npu.conv2d ins(%x, %w, %b : ..., memref<32x16x3x3xf32, #npu.dram>, memref<32xf32, #npu.dram>)
               outs(%y : ...) {npu.layer = "conv"}
->
    %w_tile = sram.alloc : memref<8x16x3x3xf32, #npu.sram>
    %b_tile = sram.alloc : memref<32xf32, #npu.sram>
    (%b to %b_tile)
    scf.for %out = %c0 to %c4 step %c1 {
      %part = memref.subview %w[%out_at, 0, 0, 0] [8, 16, 3, 3] [1, 1, 1, 1] : ...
      %0 = dma.start weights %part to %w_tile channel 0 : ...
      dma.wait %0
      npu.conv2d ins(%x, %w_tile, %b_part : ...) outs(%y_part : ...)
          {npu.layer = "conv", npu.runs = 4 : i64, npu.tile = {...}}
    } {npu.double_buffer}

The tiles of a layer share the on-chip memory with all buffers that live while it runs. They count
twice if they are to be double buffers, which `npu-double-buffer` makes later. Concatenations and
copies move straight from one memory to the other.

An op that computes each element of a map from the same one of another may run on the tiles of the
layers that read that map, which then never exists off the chip. So may a depthwise convolution in
front of a 1x1 convolution (`fused_producers.py`):

    npu.relu ins(%x) outs(%r)                  scf.for %i = ... {
    npu.conv2d ins(%r, ...) outs(%y)             (%x to %x_tile)
                                         ->      npu.relu ins(%x_tile) outs(%x_tile)
                                                 npu.conv2d ins(%x_tile, ...) outs(%y_tile)

Layers that read the same map and stand one behind the other may run on the same tiles of it
(`shared_tiles.py`), which `npu-gather-readers` prepares:

    npu.conv2d ins(%x, %v, ...) outs(%y)       scf.for %i = ... {
    npu.conv2d ins(%x, %w, ...) outs(%z)         (%x to %x_tile)
                                         ->      npu.conv2d ins(%x_tile, ...) outs(%y_tile)
                                                 npu.conv2d ins(%x_tile, ...) outs(%z_tile)

An op that uses such an operand and does not say how it computes (`npu_dialect/computing.py`) stays,
with the reason:

    "other.op"(%x) {npu.not_tiled = "nobody says how it computes"} : (memref<8xf32, ...>) -> ()

If offsets with which all tiles fit are hard to find, the pass decides those of the buffers, too:
`npu-assign-sram-offsets` keeps them. The tiles then fill the gaps between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult
from xdsl.rewriter import Rewriter

from npu_dialect.attributes import NOT_TILED, TILE
from npu_dialect.computing import computation_of, is_computed_on_buffers
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.layers import ConcatOp
from npu_dialect.target import machine_of
from npu_passes.analysis.lifetimes import OnChipBuffer, lifetimes_of
from npu_passes.analysis.on_chip import functions
from npu_passes.analysis.views import is_view
from npu_passes.placing.assign_sram_offsets import write_offsets
from npu_passes.support.refuse import Refusal, RefusingPass, refuse
from npu_passes.tiling.aligned_tiles import in_whole_blocks
from npu_passes.tiling.alike import Remembered, shape_of_layer
from npu_passes.tiling.build_nest import build_nest
from npu_passes.tiling.conv_tiles import TileOptions
from npu_passes.tiling.fuse_producers import with_chains
from npu_passes.tiling.moves import build_moves
from npu_passes.tiling.picked_elements import has_neighbour, view_picked_elements
from npu_passes.tiling.predicted import described
from npu_passes.tiling.shared_tiles import with_shared_tiles
from npu_passes.tiling.staged import StagedOp
from npu_passes.tiling.staging import Staging, choose, least_bytes, off_chip_operands
from npu_plans.spills.room import arranged, gaps, placed, room
from npu_plans.tiles.tile_search import SearchOptions

BY_ADDRESS = frozenset({"dma", "dram", "func", "llvm", "memref", "scf"})
"""Dialects whose ops reach memory by address, or pass buffers on. They have no tiles."""

LOOSE = 0.95
"""A plan that takes more than this share of the memory is kept: another search, with buffers that
later passes change, may not find one."""


@dataclass(frozen=True)
class StagedFunction:
    """The ops of a function to be staged. `offsets` are those of `buffers`, if they are decided."""

    ops: Sequence[StagedOp] = ()
    buffers: tuple[OnChipBuffer, ...] = ()
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True)
class TileLoopsPass(RefusingPass):
    """Stage every layer that has operands in `#npu.dram`.

    `model`, `divisors-only`, `loop-order`, `stationary` and `minimize` are options of the search
    for the tiles of convolutions and fully connected layers; `tile-sizes=rows,columns,in,out` sets
    the sizes by hand. Without `double-buffer` every tile has one buffer. With a `block-size`, tiles
    that are written off the chip have whole blocks where that is possible, for
    `npu-compress-spills`. `jobs` layers are searched at the same time; the result does not depend
    on it. With `producers`, elementwise ops and depthwise convolutions run on the tiles of the
    layers that read their output, where that takes less time and moves no more bytes. With
    `sharing`, neighbours that read the same map run on the same tiles of it, where that moves fewer
    bytes and takes little more time. Rejects a machine without DMA, and layers whose smallest tile
    does not fit.
    """

    name = "npu-tile-loops"

    model: Literal["paper", "physical"] = "physical"
    """`paper` counts transfers by the published equations, `physical` what a DMA engine moves."""
    divisors_only: bool = False
    """Whether tile sizes have to divide the sizes of the layer."""
    loop_order: Literal["paper", "any"] = "any"
    """The orders of loops over tiles that are searched: the paper's only, or all."""
    stationary: Literal["single", "double-buffered"] = "single"
    """Buffers of the operand that the innermost loop does not change: one, or two as others."""
    minimize: Literal["cost", "bytes", "time"] = "bytes"
    """`bytes`: the bytes moved. `cost`: the time of the transfers, with setup and jumps. `time`:
    the time of the layer; some of its transfers run beside it."""
    tile_sizes: tuple[int, ...] = ()
    """Rows, columns, input and output channels of a tile, by hand. Default: search."""
    double_buffer: bool = True
    """Whether each tile gets two buffers, so that moving and computing can overlap."""
    block_size: int = 1
    """Rows and columns of a block. Tiles written off the chip have whole blocks if possible."""
    jobs: int = 1
    """Layers that are searched at the same time; the result does not depend on it."""
    producers: bool = True
    """Whether ops may run on the tiles of the layers that read their output."""
    sharing: bool = True
    """Whether layers that read the same map may run on the same tiles of it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide for all layers, then build."""
        if self.jobs < 1:
            raise Refusal(f"expected jobs of at least 1, got {self.jobs}")
        machine = machine_of(op)
        staged = [self.staged(function, machine) for function in functions(op)]
        for each in functions(op):
            explain(each)
        for each in staged:
            write_offsets(each.buffers, each.offsets)
            if machine is not None:
                write_nests(each.ops, machine)

    def staged(self, function: Operation, machine: Machine | None) -> StagedFunction:
        """The ops of a function with their tiles.

        Convolutions that pick elements read a view of these, but for those that run on the tiles of
        a neighbour.
        """
        options, known = self.options, machine if self.model == "physical" else None
        views = partial(view_picked_elements, function, known, fastest=options.fastest)
        if self.block_size == 1:
            views(stays=lambda op: options.shares and has_neighbour(op))
        found = stage_function(function, machine, options, self.jobs, self.told)
        sharing = {op for each in found.ops if each.sharing for op, _ in each.tiles}
        if options.shares and views(stays=sharing.__contains__):
            found = stage_function(function, machine, options, self.jobs)
        return found

    def told(self, staged: StagedOp) -> None:
        """Called with each layer once its tiles are found; a subclass can show progress."""

    @property
    def options(self) -> TileOptions:
        """The options of the pass that say how tiles are chosen."""
        fastest = self.minimize == "time"
        search = SearchOptions(
            self.model,
            self.divisors_only,
            self.loop_order,
            self.stationary,
            "bytes" if self.minimize == "time" else self.minimize,
        )
        return TileOptions(
            search,
            self.tile_sizes,
            self.double_buffer,
            self.block_size,
            fastest,
            producers=self.producers,
            sharing=self.sharing,
        )


def stage_function(
    function: Operation,
    machine: Machine | None,
    options: TileOptions,
    jobs: int = 1,
    told: Callable[[StagedOp], None] = lambda staged: None,
) -> StagedFunction:
    """The ops of a function to be staged, with their tiles; `told` is called with each, in order.

    `jobs`: ops that are searched at the same time.

    Tiles that take all that is free at their op may leave no plan of the whole function. Then a
    plan with the smallest tiles decides the offsets of all buffers, and tiles fill its gaps. Where
    a plan decides offsets, what only moves data has the largest gap, not all that is free.

    Raises: PassFailedException, attached to the op, if there is no machine with DMA, or if a layer
    does not fit.
    """
    ops = [op for op in function.walk() if is_staged(op)]
    if not ops:
        return StagedFunction()
    if machine is None or not machine.dma_channels:
        which = "a module without npu.target" if machine is None else machine.name
        refuse(ops[0], f"expected a machine with dma_channels to reach #npu.dram, got {which}")
    assert machine is not None
    lived = lifetimes_of(function, SramSpace())
    points = {op: point for point, op in enumerate(lived.ops)}
    least = {points[op]: least_bytes(op, off_chip_operands(op), machine) for op in ops}
    memory = (machine.planned_bytes, machine.alignment)
    occupancy = lived.occupancy()
    free = room(occupancy, least, *memory)
    final = frozenset(lived.ops[buffer.last] for buffer in lived.buffers)
    choice = TileChoice(machine, options, final)

    def one(op: Operation) -> StagedOp:
        return choice.staged(op, free[points[op]])

    staged = choice.fused(tuple(staged_by(one, ops, jobs, told)))
    taken = {points[each.op]: each.buffers for each in staged}
    if (plan := placed(occupancy, taken, *memory)) is not None:
        if plan.arena <= LOOSE * machine.planned_bytes:
            return StagedFunction(staged)
        offsets = plan.offsets[: len(lived.buffers)]
        between = gaps(occupancy, offsets, least, *memory)
        moves = [points[each.op] for each in staged if each.staging is None]
        if all(between[point] >= least[point] for point in moves):
            within = tuple(within_gap(each, between[points[each.op]]) for each in staged)
            return StagedFunction(within, lived.buffers, offsets)
    arrangement = arranged(occupancy, least, *memory)
    if arrangement is None:
        return StagedFunction(staged)
    free, offsets = arrangement
    return StagedFunction(choice.fused(tuple(map(one, ops))), lived.buffers, offsets)


def within_gap(staged: StagedOp, gap: int) -> StagedOp:
    """An op with decided offsets around it: one that only moves data has no more than this gap."""
    return staged if staged.staging is not None else replace(staged, free=min(staged.free, gap))


@dataclass(frozen=True)
class TileChoice:
    """Finds the tiles of ops; those of equal ops once.

    `final`: the ops behind which a buffer on chip lives no longer.
    """

    machine: Machine
    options: TileOptions
    final: AbstractSet[Operation]
    found: Remembered[Staging] = field(default_factory=Remembered[Staging])

    def staged(self, op: Operation, free: int) -> StagedOp:
        """An op with its tiles for `free` bytes on chip.

        Raises: PassFailedException, attached to the op, if no tile fits.
        """
        if isinstance(op, ConcatOp | memref.CopyOp):
            return StagedOp(op, free, None)
        block, alignment = self.options.block_size, self.machine.alignment
        staging = in_whole_blocks(op, self.tiles(op, free), block, alignment)
        return StagedOp(op, free, staging)

    def tiles(self, op: Operation, free: int) -> Staging:
        """The tiles of an op.

        Raises: PassFailedException, attached to the op, if none fit.
        """
        key = (shape_of_layer(op, off_chip_operands(op)), free)
        return self.found.of(key, lambda: choose(op, self.machine, free, self.options))

    def fitting(self, op: Operation, free: int) -> Staging | None:
        """The tiles of an op; None if none fit."""
        if free < least_bytes(op, off_chip_operands(op), self.machine):
            return None
        return self.tiles(op, free)

    def fused(self, staged: Sequence[StagedOp]) -> Sequence[StagedOp]:
        """The same ops, without those that run on the tiles of others."""
        if self.options.fuses:
            staged = with_chains(staged, self.machine, self.fitting)
        if not self.options.shares:
            return staged
        fastest = self.options.fastest
        return with_shared_tiles(staged, self.machine, self.final, fastest=fastest)


def explain(function: Operation) -> None:
    """Say of each op that uses a buffer off the chip, but is not staged, why it is not."""
    for op in function.walk():
        if not off_chip_operands(op):
            continue
        if op.name.partition(".")[0] not in BY_ADDRESS and not is_view(op) and not is_staged(op):
            several = computation_of(op) is None and op.name.startswith("linalg.")
            why = "it has several outputs" if several else "nobody says how it computes"
            NOT_TILED.set(op, why)


def staged_by(
    one: Callable[[Operation], StagedOp],
    ops: Sequence[Operation],
    jobs: int,
    told: Callable[[StagedOp], None],
) -> Iterator[StagedOp]:
    """What `one` finds for each op, `jobs` at a time; `told` is called with each, in order."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for staged in (map if jobs == 1 else pool.map)(one, ops):
            told(staged)
            yield staged


def write_nests(staged: Sequence[StagedOp], machine: Machine) -> None:
    """Build the loops of all ops; others run on their tiles."""
    for each in staged:
        for op in (op for chain in each.chains.values() for op in reversed(chain)):
            source, output = op.operands[0], op.operands[-1]
            output.replace_uses_with_if(source, lambda use, op=op: use.operation is not op)
        build(each, machine)
    for each in staged:
        for chain in each.chains.values():
            for op in reversed(chain):
                remove(op)


def remove(op: Operation) -> None:
    """Erase an op that runs on the tiles of others, and its buffer if nothing else uses that."""
    if op.parent is None:
        return  # it ran on those of several
    output = op.operands[-1]
    Rewriter.erase_op(op)
    if isinstance(output, OpResult) and not any(output.uses):
        Rewriter.erase_op(output.op)


def is_staged(op: Operation) -> bool:
    """Whether an op computes a map in a buffer, or copies one, and has an operand off the chip."""
    moves = isinstance(op, memref.CopyOp) or is_computed_on_buffers(op)
    return moves and bool(off_chip_operands(op))


def build(staged: StagedOp, machine: Machine) -> None:
    """Build the loops of one op, and erase it."""
    op = staged.op
    if staged.staging is None:
        build_moves(op, machine, staged.free)
    else:
        sharing = staged.sharing
        made = build_nest(
            op, staged.staging, machine.dma_channels, chains=staged.chains, sharing=sharing
        )
        for first, (layer, staging) in zip(made, staged.tiles, strict=True):
            if first is not None:
                TILE.set(first, described(layer, staging, machine, staged.free))
        for each in sharing:
            Rewriter.erase_op(each.op)
    Rewriter.erase_op(op)
