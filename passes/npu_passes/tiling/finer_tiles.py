"""Smaller tiles that move the same bytes in less time: more of the transfers run beside computing.

    two tiles of 92 KB:   half of the bytes arrive before anything computes
    16 tiles of 12 KB:    a sixteenth; and room is left for what the next layer needs

An analysis: nothing is changed. It needs the numbers of time of the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import prod

from xdsl.ir import Operation, SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp
from npu_dialect.npu.maps import element_bytes, is_buffer_type, map_type
from npu_passes.buffers.spaces import dense_strides
from npu_passes.support.loop_builder import memref_type
from npu_passes.tiling.layer_spaces import COLUMNS, ROWS, conv_windows
from npu_passes.tiling.stage import Stage, Staging, most_runs, operand_moves, stored_in_place
from npu_plans.prefetch.groups import GROUPS
from npu_plans.tiles.nest_time import (
    Moved,
    Rates,
    Through,
    hidden_by_groups,
    nest_cycles,
    through,
)
from npu_plans.tiles.operand_regions import Cut, Space
from npu_plans.tiles.slices import axis_along, loops_of
from npu_plans.transfers.runs import merged_runs

COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Numbers of tiles along a loop that are tried."""

GAIN = Fraction(993, 1000)
"""Finer tiles are taken if they need less than this share of the time."""

WAITING = Fraction(5, 4)
"""A layer that takes longer than this multiple of its computing waits for the bus anyway. For such
ones, room is worth more to the layers around them than to their own steps."""

WEIGHT = Fraction(8, 25)
"""The share of the time of bare bytes that counts again. Among tiles that take about as long, those
are better that let most bytes run beside computing: the layers around them want the bus, too."""


def finer(
    stage: Stage,
    found: Staging,
    machine: Machine,
    free: int,
    *,
    within: bool = False,
    block: int = 1,
    at_most: int | None = None,
    wider: bool = False,
) -> Staging:
    """The fastest choice that fits into `free` bytes, and moves at most `at_most` bytes.

    By default it moves no more bytes than `found`. With `within`, each of its tiles lies within a
    tile of `found`. With `wider`, it is `found` with another size along one of its loops, which may
    be larger. No tile has less than `block` rows or columns, which would cut blocks
    (`aligned_tiles.py`). It is `found` itself if the machine does not say how long things take, or
    if no other choice is clearly faster.
    """
    if not machine.dma_bytes_per_cycle:
        return found
    best, least = found, GAIN * cycles_of(stage, found, machine, free)
    starts = (found.cut,) if within or wider else (None, found.cut)
    cuts = (cut for start in starts for cut in cuts_of(stage.space, start, block, wider=wider))
    most = found.bytes if at_most is None else at_most
    for tried in ways(stage, (found.cut, *cuts), free, most):
        needed = cycles_of(stage, tried, machine, free)
        if needed < least:
            best, least = tried, needed
    return best


def climbed(
    stage: Stage, found: Staging, machine: Machine, free: int, block: int, at_most: int
) -> Staging:
    """The choice that is found by changing one size after the other, as long as that is faster.

    The search for the fewest bytes may end at tiles of one kernel, each of which reads all of its
    input on chip; larger ones move the same bytes. See `finer` for the arguments.
    """
    while True:
        better = finer(stage, found, machine, free, block=block, at_most=at_most, wider=True)
        if better is found:
            return found
        found = better


