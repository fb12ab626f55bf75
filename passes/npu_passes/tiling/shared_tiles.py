"""Decides which layers that read the same map run on the same tiles of it.

    npu.conv2d ins(%x, %v, ...) outs(%y)       for each tile of %x:
    npu.conv2d ins(%x, %w, ...) outs(%z)  =>     dma.start %x_part to %tile; dma.wait
                                                 npu.conv2d ins(%tile, %v_part, ...) outs(%y)
                                                 npu.conv2d ins(%tile, %w_part, ...) outs(%z)

Level of IR: layers in destination style on buffers, before they are cut into tiles. An analysis:
nothing is changed. The map lies off the chip. The layers stand one behind the other, and nothing
runs between them. Their tiles are parts of the map along one axis, which all of them cut alike; or
the whole map. The other axes of a tile are whole, and each layer takes the rows and columns that
its windows need. A choice moves fewer bytes than the layers in loops of their own, and takes little
more time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fractions import Fraction

from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.machine import Machine
from npu_dialect.npu.maps import bytes_of, is_buffer_type, map_type
from npu_passes.analysis.overlaps import elements, overlap
from npu_passes.analysis.views import key_of
from npu_passes.tiling.finer_tiles import COUNTS, compute_cycles, cycles_of, together_cycles
from npu_passes.tiling.layer_spaces import COLUMNS
from npu_passes.tiling.stage import Stage, is_weight, off_chip_operands, stage_of
from npu_passes.tiling.staged import Sharing, StagedOp
from npu_plans.tiles.operand_regions import Along, Cut, Space

LONGER = Fraction(11, 10)
"""Fewer bytes may take so many times as long, unless the least time is asked for."""

LIKELY = Fraction(13, 10)
"""Layers are worth gathering if their common loop takes at most so many times what their computing
takes, or what they move."""


def with_shared_tiles(
    staged: Sequence[StagedOp],
    machine: Machine,
    final: AbstractSet[Operation] = frozenset(),
    *,
    fastest: bool = False,
) -> tuple[StagedOp, ...]:
    """The same ops, without those that run on the tiles of the op behind them.

    `final`: the ops behind which a buffer on chip lives no longer. They do not run later than they
    stand: other buffers may take its bytes. `fastest`: whether all may take no longer than before.
    """
    longer = Fraction(1) if fastest else LONGER
    found: list[StagedOp] = []
    for each in staged:
        stays = not found or found[-1].op in final
        together = None if stays else shared(found[-1], each, machine, longer)
        if together is not None:
            found.pop()
        found.append(together or each)
    return tuple(found)


def shared(
    first: StagedOp, second: StagedOp, machine: Machine, longer: Fraction
) -> StagedOp | None:
    """The second of two ops with tiles that the first one can use, too; None if there are none.

    Together they take at most `longer` times what they take apart.
    """
    if not reads_alike(first, second) or not are_neighbours(first, second):
        return None
    ops = [op for each in (first, second) for op, _ in each.tiles]
    apart = moved(first) + moved(second)
    found = (
        replace(second, staging=own.staging, sharing=tuple(others))
        for *others, own in choices(ops, machine, second.free)
    )
    costs = ((cost_of(each, machine), moved(each), each) for each in found if moved(each) < apart)
    cost, _, best = min(costs, key=lambda each: each[:2], default=(Fraction(), 0, None))
    most = longer * (cost_of(first, machine) + cost_of(second, machine))
    return best if cost <= most else None


def is_worth(ops: Sequence[Operation], machine: Machine, free: int) -> bool:
    """Whether some ops that read the same map are likely to run on the same tiles.

    They do if that takes little longer than their computing, or the bytes that they move, would.
    """
    found = choices(ops, machine, free)
    if not machine.dma_bytes_per_cycle:
        return any(found)
    most = LIKELY * sum(ideal_cycles(op, machine) for op in ops)
    return any(
        together_cycles([(each.op, each.staging) for each in tiles], machine) <= most
        for tiles in found
    )


def ideal_cycles(op: Operation, machine: Machine) -> Fraction:
    """How long an op takes if either its computing hides all that it moves, or the reverse."""
    space = stage_of(op, off_chip_operands(op), machine.alignment).space
    computing = compute_cycles(op, Cut.of(space, space.whole), machine)
    size = sum(bytes_of(map_type(value)) for value in off_chip_operands(op))
    return max(computing, size / machine.dma_bytes_per_cycle)


def choices(ops: Sequence[Operation], machine: Machine, free: int) -> Iterator[tuple[Sharing, ...]]:
    """The tiles of some ops that read the same map which fit into `free` bytes."""
    stages = [stage_of(op, off_chip_operands(op), machine.alignment) for op in ops]
    if any((0,) not in stage.staged for stage in stages):
        return
    for tiles in candidates(stages):
        if sum(each.staging.footprint for each in tiles) <= free:
            yield tiles


def reads_alike(first: StagedOp, second: StagedOp) -> bool:
    """Whether two ops compute in loops, and read nothing but the same map and parameters.

    The second may also read other maps. Chains of ops that run on the tiles must be the same.
    """
    for each in (first, second):
        found, source = each.staging, each.op.operands[0]
        if found is None or found.sums is not None or each.besides or set(each.chains) - {0}:
            return False
        if not is_computed_on_buffers(each.op) or list(each.op.operands).count(source) > 1:
            return False
    chains = [each.chains.get(0, ()) for each in (first, second)]
    source = first.op.operands[0]
    if source is not second.op.operands[0] or chains[0] != chains[1]:
        return False
    return source in off_chip_operands(first.op) and all(
        is_weight(first.op, value)
        for value in first.op.operands[1:-1]
        if is_buffer_type(value.type)
    )


def are_neighbours(first: StagedOp, second: StagedOp) -> bool:
    """Whether nothing but allocations and addresses is between two ops, and neither needs the
    other's result."""
    return is_next(first.op, second.op, first.chains.get(0, ())) and all(
        are_independent(op, second.op) for op, _ in first.tiles
    )


