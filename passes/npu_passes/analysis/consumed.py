"""Buffers that an output may overwrite row by row: an analysis on memrefs.

A loop may read each row of its input before it writes the same row of its output. `npu-fuse-tails`
makes such loops. The attribute `npu.consumes` is only a hint where to look; the analysis evaluates
the loop's indices to find out (`row_order.py`):

    scf.for %r = %c0 to %c35 step %c1 {
      ... rows of %x, memref<1x288x35x35xi8, strided<[373248, 1296, 36, 1]>>, are copied ...
      ... row r of %slice of %y, memref<1x64x35x35xi8, strided<[373248, 1296, 36, 1], ...>> ...
    } {npu.consumes}

Then the slice may overlap %x, each row on the same row and each column on the same column. If it is
the last slice of %y, it may lie on the first channels of %x: the rest of %x then lies behind %y. If
it is the first slice of %y, it may lie on the last channels of %x.

A `memref.copy` from a buffer that dies there is a similar case. Elements are copied in ascending
order, so the target may overlap its source if its offset is not larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import Operation, SSAValue

from npu_dialect.attributes import CONSUMES
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import is_buffer_type
from npu_passes.analysis.row_order import rows_make_room
from npu_plans.arena.fillings import Filling
from npu_plans.arena.problem import Overlay


@dataclass(frozen=True)
class Planes:
    """A view [1, C, H, W] of a buffer.

    `start` is its offset in the buffer and `size` its size, both in bytes. `geometry` holds H, W,
    the strides of C, H and W in elements, and the bytes of an element.
    """

    start: int
    size: int
    geometry: tuple[int, ...]

    @staticmethod
    def of(value: SSAValue) -> Planes | None:
        """The planes of a view.

        None if its rank is not 4, N is not 1, or its offset or a stride is not static.
        """
        type_ = value.type
        if not is_buffer_type(type_) or not isinstance(type_.element_type, FixedBitwidthType):
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
    """The life of one buffer, from program point `first` to `last`, both included.

    Program points number all ops of the function in the order of the text. `aliases` are the values
    through which the buffer can be reached, its own first. `size` is in bytes. `filling` says how
    the buffer is filled slice by slice; if it is empty, the buffer is in use as a whole.
    """

    aliases: tuple[SSAValue, ...]
    size: int
    first: int
    last: int
    filling: Filling = ()

    def used_before(self, point: int, part: Planes) -> bool:
        """Whether a part of the buffer may be in use before a program point."""
        steps = self.filling or [(self.first, 0, self.size)]
        end = part.start + part.size
        return any(at < point and start < end and part.start < stop for at, start, stop in steps)


def consumed(ops: Sequence[Operation], lives: Sequence[Life]) -> Iterator[Overlay]:
    """The pairs of buffers that may overlap because the output overwrites the dying input.

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
    """Pairs of a buffer that dies when it is copied as a whole, and the target of that copy."""
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
    """How a loop uses a buffer that lives outside of it.

    `value` is the only value from outside through which the loop reaches the buffer, `planes` its
    place in the buffer. `read` and `written` say what the loop does with it.
    """

    value: SSAValue
    planes: Planes
    read: bool
    written: bool


def seen(loop: Operation, life: Life) -> Seen | None:
    """How a loop uses a buffer.

    None if the loop does not use it, uses it through several values from outside, or through one
    that is no [1, C, H, W] with static strides.
    """
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
    """Whether `owner`, an op or block, lies in a loop or is the loop itself."""
    op = owner if isinstance(owner, Operation) else getattr(owner, "parent_op", lambda: None)()
    while isinstance(op, Operation):
        if op is loop:
            return True
        op = op.parent_op()
    return False


def writes(op: Operation, value: SSAValue) -> bool:
    """Whether an op may write a buffer; unknown ops may."""
    if isinstance(op, LayerOp):
        return op.destination is value
    if isinstance(op, memref.StoreOp):
        return op.memref is value
    if isinstance(op, memref.CopyOp):
        return op.destination is value
    return not isinstance(op, memref.SubviewOp | memref.LoadOp)


def reads(op: Operation, value: SSAValue) -> bool:
    """Whether an op may read a buffer; unknown ops may."""
    if isinstance(op, LayerOp):
        return value in op.inputs
    if isinstance(op, memref.CopyOp):
        return op.source is value
    return not isinstance(op, memref.SubviewOp | memref.StoreOp)


def pair(
    source: int, above: Planes, target: int, below: Planes, lives: Sequence[Life]
) -> list[Overlay]:
    """The overlays of a target slice on its source: on the first channels, the last, or neither.

    The source must be a whole buffer, and both must have the same geometry.
    """
    if above.geometry != below.geometry or above.start or above.size != lives[source].size:
        return []
    found: list[Overlay] = []
    if below.start + below.size == lives[target].size:
        found.append(Overlay(below=target, above=source, distance=below.start, exact=True))
    if below.start == 0:
        distance = lives[source].size - below.size
        found.append(Overlay(below=source, above=target, distance=distance, exact=True))
    return found
