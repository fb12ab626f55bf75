"""Which buffers the ops of a loop read and write, and whether their contents outlive an iteration.

dma.start %rows to %tile     // reads %rows, writes all of %tile
npu.conv2d ins(%tile) ...    // reads what the same iteration wrote to %tile: %tile is private
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from npu_dialect.computing import computation_of, is_computed_on_buffers
from npu_dialect.dma import ReadsOp, StartOp, WritesOp
from npu_passes.analysis.views import is_buffer, is_view, key_of, root_of, uses_of, viewed_by


@dataclass(frozen=True)
class Access:
    """A read or write of a buffer or view by an op; `all_of_it`: the op writes every element."""

    op: Operation
    value: SSAValue
    reads: bool = False
    writes: bool = False
    all_of_it: bool = False

    @property
    def root(self) -> SSAValue:
        """The buffer to which the view belongs."""
        return root_of(self.value)

    @property
    def key(self) -> object:
        """The identity of the buffer; see `key_of`."""
        return key_of(self.value)


def accesses(top: Operation) -> Iterator[Access]:
    """The buffers that an op and the ops inside it read and write, in the order of the text."""
    for op in top.walk():
        match op:
            case StartOp():
                yield Access(op, op.source, reads=True)
                yield Access(op, op.target, writes=True, all_of_it=True)
            case memref.CopyOp():
                yield Access(op, op.source, reads=True)
                yield Access(op, op.destination, writes=True, all_of_it=True)
            case _ if (found := computation_of(op)) and found.destination is not None:
                yield from (Access(op, value, reads=True) for value in found.inputs)
                new = not found.accumulates
                yield Access(op, found.destination, reads=not new, writes=True, all_of_it=new)
            case memref.LoadOp():
                yield Access(op, op.memref, reads=True)
            case memref.StoreOp():
                yield Access(op, op.memref, writes=True)
            case ReadsOp() | WritesOp() | scf.YieldOp():
                pass  # counters; and no analysed loop carries buffers, so a yield accesses none
            case _ if not is_view(op) and not op.has_trait(
                IsTerminator, value_if_unregistered=False
            ):
                yield from by_effects(op)
            case _:
                pass


def is_known(op: Operation) -> bool:
    """Whether it is known what an op, and the ops inside it, read and write.

    If not, `accesses` tells what they may do to their operands, but not to other buffers.
    """
    return is_computed_on_buffers(op) or get_effects(op) is not None


def by_effects(op: Operation) -> Iterator[Access]:
    """What an op of another dialect does to its buffers, as its memory effects say.

    An effect without a value is on all of them. Without effects, all are read and written.
    """
    effects = get_effects(op)
    for value in dict.fromkeys(op.operands):
        if is_buffer(value):
            kinds = {effect.kind for effect in effects or () if effect.value in (None, value)}
            unknown = effects is None
            reads = unknown or MemoryEffectKind.READ in kinds
            writes = unknown or MemoryEffectKind.WRITE in kinds
            yield Access(op, value, reads=reads, writes=writes)


def private(buffer: SSAValue, loop: scf.ForOp) -> str | None:
    """Why a buffer's contents may outlive one iteration of a loop; None if they do not.

    They do not if every read follows a write of the same or a larger view. For a read in the loop,
    the write must be in the same iteration. For a read outside, the write must be outside too, and
    the loop must not run between the two.
    """
    found = list(accesses_to(buffer))
    writes = [each for each in found if each.all_of_it]
    for read in (each for each in found if each.reads):
        inside = loop.is_ancestor(read.op)
        if not any(
            write.op is not read.op
            and loop.is_ancestor(write.op) == inside
            and covers(write.value, read.value)
            and comes_before(write.op, read.op, None if inside else loop)
            for write in writes
        ):
            return "is not written anew in every step" if inside else "is used outside of the loop"
    return None


def accesses_to(buffer: SSAValue) -> Iterator[Access]:
    """All accesses to a buffer and its views."""
    for op in dict.fromkeys(use.operation for use in uses_of(buffer)):
        yield from (each for each in accesses(op) if each.op is op and each.root is buffer)


def covers(written: SSAValue, read: SSAValue) -> bool:
    """Whether `written` is the view `read`, or a view or buffer from which `read` is taken."""
    value = read
    while not same_view(written, value):
        whole = viewed_by(value)
        if whole is None:
            return False
        value = whole
    return True


def same_view(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values are the same, or subviews with the same source, offsets and sizes."""
    if one is other:
        return True
    if not isinstance(one, OpResult) or not isinstance(other, OpResult):
        return False
    first, second = one.op, other.op
    return bool(
        isinstance(first, memref.SubviewOp)
        and isinstance(second, memref.SubviewOp)
        and first.properties == second.properties
        and one.type == other.type
        and tuple(first.operands[1:]) == tuple(second.operands[1:])
        and same_view(first.source, second.source)
    )


def comes_before(first: Operation, second: Operation, between: Operation | None) -> bool:
    """Whether `first` always runs before `second`, in the same iteration of the loops around it.

    If `between` is given, it must not run between the two.
    """
    block = first.parent_block()
    assert block is not None
    later = block.find_ancestor_op_in_block(second)
    if later is None or later is first or not first.is_before_in_block(later):
        return False
    middle = None if between is None else block.find_ancestor_op_in_block(between)
    if middle is None:
        return True
    return middle is not later and not (
        first.is_before_in_block(middle) and middle.is_before_in_block(later)
    )