def is_next(one: Operation, other: Operation, skipped: Sequence[Operation] = ()) -> bool:
    """Whether an op stands behind another one, with nothing but allocations and views between.

    `skipped`: ops that do not count.
    """
    between = one.next_op if one.parent is other.parent else None
    while between is not None and between is not other:
        if between not in skipped and not is_harmless(between):
            return False
        between = between.next_op
    return between is other


def are_independent(one: Operation, other: Operation) -> bool:
    """Whether neither of two ops writes what the other one reads or writes."""
    return all(
        are_apart(writer.operands[-1], value)
        for writer, user in ((one, other), (other, one))
        for value in buffers_of(user)
    )


def is_harmless(op: Operation) -> bool:
    """Whether an op does nothing but make a buffer, a view or a number."""
    effects = get_effects(op)
    return effects is not None and all(effect.kind == MemoryEffectKind.ALLOC for effect in effects)


def buffers_of(op: Operation) -> Iterator[SSAValue]:
    """The buffers that an op reads or writes."""
    return (value for value in op.operands if is_buffer_type(value.type))


def are_apart(one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers have no element in common."""
    if key_of(one) != key_of(other):
        return True
    known = elements(one) is not None and elements(other) is not None
    return known and not overlap(one, other)


def candidates(stages: Sequence[Stage]) -> Iterator[tuple[Sharing, ...]]:
    """The tiles of some ops that read the same map: the whole map, or parts along one axis."""
    main = stages[-1].space
    along = (name for name in main.whole if name != COLUMNS and can_follow(stages, name))
    orders = [(), *((name,) for name in along)]
    for order in orders:
        extents = [main.loop(name).extent for name in order]
        for size in {-(-extent // count): None for extent in extents for count in COUNTS} or (0,):
            sizes = dict.fromkeys(order, size)
            if size < max(extents, default=1) and all(
                stage.space.has_tiles({**stage.space.whole, **sizes}) for stage in stages
            ):
                yield from tiles_of(stages, sizes)


def can_follow(stages: Sequence[Stage], name: str) -> bool:
    """Whether all ops can be cut along a loop, and need the same parts of the map for it."""
    main = stages[-1].space
    loop, axes = main.loop(name), main.operands[0]
    if loop.fixed or loop.apart or not any(name in axis.loops for axis in axes):
        return False
    return all(
        loop in stage.space.loops
        and all(
            axis == other
            for axis, other in zip(axes, stage.space.operands[0], strict=True)
            if name in axis.loops or name in other.loops
        )
        for stage in stages
    )


def tiles_of(stages: Sequence[Stage], sizes: Mapping[str, int]) -> Iterator[tuple[Sharing, ...]]:
    """The buffers of ops with tiles of these sizes along some loops, in two or three copies."""
    *others, last = stages
    whole = widened(last.space, sizes)
    own = [
        replace(each, staged=tuple(operands for operands in each.staged if operands != (0,)))
        for each in others
    ]
    using = [*own, replace(last, space=whole)]
    cuts = [Cut.of(each.space, {**each.space.whole, **sizes}, tuple(sizes)) for each in using]
    plain = [each.staging(cut, double=True) for each, cut in zip(using, cuts, strict=True)]
    ahead = [each.with_ahead(found) or found for each, found in zip(using, plain, strict=True)]
    for found in (plain, ahead) if ahead != plain else (plain,):
        yield tuple(
            Sharing(stage.op, staging, stage.space.operands[0])
            for stage, staging in zip(stages, found, strict=True)
        )


def widened(space: Space, sizes: Mapping[str, int]) -> Space:
    """The space of an op whose tiles have all of the first operand's axes that are not cut."""
    first, *others = space.operands
    axes = tuple(axis if sizes.keys() & set(axis.loops) else Along(axis.extent) for axis in first)
    return replace(space, operands=(axes, *others))


def moved(staged: StagedOp) -> int:
    """The bytes that an op moves, and those that run on its tiles."""
    return sum(staging.bytes for _, staging in staged.tiles)


def cost_of(staged: StagedOp, machine: Machine) -> Fraction:
    """How long an op takes in loops, with those that run on its tiles; 0 if nobody knows."""
    if not machine.dma_bytes_per_cycle:
        return Fraction()
    op, found = staged.op, staged.staging
    assert found is not None
    more = Fraction()
    for each in staged.chains.get(0, ()):
        space = stage_of(each, off_chip_operands(each), machine.alignment).space
        more += compute_cycles(each, Cut.of(space, space.whole), machine)
    if staged.sharing:
        tiles = [(op, found), *((each.op, each.staging) for each in staged.sharing)]
        return together_cycles(tiles, machine, more=more)
    stage = stage_of(op, off_chip_operands(op), machine.alignment)
    again = found.cut.loads(0).elements
    once = max(1, Cut.of(stage.space, stage.space.whole).loads(0).elements)
    return cycles_of(stage, found, machine, staged.free, more=more * again / once)
