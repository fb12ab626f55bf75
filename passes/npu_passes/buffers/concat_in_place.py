"""`npu-concat-in-place`: write the parts of a concatenation into their slices (on buffers).

    %a = sram.alloc : memref<1x2x4x4xf32, #npu.sram>
    npu.relu ins(%x : ...) outs(%a : ...)
    %b = sram.alloc : memref<1x3x4x4xf32, #npu.sram>
    npu.conv2d ins(%x, %w : ...) outs(%b : ...)
    %y = sram.alloc : memref<1x5x4x4xf32, #npu.sram>
    npu.concat ins(%a, %b : ...) outs(%y : ...) axis 1
becomes
    %y = sram.alloc : memref<1x5x4x4xf32, #npu.sram>
    %a = memref.subview %y[0, 0, 0, 0] [1, 2, 4, 4] [1, 1, 1, 1] : ...
    npu.relu ins(%x : ...) outs(%a : ...)
    %b = memref.subview %y[0, 2, 0, 0] [1, 3, 4, 4] [1, 1, 1, 1] : ...
    npu.conv2d ins(%x, %w : ...) outs(%b : ...)

An interleaving of maps gets strided slices in the same way:

    %y = sram.alloc : memref<1x2x4x8xf32, #npu.sram>
    %odd = memref.subview %y[0, 0, 0, 1] [1, 2, 4, 4] [1, 1, 1, 2] : ...

The decision: a concatenation copies nothing if its parts are buffers that only layers use. Other
parts are copied into their slices as before: an input of the function, a view, a buffer that the
concatenation uses twice or that is changed after it. If the concatenation writes an off-chip output
of the function, it gets an on-chip buffer, if that fits, which is then copied to the output as a
whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, JoinOp
from npu_dialect.npu.layers.joining import Box
from npu_dialect.npu.maps import is_buffer_type, shape_of
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_passes.analysis.on_chip import size_of
from npu_passes.analysis.views import uses_of
from npu_passes.buffers.spaces import Spaces
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class Part:
    """One part of a concatenation.

    `buffer` holds it, `place` its slice of the output. `moves`: the slice can replace the
    buffer; otherwise the part is copied.
    """

    buffer: SSAValue
    place: Box
    moves: bool


@dataclass(frozen=True)
class ConcatPlan:
    """What happens to a concatenation: the slice for each part in order, and the output buffer."""

    out: SSAValue
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class ConcatInPlacePass(RefusingPass):
    """Write the parts of concatenations straight into the output."""

    name = "npu-concat-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite later concatenations first: their slices may replace outputs of earlier ones."""
        machine = machine_of(op)
        spaces = Spaces.of(machine)
        concats = [each for each in op.walk() if isinstance(each, JoinOp)]
        for concat in reversed(concats):
            if concat.destination is None or plan_concat(concat) is None:
                continue
            if space_of(concat.destination) == DramSpace():
                alloc = AllocOp(on_chip_type(concat.destination, spaces))
                if machine and size_of(alloc, alloc.buffer.type) > machine.planned_bytes:
                    continue
                concat = staged(concat, alloc)
            if (plan := plan_concat(concat)) is not None:
                rewrite(concat, plan)


def space_of(buffer: SSAValue) -> Attribute:
    """The memory space of a buffer."""
    return memref_type(buffer).memory_space


def on_chip_type(buffer: SSAValue, spaces: Spaces) -> MemRefType[Attribute]:
    """The type of an on-chip buffer for the same map."""
    type_ = memref_type(buffer)
    return spaces.map_type(TensorType(type_.element_type, type_.get_shape()))


def staged(concat: JoinOp, alloc: AllocOp) -> JoinOp:
    """Replace a concatenation by one into a new buffer, and a copy of that to the output."""
    out = concat.out
    assert out is not None
    alloc.buffer.name_hint = out.name_hint
    new = concat.rebuilt(concat.inputs, alloc.buffer)
    copy = memref.CopyOp(alloc.buffer, out)
    Rewriter.insert_op([alloc, new, copy], InsertPoint.before(concat))
    Rewriter.erase_op(concat)
    return new


def plan_concat(concat: JoinOp) -> ConcatPlan | None:
    """Which parts of a concatenation can be written in place; None if none can."""
    out, block = concat.destination, concat.parent_block()
    if out is None or block is None or written_before(out, concat, block):
        return None
    changed = any(writes(use) for use in uses_behind(out, concat, block))
    parts: list[Part] = []
    for part, place in zip(concat.parts, concat.boxes(), strict=True):
        once = sum(other is part for other in concat.parts) == 1
        moves = once and is_free(part, concat, block, changed=changed)
        parts.append(Part(part, place, moves))
    return ConcatPlan(out, tuple(parts)) if any(each.moves for each in parts) else None


def is_free(part: SSAValue, concat: JoinOp, block: Block, *, changed: bool) -> bool:
    """Whether a slice of the output can replace the buffer of a part.

    The buffer must be allocated in the same block and have no offset yet. Only layers and views
    with all its axes may use it. After the concatenation it must not be written, through a view or
    not. If the output is written after the concatenation (`changed`), the buffer must not be used
    there at all.
    """
    alloc = part.owner
    if not isinstance(alloc, AllocOp) or alloc.parent is not block or alloc.offset is not None:
        return False
    if not all(isinstance(user, LayerOp) or is_box(user) for user in users_of(part)):
        return False
    return not any(changed or writes(use) for use in uses_behind(part, concat, block))


