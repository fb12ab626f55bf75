"""The types of a map that leaves the chip, and of its views: without gaps between its elements.

    %a : memref<1x64x35x35xi8, strided<[82944, 1296, 36, 1]>, #npu.sram>     in patches of 4x4
    ->   memref<1x64x35x35xi8, #npu.dram>

Only memory on chip has patches. Without them, the rows of a channel, and whole channels, are one
run of bytes, so a transfer has fewer address jumps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.npu.attributes import DramSpace
from npu_passes.analysis.views import views_of
from npu_passes.buffers.spaces import dense_strides
from npu_passes.support.loop_builder import memref_type


def off_chip(type_: MemRefType[Attribute], *, packed: bool) -> MemRefType[Attribute]:
    """The type of the same map off chip; without gaps between its elements if `packed`."""
    shape, strides = type_.get_shape(), type_.get_strides()
    layout = type_.layout
    if packed and strides is not None and type_.get_offset() == 0:
        known = [step for step in strides if step is not None]
        if len(known) == len(shape) and 0 not in shape:
            layout = packed_layout(shape, known)
    return MemRefType(type_.element_type, shape, layout, DramSpace())


def packed_layout(shape: tuple[int, ...], strides: Sequence[int]) -> StridedLayoutAttr | NoneAttr:
    """The layout without gaps in which the axes have the same order in memory."""
    inner_first = sorted(range(len(shape)), key=lambda axis: (strides[axis], -axis))
    steps, step = [0] * len(shape), 1
    for axis in inner_first:
        steps[axis] = step
        step *= shape[axis]
    return NoneAttr() if steps == dense_strides(shape) else StridedLayoutAttr(steps)


def can_be_packed(buffer: SSAValue) -> bool:
    """Whether the types of all views of a buffer follow from its type."""
    return memref_type(buffer).get_strides() is not None and all(
        isinstance(view.owner, memref.SubviewOp)
        and len(memref_type(view).get_shape()) == len(memref_type(buffer).get_shape())
        for view in views_of(buffer)
    )


def retype_views(buffer: SSAValue, *, packed: bool) -> None:
    """Let the views of a buffer, and theirs, lie where it does."""
    for view in list(views_of(buffer)):
        type_ = off_chip(memref_type(view), packed=False)
        if packed:
            assert isinstance(view.owner, memref.SubviewOp)
            type_ = inferred(view.owner)
        Rewriter.replace_value_with_new_type(view, type_)


def inferred(op: memref.SubviewOp) -> MemRefType[Attribute]:
    """The type of a view that follows from that of its source."""
    return memref.SubviewOp.infer_result_type(
        memref_type(op.source),
        list(mixed(op.static_offsets.iter_values(), op.offsets)),
        list(mixed(op.static_sizes.iter_values(), op.sizes)),
        list(mixed(op.static_strides.iter_values(), op.strides)),
    )


def mixed(static: Iterable[int], dynamic: Iterable[SSAValue]) -> Iterator[int | SSAValue]:
    """Numbers, and in the place of each unknown one the next value."""
    values = iter(dynamic)
    for number in static:
        yield next(values) if number == DYNAMIC_INDEX else number
