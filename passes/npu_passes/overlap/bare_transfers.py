"""Which layers stand beside bare transfers: the analysis of `npu-split-layers`.

    %t = dma.start %kernels to %w        // waited: between the layer in front of this one and it
    dma.wait %t
    npu.conv2d ins(%x, %w) outs(%y)      // the layer: its loop `out` cuts %w, %y and the bias
    %u = dma.start %y to %map            // left: started before the layer behind this one
    dma.wait %u

or the layer overwrites what a store reads, which has started at any place in front of it:

    %u = dma.start %y to %map
    dma.wait %u                          // between the layer in front of this one and it
    npu.conv2d ins(%x, %w) outs(%y)

These conditions are checked:

- a slice of the layer needs that slice of what is moved, and nothing else of its buffer; it is one
  along the outermost axis, so that no run is cut into several;
- no other transfer between the two layers touches what the transfer touches, which has no blocks;
- the addresses of a store are known in front of the layer;
- the layer writes no memory that it reads, but for elements in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, OpResult, SSAValue

from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.dma import ReadsOp, StartOp, WaitOp, WritesOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import element_bytes, is_buffer_type
from npu_dialect.sram import AllocOp
from npu_passes.analysis.accesses import same_view
from npu_passes.analysis.timed_ops import is_free
from npu_passes.analysis.views import root_of
from npu_passes.overlap.overlap import in_dram
from npu_passes.overlap.split_transfers import Flight
from npu_passes.support.loop_builder import memref_type
from npu_passes.tiling.layer_spaces import space_of
from npu_plans.prefetch.plan import meet
from npu_plans.prefetch.problem import Span
from npu_plans.tiles.operand_regions import Piece, Space
from npu_plans.tiles.slices import axis_along, loops_of

QUIET = (StartOp, WaitOp, AllocOp, ReadsOp, WritesOp, memref.GetGlobalOp)
"""Ops that neither compute nor touch a buffer, besides those that compute addresses; a transfer
touches what it moves."""


@dataclass(frozen=True)
class Cut:
    """A transfer to be cut along an axis. `channels`: that of each part."""

    flight: Flight
    axis: int
    channels: Sequence[int] = ()


@dataclass(frozen=True)
class Split:
    """A layer to be computed in groups along one of its loops.

    `sizes`: the slices of each group. `others`: whole loads that the layer waits for. `earlier`:
    stores of what was in its output before.
    """

    layer: LayerOp
    space: Space
    loop: str
    loads: tuple[Cut, ...]
    stores: tuple[Cut, ...]
    others: tuple[Flight, ...]
    earlier: tuple[Cut, ...] = ()
    sizes: tuple[int, ...] = ()

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """All transfers that are cut."""
        return (*self.loads, *self.stores, *self.earlier)

    @property
    def extent(self) -> int:
        """The slices of the layer along its loop."""
        return self.space.loop(self.loop).extent

    def tile(self, first: int, count: int) -> dict[str, Piece]:
        """The pieces of all loops for some slices of the layer."""
        whole = {loop.name: Piece(0, loop.extent) for loop in self.space.loops}
        return {**whole, self.loop: Piece(first, count)}


def bytes_of(flight: Flight) -> int:
    """The bytes of a transfer, which may leave out blocks of them."""
    type_ = memref_type(flight.start.target)
    return prod(type_.get_shape()) * element_bytes(type_)


def candidates_of(block: Block, flights: Sequence[Flight], least: Fraction) -> Iterator[Split]:
    """The layers of a block beside bare transfers that can be cut, one of `least` bytes or more.

    `flights`: all transfers of the block.
    """
    ops = list(block.ops)
    layers = [at for at, op in enumerate(ops) if isinstance(op, LayerOp)]
    if not layers:
        return
    busy = [-1, *(at for at, op in enumerate(ops) if not is_quiet(op)), len(ops)]
    place = {at: index for index, at in enumerate(busy)}
    for at in layers:
        layer, (before, behind) = ops[at], (busy[place[at] + step] for step in (-1, 1))
        assert isinstance(layer, LayerOp)
        near = [
            each
            for each in flights
            if (before < each.first < behind and (each.first > at or each.last < behind))
            or (before < each.last < at and not in_dram(each.start.source))
        ]
        if not any(bytes_of(each) >= least for each in near):
            continue
        if is_apart(layer) and (found := candidate(layer, at, near, flights)) is not None:
            yield found


def is_quiet(op: Operation) -> bool:
    """Whether an op only moves data between chip and DRAM, or computes an address."""
    return isinstance(op, QUIET) or (is_free(op) and not is_computed_on_buffers(op))


def is_apart(op: LayerOp) -> bool:
    """Whether a layer on buffers writes no memory that it reads, but for elements in place."""
    if op.destination is None or op.working_memory is not None:
        return False
    *inputs, out = op.operands
    return not any(is_shared(each, out) for each in inputs if is_buffer_type(each.type))


def is_shared(one: SSAValue, out: SSAValue) -> bool:
    """Whether two buffers may share memory on chip, unless they are the same view."""
    if same_view(one, out):
        return False
    first, second = (span_of(root_of(each)) for each in (one, out))
    return first is None or second is None or meet(first, second)


def span_of(root: SSAValue) -> Span | None:
    """The first byte of a buffer and the end (excluded); None if its offset is not known."""
    if not isinstance(root, OpResult) or not isinstance(root.op, AllocOp) or root.op.place is None:
        return None
    type_ = memref_type(root)
    return root.op.place, root.op.place + prod(type_.get_shape()) * element_bytes(type_)


def candidate(
    layer: LayerOp, at: int, near: Sequence[Flight], flights: Sequence[Flight]
) -> Split | None:
    """How a layer at a place can be split, with the bare transfers that can be cut; or None.

    `near`: the transfers between the layers in front of it and behind it, and stores that start
    there, but are waited for later, or start earlier and are waited for there.
    """
    waited = [each for each in near if each.last < at and in_dram(each.start.source)]
    left = [each for each in near if each.first > at and is_movable(each.start, layer)]
    space = space_of(layer)
    for name in loops_of(space):
        axes = [axis_along(operand, name) for operand in space.operands]
        if (out := axis_of(layer, layer.operands[-1], axes)) is None:
            continue
        loads = [
            Cut(each, axis)
            for each in waited
            if is_alone(each, range(each.first, at), flights)
            and (axis := axis_of(layer, each.start.target, axes)) is not None
            and is_outermost(each.start, axis)
        ]
        stores = [
            Cut(each, out)
            for each in left
            if is_alone(each, range(at, each.last), flights)
            and is_outermost(each.start, out)
            and same_view(each.start.source, layer.operands[-1])
            and not any(each.meets(load.flight) for load in loads)
        ]
        earlier = [
            Cut(each, out)
            for each in near
            if each.last < at
            and is_alone(each, range(each.first, at), flights)
            and is_outermost(each.start, out)
            and same_view(each.start.source, layer.operands[-1])
            and not any(each.meets(store.flight) for store in stores)
        ]
        if loads or stores or earlier:
            whole = {each.flight.start for each in loads}
            others = tuple(each for each in waited if each.start not in whole)
            return Split(layer, space, name, tuple(loads), tuple(stores), others, tuple(earlier))
    return None


def axis_of(layer: LayerOp, view: SSAValue, axes: Sequence[int | None]) -> int | None:
    """The axis of an operand along which a layer takes it slice by slice, if there is one.

    `view`: the operand, or the same view. None if another operand is another view of its buffer.
    `axes`: for each operand the axis that follows the loop.
    """
    same, root = list[int | None](), root_of(view)
    for value, axis in zip(layer.operands, axes, strict=True):
        if root_of(value) is root:
            same.append(axis if same_view(view, value) else None)
    return same[0] if same and len(set(same)) == 1 else None


def is_outermost(start: StartOp, axis: int) -> bool:
    """Whether the parts of a transfer along an axis have no more runs than all of it."""
    return prod(memref_type(start.target).get_shape()[:axis]) == 1


def is_alone(flight: Flight, places: range, flights: Sequence[Flight]) -> bool:
    """Whether no other transfer at these places touches what one touches, which has no blocks."""
    if flight.start.block is not None or flight.start.blocked:
        return False
    beside = (each for each in flights if each.first < places.stop and places.start < each.last)
    return not any(each is not flight and each.meets(flight) for each in beside)


def is_movable(start: StartOp, layer: LayerOp) -> bool:
    """Whether a start behind a layer can be in front of it, as far as its addresses go."""
    return not in_dram(start.source) and all(map(is_free, addresses(start, layer)))


def addresses(start: StartOp, layer: LayerOp) -> list[Operation]:
    """The ops between a layer and a start that compute the addresses of the start, in order."""
    needed, found = set(start.operands), list[Operation]()
    op = start.prev_op
    while op is not None and op is not layer:
        if needed.intersection(op.results):
            found.append(op)
            needed.update(op.operands)
        op = op.prev_op
    return found[::-1]
