"""`npu-split-lives`: let a map be on chip for its first readers and off the chip for later ones.

Level of IR: layers on buffers, before `npu-spill-maps`. That pass decides for each buffer as a
whole. So a map that is read soon, and again much later, would be off the chip for all readers, and
so would each part of a concatenation that is larger than the chip. Both get a second buffer, and a
copy that the pass to come may drop (`moves.py`):

    npu.relu ins(%x) outs(%map)                npu.relu ins(%x) outs(%early)
    npu.conv2d ins(%map, ...) outs(%y)         npu.conv2d ins(%early, ...) outs(%y)
    ...                                   =>   memref.copy %early, %map {npu.moves}
                                               ...
    npu.conv2d ins(%map, ...) outs(%z)         npu.conv2d ins(%map, ...) outs(%z)

    npu.relu ins(%x) outs(%part)               npu.relu ins(%x) outs(%early)
    npu.add ins(%part, %y) outs(%part)    =>   npu.add ins(%early, %y) outs(%early)
                                               memref.copy %early, %part {npu.moves}
    npu.conv2d ins(%concat, ...) ...           npu.conv2d ins(%concat, ...) ...

A life is split between two uses behind which nothing writes the map, and between which the maps do
not fit on chip. A part has a buffer of its own if the layers that use it would load it. In a
function whose maps fit, nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import MOVES
from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis.on_chip import functions, on_chip_values
from npu_passes.analysis.views import is_view, root_of, uses_of
from npu_passes.spilling.keep_parts import copied
from npu_passes.spilling.moves import Order, could_be_one, unite
from npu_passes.spilling.off_chip_types import packed_layout
from npu_passes.spilling.reader import Reader
from npu_passes.spilling.spill_maps import all_fit
from npu_passes.spilling.tile_bytes import least_bytes, needs_of, roomy_bytes
from npu_passes.spilling.traffic import lasting_traffic, writes
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass

LAYERS = 8
"""The fewest layers between two uses of a map between which its life is split."""


@dataclass(frozen=True)
class SplitLivesPass(RefusingPass):
    """Let maps be on chip for some of their readers; see the module.

    Without a machine with DMA it does nothing.
    """

    name = "npu-split-lives"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split the lives of the maps of every function whose maps do not fit."""
        machine = machine_of(op)
        if machine is None or not machine.dma_channels:
            return
        for function in functions(op):
            if any(on_chip_values(function, SramSpace())):
                split_lives(function, machine)


def split_lives(function: Operation, machine: Machine) -> None:
    """Split the lives of the maps of one function."""
    reader = Reader.of(function)
    least = needs_of(least_bytes, machine)
    if all_fit(reader, machine, (needs_of(roomy_bytes, machine), least)):
        return
    steps = reader.read(least, machine.alignment, spills=False).problem.steps
    full = {
        reader.lifetimes.ops[step.point]
        for step in steps
        if step.bytes(frozenset()) > machine.planned_bytes
    }
    sizes = {each.value: each.size for each in reader.lifetimes.buffers}
    large = {each for each in reader.roots if sizes.get(each, 0) > machine.planned_bytes}
    for view in list(walk_kind(function, memref.SubviewOp)):
        if root_of(view.result) in large:
            split_part(view)
    for value in [each for each in reader.roots if each in sizes and each not in large]:
        assert isinstance(value.owner, AllocOp)
        split_life(value.owner, full)


def split_part(view: memref.SubviewOp) -> None:
    """Give a part of a concatenation a buffer of its own, if layers would load the part."""
    home = view.parent
    users = {use.operation for use in view.result.uses}
    written = [use.operation for use in view.result.uses if writes(use)]
    if home is None or not written:
        return
    if not all(user.parent is home and is_computed_on_buffers(user) for user in users):
        return
    order = Order.of(home)
    type_ = memref_type(view.result)
    strides = [step for step in type_.get_strides() or () if step is not None]
    layout = packed_layout(type_.get_shape(), strides)
    own = AllocOp(MemRefType(type_.element_type, type_.get_shape(), layout, SramSpace()))
    own.buffer.name_hint = view.source.name_hint
    Rewriter.insert_op(own, InsertPoint.before(min(users, key=order.place)))
    last = max(written, key=order.place)
    move(list(view.result.uses), own, view.result, last, last)


def split_life(alloc: AllocOp, full: AbstractSet[Operation]) -> None:
    """Split the life of a map wherever that may let others stay on chip."""
    assert alloc.parent is not None
    order = Order.of(alloc.parent)
    written = [use.operation for use in uses_of(alloc.buffer) if writes(use)]
    if not written:
        return
    writer = max(written, key=order.place)
    for cut in reversed(list(cuts(alloc, order, writer, full))):
        early = AllocOp(memref_type(alloc.buffer))
        early.attributes.update(alloc.attributes)
        early.buffer.name_hint = alloc.buffer.name_hint
        Rewriter.insert_op(early, InsertPoint.after(alloc))
        uses = [use for use in alloc.buffer.uses if is_in_front(use, cut, order)]
        if not move(uses, early, alloc.buffer, cut, writer):
            return
        alloc = early


def cuts(
    alloc: AllocOp, order: Order, writer: Operation, full: AbstractSet[Operation]
) -> Iterator[Operation]:
    """The ops of a block behind which the life of a map can be split, in their order.

    `writer`: the last op that writes the map. `full`: ops at which the maps do not fit on chip.
    """
    ops = list(order.places)
    used = [span(use, order) for use in alloc.buffer.uses]
    places = sorted({order.place(use.operation) for use in uses_of(alloc.buffer)})
    for first, second in pairwise(places):
        if first < order.place(writer) or any(start <= first < end for start, end in used):
            continue
        between = ops[first + 1 : second]
        if sum(map(runs, between)) >= LAYERS and any(
            not full.isdisjoint(op.walk()) for op in between
        ):
            yield ops[first]


def is_in_front(use: Use, cut: Operation, order: Order) -> bool:
    """Whether a use of a map leads to ops up to a cut only; moves that this pass makes do not."""
    return not MOVES.is_on(use.operation) and span(use, order)[1] <= order.place(cut)


def runs(op: Operation) -> bool:
    """Whether an op is a layer, or a loop over layers."""
    return is_computed_on_buffers(op) or bool(op.regions)


def span(use: Use, order: Order) -> tuple[int, int]:
    """The places of the first and the last op that a use of a map, maybe as a view, leads to."""
    op = use.operation
    users = [each.operation for each in uses_of(op.results[0])] if is_view(op) else [op]
    places = [order.place(each) for each in users or [op]]
    return min(places), max(places)


def move(
    uses: Sequence[Use], early: AllocOp, target: SSAValue, place: Operation, writer: Operation
) -> bool:
    """Let some uses of a map use another buffer, and copy that to the map behind an op.

    If that is no move, or saves nothing, all stays as it was, and the result is false. `writer`:
    the layer to which the copy belongs.
    """
    for use in uses:
        use.operation.operands[use.index] = early.buffer
    copy = copied(early.buffer, target, writer)
    MOVES.set(copy, True)
    Rewriter.insert_op(copy, InsertPoint.after(place))
    if could_be_one(copy) and lasting_traffic(early.buffer) > 0:
        return True
    unite(copy)
    return False
