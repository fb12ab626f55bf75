"""Copies whose source and target could be one buffer: what is one, and what becomes of it.

Level of IR: layers on buffers, between `npu-split-lives`, which marks such a copy with `npu.moves`,
and the decision of `npu-spill-maps`:

    npu.relu ins(%x : ...) outs(%early : ...)
    npu.conv2d ins(%early, ...) outs(...)
    memref.copy %early, %late {npu.moves}
    npu.conv2d ins(%late, ...) outs(...)

If both lie in the same memory, they are one buffer, `%late`, and the copy goes. If only `%late` is
off the chip, the copy is its store, which starts behind the last layer that writes `%early`.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import MOVES
from npu_dialect.sram import AllocOp
from npu_dialect.walking import walk_kind
from npu_passes.analysis.accesses import Access, accesses_to
from npu_passes.analysis.views import is_view, root_of
from npu_passes.spilling.map_uses import may_share
from npu_passes.spilling.reader import is_movable


def moves_of(function: Operation) -> list[memref.CopyOp]:
    """The moves of a function, in the order of the text; other copies lose the mark of one."""
    marked = [copy for copy in walk_kind(function, memref.CopyOp) if MOVES.is_on(copy)]
    for copy in marked:
        if not could_be_one(copy):
            MOVES.drop(copy)
    return [copy for copy in marked if MOVES.is_on(copy)]


def could_be_one(copy: memref.CopyOp) -> bool:
    """Whether the source of a copy, a whole buffer, and its target could be one buffer.

    Both belong to buffers that can leave the chip, in the block of the copy. Nothing uses the
    target, or a part of it, before the copy. Behind it, nothing writes the source, and nothing
    writes the target while the source is still read.
    """
    home, whole = copy.parent, root_of(copy.destination)
    if home is None or whole is copy.source or root_of(copy.source) is not copy.source:
        return False
    if not all(is_movable(each) and each.owner.parent is home for each in (copy.source, whole)):
        return False
    if copy.source.type != copy.destination.type and any(
        is_view(use.operation) for use in copy.source.uses
    ):
        return False
    order = Order.of(home)
    if order.place(copy.destination.owner) > order.place(copy.source.owner):
        return False
    own = [(order.place(each.op), each) for each in others(copy, copy.source)]
    shared = [
        (order.place(each.op), each)
        for each in others(copy, whole)
        if may_share(each.value, copy.destination)
    ]
    now, last = order.place(copy), max((place for place, _ in own), default=0)
    return not (
        any(place > now and each.writes for place, each in own)
        or any(place < now for place, _ in shared)
        or any(place <= last and each.writes for place, each in shared)
    )


def others(copy: memref.CopyOp, buffer: SSAValue) -> Iterator[Access]:
    """The accesses to a buffer and its views but for those of a copy."""
    return (each for each in accesses_to(buffer) if each.op is not copy)


@dataclass(frozen=True)
class Order:
    """The order of the ops of a block."""

    block: Block
    places: dict[Operation, int]

    @staticmethod
    def of(block: Block) -> Order:
        """The order of the ops of a block."""
        return Order(block, {op: place for place, op in enumerate(block.ops)})

    def place(self, op: object) -> int:
        """The place of an op, or of the op of the block around it."""
        assert isinstance(op, Operation)
        top = self.block.find_ancestor_op_in_block(op)
        assert top is not None
        return self.places[top]


def settle(copy: memref.CopyOp, off_chip: AbstractSet[Operation]) -> None:
    """Make a move a store, or one buffer of two. `off_chip`: the buffers that leave the chip."""
    early, late = copy.source.owner, root_of(copy.destination).owner
    if (early in off_chip) == (late in off_chip):
        unite(copy)
        return
    MOVES.drop(copy)
    assert copy.parent is not None
    order = Order.of(copy.parent)
    written = [order.place(each.op) for each in accesses_to(copy.source) if each.writes]
    if written:
        copy.detach()
        Rewriter.insert_op(copy, InsertPoint.after(list(order.places)[max(written)]))


def unite(copy: memref.CopyOp) -> None:
    """Let the target of a move be its source, too, and drop the copy."""
    early, target = copy.source.owner, copy.destination
    assert isinstance(early, AllocOp)
    Rewriter.erase_op(copy)
    Rewriter.replace_op(early, (), (target,))
