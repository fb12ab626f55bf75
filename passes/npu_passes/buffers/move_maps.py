"""`npu-move-maps`: copy a map that has overwritten its input to a better place (on memrefs).

    scf.for %r = ... { ... a slice of %y takes the place of %x ... } {npu.consumes}
    npu.conv2d ins(%y, ...) outs(%z : ...)
becomes
    scf.for %r = ... { ... } {npu.consumes}
    %y_1 = sram.alloc : memref<1x288x35x35xf32, #npu.sram>
    "memref.copy"(%y, %y_1)
    npu.conv2d ins(%y_1, ...) outs(%z : ...)

The decision: after a loop with `npu.consumes` (`npu-fuse-tails`), the map lies in the middle of the
arena, on the memory of its dead input. The next layers may need contiguous memory on one side of
it. The copy stays on chip. It may overlap the old map at a lower offset, as elements are copied in
ascending order.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import CONSUMES
from npu_dialect.sram import AllocOp
from npu_passes.analysis.consumed import encloses, writes
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class MoveMapsPass(RefusingPass):
    """Copy maps that have overwritten their input row by row."""

    name = "npu-move-maps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        for loop in list(op.walk()):
            if isinstance(loop, scf.ForOp) and CONSUMES.is_on(loop):
                for buffer in filled_by(loop):
                    move(buffer, loop)


def filled_by(loop: scf.ForOp) -> list[SSAValue]:
    """The buffers of which a loop writes the last slice, and which are only read after it.

    They must be allocated in the block of the loop, in front of it, without an offset.
    """
    block = loop.parent
    assert block is not None
    found: list[SSAValue] = []
    for alloc in block.ops:
        if alloc is loop:
            break
        if not isinstance(alloc, AllocOp) or alloc.offset is not None:
            continue
        views = [use.operation for use in alloc.buffer.uses]
        slices = [
            view.result
            for view in views
            if isinstance(view, memref.SubviewOp) and not is_behind(view, loop)
        ]
        into = [value for value in slices if is_filled(value, loop)]
        if into and not any(is_used_behind(value, loop) for value in slices):
            behind = [view for view in views if is_behind(view, loop)]
            if behind and not any(writes(view, alloc.buffer) for view in behind):
                found.append(alloc.buffer)
    return found


def is_filled(view: SSAValue, loop: Operation) -> bool:
    """Whether a loop writes rows of a view."""
    return any(
        isinstance(use.operation, memref.SubviewOp)
        and encloses(loop, use.operation)
        and any(
            writes(inner.operation, use.operation.result) for inner in use.operation.result.uses
        )
        for use in view.uses
    )


def is_behind(user: Operation, loop: Operation) -> bool:
    """Whether an op stands after a loop in its block, or outside of that block."""
    block = loop.parent
    assert block is not None
    top = block.find_ancestor_op_in_block(user)
    return top is None or (top is not loop and loop.is_before_in_block(top))


def is_used_behind(view: SSAValue, loop: Operation) -> bool:
    """Whether a view is used after a loop."""
    return any(is_behind(use.operation, loop) for use in view.uses)


def move(buffer: SSAValue, loop: Operation) -> None:
    """Copy a buffer after a loop; everything after the loop uses the copy."""
    users = [use for use in buffer.uses if is_behind(use.operation, loop)]
    alloc = AllocOp(memref_type(buffer))
    alloc.buffer.name_hint = buffer.name_hint
    copy = memref.CopyOp(buffer, alloc.buffer)
    Rewriter.insert_op([alloc, copy], InsertPoint.after(loop))
    for use in users:
        use.operation.operands[use.index] = alloc.buffer
