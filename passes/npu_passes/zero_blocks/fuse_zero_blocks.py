"""`npu-fuse-zero-blocks`: prune a map on chip before it is stored off chip, not afterwards.

Level of IR: layers on tiles and transfers, after `npu-tile-loops{block-size=4}`, before
`npu-compress-spills`. A network that was trained to be pruned has `npu.prune_zero_blocks` layers of
its own. Such a layer on a map off the chip would load the map once more and store it again:

    npu.conv2d ins(...) outs(%tile : ...) ... then relu
    %s = dma.start %tile to %part channel 3 : ...
    ...
    %t = dma.start %other to %again channel 1 : ...      // the same map, in tiles of its own
    npu.prune_zero_blocks ins(%again : ...) outs(%again : ...) block 4 threshold 0.1
    %u = dma.start %again to %other channel 3 : ...
becomes
    npu.conv2d ins(...) outs(%tile : ...) ... then relu
    npu.prune_zero_blocks ins(%tile : ...) outs(%tile : ...) block 4 threshold 0.1
    %s = dma.start %tile to %part channel 3 : ...

The pruning layer's own buffers and transfers go away. It runs right after the tile was written, in
the same step of the loop, so `npu-double-buffer` overlaps it with transfers like the other layer.

A pruning layer is not moved if the map is read before it, if it does not prune the whole map, or if
the tiles that are written cut its blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dma, dram, sram
from npu_dialect.attributes import RUNS, TILE
from npu_dialect.keys import without
from npu_dialect.npu.layers import PruneZeroBlocksOp
from npu_dialect.npu.maps import shape_of
from npu_passes.analysis.affine_index import constant_of
from npu_passes.analysis.on_chip import functions
from npu_passes.analysis.views import root_of
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass
from npu_passes.zero_blocks.prune_zero_blocks import writer_of
from npu_passes.zero_blocks.spilled_maps import NotInBlocks, SpilledMap, has_whole_blocks

NAME = "npu-fuse-zero-blocks"


@dataclass(frozen=True)
class FuseZeroBlocksPass(RefusingPass):
    """Prune maps in the tiles of the layers that write them; see the module."""

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse for each map off the chip, as often as a layer prunes it."""
        for function in functions(op):
            for alloc in [each for each in function.walk() if isinstance(each, dram.AllocOp)]:
                while (plan := prune_fusion(alloc, function)) is not None:
                    rewrite(plan)
            remove_dead(function)


@dataclass(frozen=True)
class PruneFusion:
    """A pruning layer to move.

    `prunes`: its ops, one or more for its tiles. `stores`: the transfers before it that store the
    map, in front of which it is to run.
    """

    prunes: tuple[PruneZeroBlocksOp, ...]
    accesses: tuple[Operation, ...]
    """Its transfers, and the `dma.reads` and `dma.writes` for it, which go away."""
    stores: tuple[dma.StartOp, ...]


def prune_fusion(alloc: dram.AllocOp, function: Operation) -> PruneFusion | None:
    """The first layer that prunes an off-chip map in place, if it can be moved; else None."""
    try:
        found = SpilledMap.of(alloc, function)
    except NotInBlocks:
        return None
    order = Order.of(alloc)
    prunes = first_layer(found, order)
    if not prunes:
        return None
    tiles = [root_of(op.output) for op in prunes]
    loads = [op for op in found.loads if root_of(op.target) in tiles]
    again = [op for op in found.stores if root_of(op.source) in tiles]
    own = [*prunes, *loads, *again]
    first, last = min(map(order.at, own)), max(map(order.at, own))
    others = [op for op in (*found.loads, *found.stores) if op not in own]
    before = tuple(op for op in found.stores if op not in own and order.at(op) < first)
    if not before or any(first <= order.at(op) <= last for op in others):
        return None
    if any(order.at(op) < first for op in found.loads if op not in own):
        return None
    if not is_all_of(prunes, tiles, alloc.buffer, [*loads, *again]):
        return None
    if not all(is_finished(op, alloc.buffer, prunes[0].size) for op in before):
        return None
    counted = accesses(alloc.buffer, order, max(map(order.at, before)), last)
    return PruneFusion(prunes, (*counted, *loads, *again), before)


@dataclass(frozen=True)
class Order:
    """The order of operations: their positions in the block of a map's allocation."""

    places: dict[Operation, int]

    @staticmethod
    def of(alloc: dram.AllocOp) -> Order:
        """Number the operations of the block of an allocation."""
        block = alloc.parent_block()
        assert block is not None
        return Order({op: place for place, op in enumerate(block.ops)})

    def at(self, op: Operation) -> int:
        """The position of an operation, or of the op of the block that it is in."""
        while op not in self.places:
            parent = op.parent_op()
            assert parent is not None
            op = parent
        return self.places[op]


