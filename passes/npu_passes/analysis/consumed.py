"""Buffers that die row by row while an output takes their place: an analysis on memrefs.

`npu.consumes` on a loop asks whether it reads each row of its input before it writes the same row
of its output (`npu-fuse-tails` makes such loops). The loop's indices are run to find out
(`row_order.py`); the attribute is only a hint where to look:

    scf.for %r = %c0 to %c35 step %c1 {
      ... rows of %x, memref<1x288x35x35xi8, strided<[373248, 1296, 36, 1]>>, are copied ...
      ... row r of %slice of %y, memref<1x64x35x35xi8, strided<[373248, 1296, 36, 1], ...>> ...
    } {npu.consumes}

Then the slice may lie on %x, row on row and column on column: on its first channels if it is the
last slice of %y, so that the rest of %x lies behind %y; or on its last ones if it is the first.

A `memref.copy` out of a buffer that dies there is a similar case: as elements are copied in their
order, the target may lie on its source wherever it begins no higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import FixedBitwidthType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.attributes import CONSUMES
from npu_dialect.npu.layer import LayerOp
from npu_passes.analysis.row_order import rows_make_room
from npu_plans.arena.fillings import Filling
from npu_plans.arena.problem import Overlay


@dataclass(frozen=True)
class Planes:
    """A view [1, C, H, W] of a buffer: byte offset in it, bytes, and what its rows look like."""

    start: int
    size: int
    geometry: tuple[int, ...]

    @staticmethod
    def of(value: SSAValue) -> Planes | None:
        """The planes of a view at a static place; None for views of another kind."""
        type_ = value.type
        if not isa(type_, MemRefType[Attribute]) or not isinstance(
            type_.element_type, FixedBitwidthType
        ):
            return None
        offset, strides, shape = type_.get_offset(), type_.get_strides(), type_.get_shape()
        if len(shape) != 4 or shape[0] != 1 or offset is None or strides is None:
            return None
        _, plane, row, column = strides
        if plane is None or row is None or column is None:
            return None
        element = type_.element_type.size
        return Planes(
            offset * element, shape[1] * plane * element, (*shape[2:], plane, row, column, element)
        )


@dataclass(frozen=True)
class Life:
    """A buffer: the values that reach it, its bytes, its first and last point, how it is filled.

    Points number all ops of the function in the order of the text.
    """

    aliases: tuple[SSAValue, ...]
    size: int
    first: int
    last: int
    filling: Filling = ()

    def used_before(self, point: int, part: Planes) -> bool:
        """Whether a part of the buffer may be in use in front of a point."""
        steps = self.filling or [(self.first, 0, self.size)]
        end = part.start + part.size
        return any(at < point and start < end and part.start < stop for at, start, stop in steps)


def consumed(ops: Sequence[Operation], lives: Sequence[Life]) -> Iterator[Overlay]:
    """The pairs of buffers that may overlap at one distance because one dies row by row.

    `ops` are all ops of the function in the order of the text.
    """
    points = {op: point for point, op in enumerate(ops)}
    yield from copied(points, lives)
    for loop, point in points.items():
        if not isinstance(loop, scf.ForOp) or not CONSUMES.is_on(loop):
            continue
        end = point + sum(1 for _ in loop.walk()) - 1
        views = {index: view for index, each in enumerate(lives) if (view := seen(loop, each))}
        for source, above in views.items():
            if above.written or lives[source].last > end:
                continue
            for target, below in views.items():
                free = below.written and not below.read
                if not free or lives[target].used_before(point, below.planes):
                    continue
                found = pair(source, above.planes, target, below.planes, lives)
                if found and rows_make_room(loop, above.value, below.value, reads, writes):
                    yield from found


def copied(points: Mapping[Operation, int], lives: Sequence[Life]) -> Iterator[Overlay]:
    """Pairs of a buffer that is copied as a whole, and dies, and the one that it is copied to."""
    place = {each.aliases[0]: index for index, each in enumerate(lives)}
    for op, point in points.items():
        if not isinstance(op, memref.CopyOp) or op.source.type != op.destination.type:
            continue
        source, target = place.get(op.source), place.get(op.destination)
        if source is None or target is None:
            continue
        if lives[source].last <= point <= lives[target].first:
            yield Overlay(below=target, above=source, distance=0)


@dataclass(frozen=True)
class Seen:
    """A buffer as a loop sees it: the one view through which it does, and what it does with it."""

    value: SSAValue
    planes: Planes
    read: bool
    written: bool


def seen(loop: Operation, life: Life) -> Seen | None:
    """How a loop uses a buffer from outside; None if it does not, or not through one view."""
    views = [
        alias
        for alias in life.aliases
        if not encloses(loop, alias.owner)
        and any(encloses(loop, use.operation) for use in alias.uses)
    ]
    planes = Planes.of(views[0]) if len(views) == 1 else None
    if planes is None:
        return None
    uses = [use for alias in life.aliases for use in alias.uses if encloses(loop, use.operation)]
    written = any(writes(use.operation, use.operation.operands[use.index]) for use in uses)
    read = any(reads(use.operation, use.operation.operands[use.index]) for use in uses)
    return Seen(views[0], planes, read, written)


def encloses(loop: Operation, owner: object) -> bool:
    """Whether an op, or the block that owns a value, lies in a loop."""
    op = owner if isinstance(owner, Operation) else getattr(owner, "parent_op", lambda: None)()
    while isinstance(op, Operation):
        if op is loop:
            return True
        op = op.parent_op()
    return False


def writes(op: Operation, value: SSAValue) -> bool:
    """Whether an op writes a buffer, as far as is known."""
    if isinstance(op, LayerOp):
        return op.destination is value
    if isinstance(op, memref.StoreOp):
        return op.memref is value
    return not isinstance(op, memref.SubviewOp | memref.LoadOp)


def reads(op: Operation, value: SSAValue) -> bool:
    """Whether an op reads a buffer, as far as is known."""
    if isinstance(op, LayerOp):
        return value in op.inputs
    return not isinstance(op, memref.SubviewOp | memref.StoreOp)


def pair(
    source: int, above: Planes, target: int, below: Planes, lives: Sequence[Life]
) -> list[Overlay]:
    """The distances at which a target may lie on its source."""
    if above.geometry != below.geometry or above.start or above.size != lives[source].size:
        return []
    found: list[Overlay] = []
    if below.start + below.size == lives[target].size:
        found.append(Overlay(below=target, above=source, distance=below.start, exact=True))
    if below.start == 0:
        distance = lives[source].size - below.size
        found.append(Overlay(below=source, above=target, distance=distance, exact=True))
    return found
