"""Buffers for some rows of a map, views of rows, and what moves, copies and fills them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerType, MemRefType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from npu_dialect import dma
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import ui8
from npu_dialect.npu.row_windows import row_axis
from npu_dialect.npu.structure import provenance
from npu_dialect.sram import AllocOp
from npu_passes.support.common import for_each
from npu_passes.support.integers import store
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type


def in_shape(b: LoopBuilder, buffer: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A buffer of some rows as one of a map of this shape, which has more or fewer axes before."""
    type_ = memref_type(buffer)
    if len(type_.get_shape()) == len(shape):
        return buffer
    sizes = (*shape[:-2], *type_.get_shape()[-2:])
    steps = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
    wanted = MemRefType(type_.element_type, sizes, memory_space=type_.memory_space)
    return b.insert(memref.ReinterpretCastOp(buffer, [], [], [], [0], sizes, steps, wanted)).result


def move(
    b: LoopBuilder,
    source: SSAValue,
    target: SSAValue,
    channel: int,
    layer: LayerOp,
    *,
    weights: bool = False,
) -> None:
    """Build a DMA transfer for a layer, and the wait for it."""
    start = b.insert(dma.StartOp(source, target, channel, weights=weights), "t")
    start.attributes |= provenance(layer)
    b.insert(dma.WaitOp(start.token))


def rows_buffer(
    b: LoopBuilder, value: SSAValue, count: int, space: Attribute, hint: str
) -> SSAValue:
    """A new buffer for `count` rows of a map."""
    type_ = map_type(value)
    shape = (*type_.get_shape()[:-2], count, type_.get_shape()[-1])
    alloc = AllocOp(MemRefType(type_.get_element_type(), shape, memory_space=space))
    return b.insert(alloc, hint).buffer


def rows_of(b: LoopBuilder, buffer: SSAValue, first: Index, count: int, hint: str) -> SSAValue:
    """A view of `count` rows of a map; the map itself if these are all."""
    shape, axis = shape_of(buffer), row_axis(buffer)
    if count == shape[axis]:
        return buffer
    start = [first if place == axis else 0 for place in range(len(shape))]
    sizes = (*shape[:axis], count, shape[-1])
    return b.window(buffer, start, sizes, range(len(shape)), hint)


def move_up(b: LoopBuilder, window: SSAValue, stride: int, kept: int) -> tuple[()]:
    """Move the `kept` last rows of a window up by `stride` rows, the upper ones first."""
    copy(b, rows_of(b, window, stride, kept, "from"), rows_of(b, window, 0, kept, "to"))
    return ()


def copy(b: LoopBuilder, source: SSAValue, target: SSAValue) -> None:
    """Copy rows, in the order of their layout, which is chosen later."""
    b.insert(memref.CopyOp(source, target))


def hints_of(buffer: SSAValue) -> tuple[str, ...]:
    """Names for the indices of a map."""
    if len(shape_of(buffer)) == 4:
        return ("n", "c", "k", "x")
    return (*(f"i{place}" for place in range(row_axis(buffer))), "k", "x")


def fill(b: LoopBuilder, target: SSAValue, number: float) -> tuple[()]:
    """Fill a row with one number."""
    element = memref_type(target).element_type
    if isa(element, IntegerType):
        least, _ = element.value_range()
        type_ = i32 if element == ui8 else element  # arith has signless integers only
        value = b.integer(least if number == -inf else int(number), type_)
    else:
        value = b.real(number)
    names = hints_of(target)
    for_each(b, shape_of(target), lambda at: store(b, value, target, at), names)
    return ()