def first_layer(found: SpilledMap, order: Order) -> tuple[PruneZeroBlocksOp, ...]:
    """The ops of the first layer that prunes tiles of a map that were loaded for it."""
    loaded = [root_of(op.target) for op in found.loads]
    ops = [
        op
        for op in found.writers
        if isinstance(op, PruneZeroBlocksOp)
        and root_of(op.input) is root_of(op.output)
        and root_of(op.output) in loaded
    ]
    if not ops:
        return ()
    first = min(ops, key=order.at)
    return tuple(op for op in ops if same_layer(op, first))


def same_layer(op: PruneZeroBlocksOp, other: PruneZeroBlocksOp) -> bool:
    """Whether two ops are tiles of one layer."""
    keys = ("block", "threshold", "scale", "zero_point")
    alike = all(op.properties.get(key) == other.properties.get(key) for key in keys)
    return alike and op.layer_name == other.layer_name


def is_all_of(
    prunes: Iterable[PruneZeroBlocksOp],
    tiles: list[SSAValue],
    whole: SSAValue,
    transfers: list[dma.StartOp],
) -> bool:
    """Whether a layer prunes each element of a map once, and its tile buffers have no other use.

    Its `transfers` must not cut blocks.
    """
    elements = sum(op.repetitions * memref_type(op.output).element_count() for op in prunes)
    if elements != memref_type(whole).element_count():
        return False
    size = next(iter(prunes)).size
    if any(not has_whole_blocks(part_of(op), whole, size) for op in transfers):
        return False
    mine = {*prunes, *transfers}
    return all(user in mine for tile in tiles for user in users(tile))


def part_of(op: dma.StartOp) -> SSAValue:
    """The side of a transfer that is off the chip."""
    return op.source if isinstance(root_of(op.source).owner, dram.AllocOp) else op.target


def users(value: SSAValue) -> Iterator[Operation]:
    """The ops that use a buffer or subviews of it, without the subviews themselves."""
    for use in value.uses:
        if isinstance(use.operation, memref.SubviewOp):
            yield from users(use.operation.result)
        else:
            yield use.operation


def is_finished(store: dma.StartOp, whole: SSAValue, block: int) -> bool:
    """Whether a transfer stores whole blocks that a layer in front of it has written."""
    return (
        writer_of(store) is not None
        and len(shape_of(store.source)) == 4
        and has_whole_blocks(store.target, whole, block)
    )


def accesses(map: SSAValue, order: Order, after: int, last: int) -> tuple[Operation, ...]:
    """The `dma.reads` and `dma.writes` of a map after position `after`, up to position `last`."""
    return tuple(
        use.operation
        for use in map.uses
        if isinstance(use.operation, dma.ReadsOp | dma.WritesOp)
        and after < order.at(use.operation) <= last
    )


def rewrite(plan: PruneFusion) -> None:
    """Insert pruning layers in front of the stores, and erase the old ones."""
    old = plan.prunes[0]
    for store in plan.stores:
        new = PruneZeroBlocksOp(
            store.source,
            old.size,
            old.threshold.value.data,
            store.source,
            scale=None if old.scale is None else old.scale.value.data,
            zero_point=old.zero,
        )
        new.attributes |= without(old.attributes, RUNS, TILE)
        if (runs := times(store)) > 1:
            RUNS.set(new, runs)
        Rewriter.insert_op(new, InsertPoint.before(store))
    for op in (*plan.prunes, *plan.accesses):
        if isinstance(op, dma.StartOp):
            for use in list(op.token.uses):
                Rewriter.erase_op(use.operation)
        Rewriter.erase_op(op)


def times(op: Operation) -> int:
    """How often an operation runs: the product of the rounds of all loops around it.

    A loop of unknown bounds counts as 1.
    """
    parent = op.parent_op()
    if parent is None:
        return 1
    rounds = 1
    if isinstance(parent, scf.ForOp):
        first, end, step = (constant_of(value) for value in (parent.lb, parent.ub, parent.step))
        if first is not None and end is not None and step is not None:
            rounds = len(range(first, end, step))
    return rounds * times(parent)


def remove_dead(function: Operation) -> None:
    """Remove unused views, buffers and index arithmetic, and empty loops."""
    for op in reversed(list(function.walk())):
        idle = not any(result.uses for result in op.results)
        empty = isinstance(op, scf.ForOp) and not op.iter_args and len(op.body.block.ops) == 1
        kinds = memref.SubviewOp | sram.AllocOp | arith.MuliOp | arith.AddiOp | arith.ConstantOp
        if idle and (empty or isinstance(op, kinds)):
            Rewriter.erase_op(op)
