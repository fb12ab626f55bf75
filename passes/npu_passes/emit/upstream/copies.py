"""Copies between buffers with gaps, and between buffers that share bytes, become loops.

    "memref.copy"(%x, %y) : (memref<4x8xf32>, memref<4x8xf32, strided<[16, 1]>>) -> ()
becomes
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        ... memref.load %x[%i, %j]; memref.store to %y[%i, %j]

Upstream makes a `memcpy` of a copy between gapless buffers, which must not share bytes. Of others
it makes a call of `memrefCopy` in a library of its own, which bare metal has not. A gapless buffer
may move to a lower or higher place that overlaps it: then the loop runs from its first element to
the last, or back.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import inf

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from npu_dialect.npu.maps import element_bytes
from npu_dialect.sram import reach_of
from npu_passes.analysis.views import base_of, root_of
from npu_passes.emit.upstream.arena import Place, place_of, place_of_port
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type


class Order(Enum):
    """The order in which the elements of a copy may be moved."""

    ANY = "any"
    """The two ends share no bytes."""
    STAY = "stay"
    """Both ends are the same bytes."""
    UP = "up"
    """From the first element to the last one."""
    DOWN = "down"
    """From the last element to the first one."""
    NONE = "none"
    """No order is known to be right."""


def order_of(op: memref.CopyOp) -> Order:
    """The order of a copy. The offsets of its buffers must stand in the IR still."""
    ends = op.source, op.destination
    roots = root_of(ends[0]), root_of(ends[1])
    one, other = (place_of_buffer(root) for root in roots)
    if roots[0] is not roots[1] and (one is None or other is None or one.pool != other.pool):
        return Order.ANY
    (first, last), (start, end) = (
        bytes_of(buffer, 0 if place is None else place.offset)
        for buffer, place in zip(ends, (one, other), strict=True)
    )
    if first >= end or start >= last:
        return Order.ANY
    if inf in (last, end) or not all(map(is_row_major, ends)):
        return Order.NONE
    if first == start:
        return Order.STAY
    return Order.UP if start < first else Order.DOWN


def place_of_buffer(root: SSAValue) -> Place | None:
    """Where a whole buffer lies; None if it has no offset."""
    if isinstance(root, BlockArgument):
        return place_of_port(root)
    return place_of(root.owner) if isinstance(root.owner, Operation) else None


def bytes_of(buffer: SSAValue, begin: int) -> tuple[float, float]:
    """The first byte of a buffer and the one behind its last, if its root is at `begin`."""
    type_, root = memref_type(buffer), root_of(buffer)
    reach = reach_of(type_.get_shape(), type_.get_strides())
    offset = type_.get_offset()
    if offset is None or reach is None or base_of(buffer) is not root:
        return begin, inf
    size = element_bytes(type_)
    return begin + offset * size, begin + (offset + reach) * size


def is_row_major(buffer: SSAValue) -> bool:
    """Whether the elements lie one behind the other, the last axis innermost; at any offset."""
    type_ = memref_type(buffer)
    plain = MemRefType(type_.element_type, type_.get_shape())
    return type_.has_static_shape() and type_.get_strides() == plain.get_strides()


def expand_copy(b: LoopBuilder, op: memref.CopyOp, order: Order) -> bool:
    """Build the loops of a copy, if it needs them; returns whether they replace it."""
    if order is Order.STAY:
        return True
    shape = memref_type(op.source).get_shape()
    plain = (is_row_major(op.source) and is_row_major(op.destination)) or -1 in shape
    if order is Order.ANY and plain:
        return False
    copy(b, op, order, [])
    return True


def copy(b: LoopBuilder, op: memref.CopyOp, order: Order, at: Sequence[Index]) -> None:
    """Build the loops over the axes behind those of `at`."""
    shape = memref_type(op.source).get_shape()
    if len(at) == len(shape):
        b.store(b.load(op.source, at), op.destination, at)
        return
    extent = shape[len(at)]

    def body(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
        copy(b, op, order, [*at, b.sub(extent - 1, index) if order is Order.DOWN else index])
        return ()

    b.loop(0, extent, body)