def users_of(value: SSAValue) -> list[Operation]:
    """The ops that use a value."""
    return [use.operation for use in value.uses]


def is_box(view: Operation) -> bool:
    """Whether an op is a view with all axes, for such views, accesses, copies and layers only."""
    users = (LayerOp, memref.LoadOp, memref.StoreOp, memref.CopyOp)
    return (
        isinstance(view, memref.SubviewOp)
        and len(memref_type(view.result).get_shape()) == len(memref_type(view.source).get_shape())
        and all(isinstance(user, users) or is_box(user) for user in users_of(view.result))
    )


def written_before(out: SSAValue, op: Operation, block: Block) -> bool:
    """Whether an op before `op` uses a buffer."""
    return any(not is_behind(use, op, block) for use in uses_of(out))


def is_behind(use: Use, op: Operation, block: Block) -> bool:
    """Whether a use is `op`, or lies behind it in its block."""
    user = block.find_ancestor_op_in_block(use.operation)
    return user is op or (user is not None and op.is_before_in_block(user))


def uses_behind(value: SSAValue, op: Operation, block: Block) -> Iterator[Use]:
    """The uses of a buffer, through views or not, by ops of a block behind `op`."""
    for use in uses_of(value):
        if use.operation is not op and is_behind(use, op, block):
            yield use


def writes(use: Use) -> bool:
    """Whether an op may write a buffer; only layers and copies are known to just read one."""
    user = use.operation
    if isinstance(user, memref.CopyOp | LayerOp):
        return use.index == len(user.operands) - 1
    return True


def rewrite(concat: JoinOp, plan: ConcatPlan) -> None:
    """Replace the buffers of parts by slices of the output, or copy the parts; drop the op."""
    home = plan.out.owner
    moved = [each for each in plan.parts if each.moves]
    allocs = [each.buffer.owner for each in moved]
    first = min(
        (alloc for alloc in allocs if isinstance(alloc, Operation)),
        key=lambda op: op.parent.get_operation_index(op) if op.parent else 0,
    )
    if isinstance(plan.out, OpResult) and isinstance(home, Operation):
        hoist(home, first)
    for each in plan.parts:
        before = each.buffer.owner if each.moves else concat
        assert isinstance(before, Operation)
        view = slice_of(plan.out, each)
        Rewriter.insert_op(view, InsertPoint.before(before))
        view.result.name_hint = each.buffer.name_hint
        if each.moves:
            each.buffer.replace_all_uses_with(view.result)
            retype_boxes(view.result)
            Rewriter.erase_op(before)
        else:
            copy = copied(concat, each.buffer, view.result)
            copy.attributes.update(concat.attributes)
            Rewriter.insert_op(copy, InsertPoint.before(concat))
    Rewriter.erase_op(concat)


def retype_boxes(value: SSAValue) -> None:
    """Give the views of a buffer its new strides, and the offset if it is static."""
    type_ = memref_type(value)
    for box in users_of(value):
        if not isinstance(box, memref.SubviewOp):
            continue
        offsets, steps = (
            [None if entry == DYNAMIC_INDEX else entry for entry in entries.get_values()]
            for entries in (box.static_offsets, box.static_strides)
        )
        pitches = type_.get_strides()
        assert pitches is not None
        strides = [
            None if pitch is None or step is None else pitch * step
            for pitch, step in zip(pitches, steps, strict=True)
        ]
        layout = StridedLayoutAttr(strides, shifted(type_, offsets))
        shape = memref_type(box.result).get_shape()
        result = MemRefType(type_.element_type, shape, layout, type_.memory_space)
        retype_boxes(Rewriter.replace_value_with_new_type(box.result, result))


def shifted(type_: MemRefType[Attribute], offsets: Sequence[int | None]) -> int | None:
    """The offset of a view that starts at these indices of a buffer; None if it is not static."""
    total, pitches = type_.get_offset(), type_.get_strides() or ()
    for index, pitch in zip(offsets, pitches, strict=True):
        if total is None or index is None or pitch is None:
            return None
        total += index * pitch
    return total


def copied(concat: JoinOp, part: SSAValue, view: SSAValue) -> Operation:
    """An op that copies a part into its slice: a concatenation, or a copy from another memory."""
    if space_of(part) != space_of(view):
        return memref.CopyOp(part, view)
    axis = concat.axis.value.data if isinstance(concat, ConcatOp) else 0
    return ConcatOp([part], axis, view)


def hoist(op: Operation, before: Operation) -> None:
    """Move the op that makes the output's buffer, and its operands, in front of `before`."""
    if op.is_before_in_block(before):
        return
    for operand in op.operands:
        if isinstance(operand.owner, Operation):
            hoist(operand.owner, before)
    op.detach()
    Rewriter.insert_op(op, InsertPoint.before(before))


def slice_of(out: SSAValue, each: Part) -> memref.SubviewOp:
    """The subview of the output for one part."""
    source, shape, place = out.type, shape_of(each.buffer), each.place
    assert is_buffer_type(source)
    result = memref.SubviewOp.infer_result_type(source, place.offsets, shape, place.steps)
    return memref.SubviewOp.get(out, place.offsets, shape, place.steps, result)