def farther(stage: Stage, found: Staging, machine: Machine, free: int, block: int) -> Staging:
    """The same tiles, loaded two steps ahead, or the largest of their parts that fit; or `found`.

    No more bytes move. The time of `found` is that with jumps which all channels make at the same
    time: `npu-split-transfers` cuts transfers for that, but not those that loops carry. See `finer`
    for the arguments. A PL-330 has a program for each transfer, which runs once at a time.
    """
    if not found.double_buffer or not machine.dma_bytes_per_cycle or machine.dma_fifo_bytes:
        return found
    jump = -(-machine.dma_jump_cycles // machine.dma_channels)
    best, least = found, GAIN * cycles_of(stage, found, machine, free, jump)
    for tried in ahead_of(stage, found, free, block):
        needed = cycles_of(stage, tried, machine, free)
        if needed < least:
            best, least = tried, needed
    return best


def ahead_of(stage: Stage, found: Staging, free: int, block: int) -> Iterator[Staging]:
    """The same tiles, loaded two steps ahead, and along each loop the largest parts that fit."""
    if most_runs(found.cut) < 3:
        return
    whole, done = dict(found.cut.sizes), set[str]()
    for cut in (found.cut, *cuts_of(stage.space, found.cut, block)):
        name = next((loop for loop, size in cut.sizes if size != whole[loop]), "")
        for tried in ways(stage, (cut,) if name not in done else (), free, found.bytes):
            ahead = stage.with_ahead(tried)
            if ahead is not None and ahead.footprint <= free:
                done.add(name)
                yield ahead


def cycles_of(
    stage: Stage,
    staging: Staging,
    machine: Machine,
    free: int,
    jump: int | None = None,
    *,
    more: Fraction = Fraction(),
) -> Fraction:
    """How long a layer takes in tiles, with the weight of its bare bytes.

    `free`: the bytes on chip for the tiles. `jump`: the cycles of a jump; None: those of the
    machine. `more`: what else is computed.
    """
    rates = rates_of(machine, jump)
    steps = staging.cut.steps(staging.cut.order)
    compute = compute_cycles(stage.op, staging.cut, machine) + more

    def needed(*, spare: bool) -> tuple[Fraction, Fraction]:
        parts = tuple(parts_of(stage.op, staging, spare=spare))
        bare = sum(each.alone.bytes + each.behind.bytes for each in parts) / rates.bytes
        return nest_cycles(compute, steps, parts, rates), bare

    cycles, bare = needed(spare=False)
    saved = saved_by_groups(stage, staging, machine, compute / steps, rates)
    if saved:
        spare = has_spare(staging, machine, free)
        hidden, rest = needed(spare=True) if spare else (cycles, bare)
        if hidden <= WAITING * compute:
            return hidden - saved + WEIGHT * (rest - saved)
    return cycles + WEIGHT * bare


def together_cycles(
    tiles: Sequence[tuple[Operation, Staging]], machine: Machine, *, more: Fraction = Fraction()
) -> Fraction:
    """How long some ops take in one loop over tiles, with the weight of their bare bytes.

    `more`: what else is computed.
    """
    rates, cut = rates_of(machine), tiles[0][1].cut
    compute = sum((compute_cycles(op, each.cut, machine) for op, each in tiles), more)
    parts = [part for op, each in tiles for part in parts_of(op, each, spare=False)]
    bare = sum(each.alone.bytes + each.behind.bytes for each in parts) / rates.bytes
    return nest_cycles(compute, cut.steps(cut.order), parts, rates) + WEIGHT * bare


def rates_of(machine: Machine, jump: int | None = None) -> Rates:
    """What transfers take on a machine. `jump`: the cycles of a jump; None: the machine's."""
    return Rates(
        machine.dma_setup_cycles,
        machine.dma_jump_cycles if jump is None else jump,
        machine.dma_bytes_per_cycle,
        machine.dma_channels,
    )


def has_spare(staging: Staging, machine: Machine, free: int) -> bool:
    """Whether one more copy of all tiles of the innermost loop fits.

    `npu-prefetch` then loads the first tile of the loop's last, smaller step beside the step in
    front of it, for instance. Transfers of a PL-330 have a program each, which it does not move.
    This counts for layers that also have stores which groups hide. In the others, first loads are
    a few bytes, and tiles that have more of them are no faster.
    """
    more = sum(each.bytes for each in staging.buffers if each.copies > 1)
    return not machine.dma_fifo_bytes and staging.footprint + more <= free


def saved_by_groups(
    stage: Stage, staging: Staging, machine: Machine, step: Fraction, rates: Rates
) -> Fraction:
    """The cycles that `npu-split-layers` will hide of stores that no other step hides.

    `step`: the cycles of a step, on average. The last one may be smaller.
    """
    op, cut = stage.op, staging.cut
    if machine.dma_fifo_bytes or not isinstance(op, LayerOp) or not cut.order:
        return Fraction()
    last, shape = len(op.operands) - 1, cut.shape(len(op.operands) - 1)
    along = (axis_along(stage.space.operands[last], name) for name in loops_of(stage.space))
    axes = [axis for axis in along if axis is not None and prod(shape[:axis]) == 1]
    if not any(shape[axis] >= GROUPS[-1] for axis in axes):
        return Fraction()
    pieces = [each.count for each in cut.pieces(cut.order[-1])]
    computed = step * pieces[-1] * len(pieces) / sum(pieces)
    saved = Fraction()
    for buffer in staging.buffers:
        stores = (each for each in stage.moves(cut, buffer.operands) if each.stored)
        count = next((each.moves.transfers for each in stores), 0)
        if buffer.copies > 1:
            count = min(count, cut.steps(cut.order[:-1]))
        tile = tile_of(op.operands[last], buffer.shape) if count else Moved()
        saved += count * hidden_by_groups(rates.data(tile), computed, rates)
    return saved


def ways(stage: Stage, cuts: Iterable[Cut], free: int, most: int) -> Iterator[Staging]:
    """The tiles that fit and move at most so many bytes, all of them twice on chip.

    Those that are loaded and stored are tried with stores in their step, and with late ones.
    """
    for cut in cuts:
        plain = stage.staging(cut, double=True)
        if plain.footprint <= free and plain.bytes <= most:
            yield plain
            late = stage.with_late(plain)
            if late is not None and late.footprint <= free:
                yield late


def cuts_of(
    space: Space, start: Cut | None, block: int = 1, *, wider: bool = False
) -> Iterator[Cut]:
    """The whole layer cut along one loop; or the tiles of `start`, cut along one of its loops.

    With `wider`, they may also become larger along it, but not as long as the loop. Loops whose
    tiles would each be code of their own are not cut.
    """
    sizes = space.whole if start is None else dict(start.sizes)
    for loop in space.loops:
        if loop.fixed or loop.apart:
            continue
        if start is not None and loop.name not in start.order:
            continue
        tried = dict.fromkeys(-(-loop.extent // count) for count in COUNTS)
        least = block if loop.name in (ROWS, COLUMNS) else 1
        end = loop.extent if wider else sizes[loop.name]
        for size in (each for each in tried if least <= each < end):
            cut = {**sizes, loop.name: size}
            if space.has_tiles(cut):
                yield Cut.of(space, cut, () if start is None else start.order)


def parts_of(op: Operation, staging: Staging, *, spare: bool) -> Iterator[Through]:
    """What is moved through each tile buffer, and how much of that hides.

    `spare`: whether the first loads of a loop's smaller steps hide, too.
    """
    cut = staging.cut
    entries = cut.steps(cut.order[:-1])
    if cut.order and not spare:
        entries *= len(cut.segments(cut.order[-1]))
    for buffer in staging.buffers:
        in_place = 0 if staging.late else stored_in_place(op, cut, buffer.operands)
        for index, moves, stored in operand_moves(op, cut, buffer.operands, whole=buffer.whole):
            tile = tile_of(op.operands[index], buffer.shape)
            size = element_bytes(memref_type(op.operands[index]))
            moved = Moved(moves.transfers, moves.elements * size, moves.transfers * tile.runs)
            at_once = in_place if stored else 0
            ahead = staging.ahead and not stored
            yield through(moved, tile, buffer.copies, entries, at_once, ahead=ahead)


def tile_of(value: SSAValue, shape: Sequence[int]) -> Moved:
    """The transfer between a tile of this shape, which is contiguous, and a map off the chip."""
    type_ = memref_type(value)
    size, steps = element_bytes(type_), [step or 0 for step in type_.get_strides() or ()]
    runs = merged_runs(shape, dense_strides(shape), steps, size)
    return Moved(1, prod(shape) * size, prod(axis.count for axis in runs.axes))


def compute_cycles(op: Operation, cut: Cut, machine: Machine) -> Fraction:
    """How long an op computes in tiles; 0 if nobody knows.

    Each step reads or writes its part of each operand on chip, also of those that are there anyway.
    """
    moved = sum(
        elements_used(cut, index) * element_bytes(memref_type(value))
        for index, value in enumerate(op.operands)
        if is_buffer_type(value.type)
    )
    moved += sums_read(op, cut)
    cycles = moved / machine.sram_bytes_per_cycle if machine.sram_bytes_per_cycle else Fraction()
    rate = dict(machine.macs_per_cycle).get(str(map_type(op.operands[0]).get_element_type()))
    if isinstance(op, LayerOp) and rate:
        cycles = max(cycles, macs_of(op, cut) / rate)
    return cycles


def sums_read(op: Operation, cut: Cut) -> Fraction:
    """The bytes of unfinished sums that steps read on chip, to add to them."""
    parts = cut.steps([name for name in cut.order if cut.space.loop(name).sums])
    if parts == 1:
        return Fraction()
    last = len(op.operands) - 1
    used = elements_used(cut, last) * element_bytes(memref_type(op.operands[last]))
    return Fraction(used * (parts - 1), parts)


def macs_of(op: LayerOp, cut: Cut) -> Fraction:
    """Multiply-accumulates in tiles. An output that several tiles pool counts in each."""
    macs = Fraction(op.macs())
    if isinstance(op, Conv2dOp) and op.pool is not None:
        for name, (conv, *pools) in zip((ROWS, COLUMNS), conv_windows(op), strict=True):
            pool, counts = pools[0], (each.count for each in cut.pieces(name))
            reads = (min(conv.outputs, (n - 1) * pool.stride + pool.reach) for n in counts)
            macs *= Fraction(sum(reads), conv.outputs)
    return macs


def elements_used(cut: Cut, operand: int) -> int:
    """The elements of the tiles of an operand, summed over all steps."""
    indexing = cut.indexing(operand)
    again = cut.steps([name for name in cut.order if name not in indexing])
    axes = cut.space.operands[operand]
    return again * prod(sum(cut.axis_sizes(a)) if a.windows else a.extent for a in axes)
