"""`npu-transpose-in-place`: read and write transposed maps where they lie (on buffers).

    %t = sram.alloc : memref<1x4x17x8xf32, #npu.sram>
    npu.transpose ins(%x : memref<1x17x4x8xf32, ...>) outs(%t : ...) perm [0, 2, 1, 3]
    npu.matmul ins(%t, %k : ...) outs(%s : ...)
becomes
    %t = memref.reinterpret_cast %x to offset: [0], sizes: [1, 4, 17, 8], strides: [544, 8, 32, 1]
    npu.matmul ins(%t, %k : ...) outs(%s : ...)

and a map that is computed to be transposed is computed at its place in the transposed one:

    %a = sram.alloc : memref<1x4x17x8xf32, #npu.sram>
    npu.matmul ins(%s, %v : ...) outs(%a : ...)
    npu.transpose ins(%a : ...) outs(%t : memref<1x17x4x8xf32, ...>) perm [0, 2, 1, 3]
becomes
    %a = memref.reinterpret_cast %t to offset: [0], sizes: [1, 4, 17, 8], strides: [544, 8, 32, 1]
    npu.matmul ins(%s, %v : ...) outs(%a : ...)

The decision: the transposed map needs no memory and no copy if the last axis stays the last, and if
all layers that use it read and write strided rows as fast as dense ones (`LayerOp.STRIDED`). So the
heads of attention are views of queries, keys and values. So is an image that the caller gives
with channels last, for layers with windows (`support/images.py`). A map that is written again while
its transposed form is in use keeps the copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, StridedLayoutAttr
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import TransposeOp
from npu_dialect.sram import AllocOp
from npu_passes.analysis.views import FROM_BASE, base_of, root_of
from npu_passes.buffers.concat_in_place import (
    hoist,
    is_box,
    retype_boxes,
    users_of,
    uses_behind,
    writes,
    written_before,
)
from npu_passes.support.images import READERS, takes_image
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass
from npu_plans.kernels.strides import Strided, restrided


@dataclass(frozen=True)
class TransposePlan:
    """How a transposition goes: `gone` is the buffer that becomes views of the buffer of `kept`.

    `layout` is that of `gone` in it. `views` are the layouts of all views of `gone`.
    """

    gone: SSAValue
    kept: SSAValue
    layout: Strided
    views: dict[SSAValue, Strided]


@dataclass(frozen=True)
class TransposeInPlacePass(RefusingPass):
    """Make views of transposed maps."""

    name = "npu-transpose-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the transpositions in order."""
        for each in [each for each in op.walk() if isinstance(each, TransposeOp)]:
            if each.destination is None:
                continue
            plan = plan_reading(each) or plan_writing(each)
            if plan is not None:
                rewrite(each, plan)


def plan_reading(op: TransposeOp) -> TransposePlan | None:
    """The plan in which the transposed map becomes a view of the map; None if it cannot."""
    out, block, source = op.out, op.parent_block(), op.input
    if out is None or block is None or written_before(out, op, block):
        return None
    if any(writes(use) for use in uses_behind(root_of(source), op, block)):
        return None
    if any(writes(use) for use in uses_behind(out, op, block)):
        return None
    layout = layout_of(source)
    perm = int_values(op.perm)
    if layout is None:
        return None
    return plan_views(op, out, source, layout.permuted(perm), image=takes_image(op))


def plan_writing(op: TransposeOp) -> TransposePlan | None:
    """The plan in which the map becomes a view of the transposed one; None if it cannot."""
    out, block, source = op.out, op.parent_block(), op.input
    if out is None or block is None or written_before(out, op, block):
        return None
    if any(True for _ in uses_behind(source, op, block)):
        return None
    if not isinstance(out, OpResult) and out.owner is not block:
        return None
    layout = layout_of(out)
    perm = int_values(op.perm)
    back = [perm.index(axis) for axis in range(len(perm))]
    return None if layout is None else plan_views(op, source, out, layout.permuted(back))


def plan_views(
    op: TransposeOp, gone: SSAValue, kept: SSAValue, layout: Strided, *, image: bool = False
) -> TransposePlan | None:
    """The plan for a buffer that becomes a view with `layout` of another; None if it cannot.

    With `image`, the channels may lie next to each other, if only layers with windows read it.
    """
    alloc, dense = gone.owner, layout_of(gone)
    if not isinstance(alloc, AllocOp) or alloc.parent is not op.parent or alloc.offset is not None:
        return None
    if memref_type(gone).memory_space != memref_type(kept).memory_space:
        return None
    if (
        dense is None
        or not (image or layout.rows_are_dense)
        or not all(takes(use, op, image=image) for use in users_of(gone))
    ):
        return None
    views: dict[SSAValue, Strided] = {}
    for view in static_views(gone):
        own = layout_of(view)
        new = None if own is None else restrided(dense, layout, own)
        if new is None or not (image or new.rows_are_dense):
            return None
        views[view] = new
    return TransposePlan(gone, kept, layout, views)


def takes(user: Operation, op: TransposeOp, *, image: bool) -> bool:
    """Whether a user of a buffer, or of a view of it, works on strided rows as on dense ones.

    Layers with windows work on an `image` whose elements lie apart.
    """
    if user is op or isinstance(user, memref.LoadOp | memref.StoreOp):
        return True
    if isinstance(user, FROM_BASE):
        here = user.parent is op.parent or is_box(user)
        return here and all(takes(each, op, image=image) for each in users_of(user.results[0]))
    windows = image and isinstance(user, READERS)
    return windows or (isinstance(user, LayerOp) and user.STRIDED)


def static_views(value: SSAValue) -> Iterator[SSAValue]:
    """The views of a buffer in its block; those in loops are views of these."""
    for user in users_of(value):
        if isinstance(user, FROM_BASE) and user.parent is value.owner.parent:
            yield user.results[0]
            yield from static_views(user.results[0])


def layout_of(value: SSAValue) -> Strided | None:
    """The layout of a buffer from the start of its base; None if it is not static."""
    type_ = memref_type(value)
    strides, offset = type_.get_strides(), type_.get_offset()
    if strides is None or offset is None:
        return None
    steps = [step for step in strides if step is not None]
    if len(steps) < len(strides):
        return None
    return Strided(tuple(type_.get_shape()), tuple(steps), offset)


def rewrite(op: TransposeOp, plan: TransposePlan) -> None:
    """Replace the buffer and its views by views of the other one; drop the transposition."""
    base, alloc = base_of(plan.kept), plan.gone.owner
    assert isinstance(alloc, AllocOp)
    if isinstance(base, OpResult):
        hoist(base.op, alloc)
    Rewriter.erase_op(op)
    for view, layout in reversed(list(plan.views.items())):
        assert isinstance(view.owner, Operation)
        replace(view, layout, base, view.owner)
    replace(plan.gone, plan.layout, base, alloc)


def replace(value: SSAValue, layout: Strided, base: SSAValue, op: Operation) -> None:
    """Replace the result of an op by a view of a base."""
    if value.first_use is not None:
        old = memref_type(value)
        type_ = MemRefType(
            old.element_type,
            layout.shape,
            StridedLayoutAttr(layout.strides, layout.offset),
            old.memory_space,
        )
        place = [layout.offset], layout.shape, layout.strides
        view = memref.ReinterpretCastOp(base, [], [], [], *place, type_)
        view.attributes.update(op.attributes)
        view.result.name_hint = value.name_hint
        Rewriter.insert_op(view, InsertPoint.before(op))
        value.replace_all_uses_with(view.result)
        retype_boxes(view.result)
    Rewriter.erase_op(op)
