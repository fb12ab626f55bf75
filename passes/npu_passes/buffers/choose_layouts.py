"""`npu-choose-layouts`: store maps with their channels last, or row by row (on buffers).

    %a = sram.alloc : memref<1x16x32x32xi8, #npu.sram>
becomes
    %a = sram.alloc : memref<1x16x32x32xi8, strided<[16384, 1, 512, 16]>, #npu.sram>

The decision: if all channels of a pixel are contiguous, a kernel row of a convolution is one run of
bytes or of 16-bit integers, which a core reads a word at a time. The shape stays [N, C, H, W], so
layers compute the same; only the strides of the type change. Runs before offsets are assigned.

A map keeps the model's layout if an op other than a layer or an access to one element uses it (a
reshape, a copy, a call), or if it has fewer than 4 channels. A map of one pixel keeps it too, as
both layouts are the same. So do inputs and outputs of the function, as the caller expects the
model's layout. Slices of a map follow it, such as the parts of a concatenation or the phases of a
transposed convolution. So do rows that a loop copies: with channels last, a row is one run of
bytes. If a map is flattened for fully connected layers, the columns of their weights follow
(`flatten_in_order.py`).

With `rows=true`, float maps at the memory peak are stored row by row, as [N, H, C, W]:

    %a = sram.alloc : memref<1x6x14x14xf32, #npu.sram>
becomes
    %a = sram.alloc : memref<1x6x14x14xf32, strided<[1176, 14, 84, 1]>, #npu.sram>

A layer then computes all channels of a row before the next row, and its output can follow its dying
input closely (`npu-overlay-maps`). Rows stay contiguous, so the inner loops are as fast as before.
So is a float map that a loop reads or writes in rows, wherever it is, and so are the rings in which
a loop keeps rows: their rows move as one run, and can lie over what the loop needs no more. A map
keeps the model's layout if an op other than a convolution, a pool or an element-wise layer uses it.
So does one that is filled slice by slice, as its slices would not be contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, StridedLayoutAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.attributes import PLANNED_AS
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import GlobalPoolOp, PoolOp
from npu_dialect.npu.maps import is_buffer_type, map_type
from npu_dialect.npu.quantization import QUANTISED
from npu_dialect.sram import AllocOp
from npu_passes.analysis.peaks import layers_at_peaks
from npu_passes.analysis.views import base_of, uses_of
from npu_passes.buffers.concat_in_place import is_box, retype_boxes
from npu_passes.buffers.flatten_in_order import is_flattened, permute_weights
from npu_passes.support.refuse import RefusingPass

WORD = 4
"""How many elements a kernel reads at once."""

CHANNELS_LAST, BY_ROWS = (2, 3, 1), (2, 1, 3)
"""Axes of an image of a map [N, C, H, W] from the outermost one on: pixel by pixel, row by row."""

BY_WINDOWS = (Conv2dOp, PoolOp, GlobalPoolOp)
"""Layers whose loops over rows may stand outside of those over channels."""

ACCESSES = (memref.LoadOp, memref.StoreOp, memref.CopyOp)
"""Ops that take any layout."""


@dataclass(frozen=True)
class ChooseLayoutsPass(RefusingPass):
    """Store quantised maps with their channels last."""

    name = "npu-choose-layouts"

    rows: bool = False
    """Store float maps at the memory peak row by row."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        for buffer in list(maps_to_relayout(op)):
            relayout(buffer, CHANNELS_LAST, op)
        if self.rows and not PLANNED_AS.is_on(op):
            for buffer in list(dict.fromkeys((*maps_at_peaks(op), *maps_in_rows(op)))):
                relayout(buffer, BY_ROWS, op)


def relayout(buffer: SSAValue, order: Sequence[int], module: ModuleOp) -> None:
    """Store a buffer, and the views of it, with its axes in another order."""
    assert is_buffer_type(buffer.type)
    for use in buffer.uses:
        if isinstance(use.operation, memref.ReinterpretCastOp):
            permute_weights(use.operation, module, order)
    type_ = in_order(buffer.type, order)
    retype_boxes(Rewriter.replace_value_with_new_type(buffer, type_))


def maps_to_relayout(module: ModuleOp) -> Iterator[SSAValue]:
    """The map buffers that change to channels last, in the order of the IR."""
    for op in module.walk():
        if not isinstance(op, AllocOp):
            continue
        type_ = op.buffer.type
        assert is_buffer_type(type_)
        readers = [use.operation for use in uses_of(op.buffer)]
        layers = [reader for reader in readers if isinstance(reader, LayerOp)]
        if gains(type_) and follows(op.buffer, module) and any(map(reads_integers, layers)):
            yield op.buffer


def follows(buffer: SSAValue, module: ModuleOp) -> bool:
    """Whether all users of a buffer take any layout."""
    users = [use.operation for use in buffer.uses]
    return all(
        isinstance(user, LayerOp | memref.LoadOp | memref.StoreOp)
        or is_box(user)
        or is_flattened(user, module)
        for user in users
    )


def maps_at_peaks(module: ModuleOp) -> Iterator[SSAValue]:
    """The float maps that are read or written by layers at the memory peak, each once."""
    ends = (
        layer.operands[end]
        for layer, pairs in layers_at_peaks(module, closest=True).items()
        for pair in pairs
        for end in pair
    )
    for buffer in dict.fromkeys(base_of(value) for value in ends):
        users = [use.operation for use in buffer.uses]
        if may_lie_by_rows(buffer) and all(takes_rows(user, module) for user in users):
            yield buffer


def maps_in_rows(module: ModuleOp) -> Iterator[SSAValue]:
    """The float maps and rings that loops read or write in rows, in the order of the IR."""
    for op in module.walk():
        if not isinstance(op, AllocOp) or not may_lie_by_rows(op.buffer):
            continue
        users = [use.operation for use in op.buffer.uses]
        rows = [user for user in users if has_rows(user, module)]
        others = [user for user in users if user not in rows]
        if rows and all(isinstance(user, ACCESSES) or takes_rows(user, module) for user in others):
            yield op.buffer


def may_lie_by_rows(buffer: SSAValue) -> bool:
    """Whether a buffer is a dense allocation of a float map of several channels and rows."""
    if not isinstance(buffer.owner, AllocOp) or not is_buffer_type(buffer.type):
        return False
    shape = buffer.type.get_shape()
    dense = buffer.type.element_type == f32 and isinstance(buffer.type.layout, NoneAttr)
    return dense and len(shape) == 4 and shape[1] > 1 and shape[2] > 1


def takes_rows(user: Operation, module: ModuleOp) -> bool:
    """Whether a user of a map reads it as well if it is stored row by row."""
    return computes_rows(user) or is_flattened(user, module)


def computes_rows(layer: Operation | Block) -> bool:
    """Whether a layer is as fast on maps that are stored row by row, and can finish their rows."""
    elementwise = isinstance(layer, LayerOp) and layer.ELEMENTWISE
    return elementwise or isinstance(layer, BY_WINDOWS)


def has_rows(view: Operation, module: ModuleOp) -> bool:
    """Whether an op is a view of some rows of a map in a loop, of all its channels and columns."""
    if not isinstance(view, memref.SubviewOp) or not is_box(view):
        return False
    images, channels, _, width = map_type(view.source).get_shape()
    *outer, _, columns = view.static_sizes.get_values()
    users = [use.operation for use in view.result.uses]
    return (
        (*outer, columns) == (images, channels, width)
        and not isinstance(view.parent_op(), FuncOp)
        and all(isinstance(user, ACCESSES) or takes_rows(user, module) for user in users)
    )


def reads_integers(layer: LayerOp) -> bool:
    """Whether all maps that a layer reads are quantised."""
    return all(map_type(value).get_element_type() in QUANTISED for value in layer.maps)


def gains(type_: MemRefType[Attribute]) -> bool:
    """Whether a buffer is a dense quantised map with at least 4 channels and 2 pixels."""
    shape = type_.get_shape()
    return (
        type_.element_type in QUANTISED
        and isinstance(type_.layout, NoneAttr)
        and len(shape) == 4
        and shape[1] >= WORD
        and prod(shape[2:]) > 1
    )


def in_order(type_: MemRefType[Attribute], order: Sequence[int]) -> MemRefType[Attribute]:
    """A type of the same shape [N, C, H, W] whose images are stored with axes in this order."""
    shape, step = type_.get_shape(), 1
    strides = [prod(shape[1:])] * 4
    for axis in reversed(order):
        strides[axis], step = step, step * shape[axis]
    layout = StridedLayoutAttr(strides)
    return MemRefType(type_.element_type, shape, layout, type_.memory_space)


def channels_last(type_: MemRefType[Attribute]) -> MemRefType[Attribute]:
    """A type of the same shape [N, C, H, W] that is stored as [N, H, W, C]."""
    return in_order(type_, CHANNELS_LAST)


def pixel_steps(type_: MemRefType[Attribute]) -> tuple[int, int] | None:
    """Elements from a pixel of a map [N, C, H, W] to the next in its row, and from row to row.

    None if the channels of a pixel are not neighbours in memory, or a distance is not known. Pixels
    may have gaps between them, as in a slice of a concatenation. In a single column, a pixel is a
    row, so both distances are that of rows.
    """
    steps = map_steps(type_)
    if steps is None:
        return None
    channel, pixel, line = steps
    _, channels, height, width = type_.get_shape()
    if width == 1:
        pixel = channels if height == 1 else line
    line = pixel * width if height == 1 else line
    apart = pixel >= channels and line >= channels
    return (pixel, line) if apart and (channel == 1 or channels == 1) else None


def map_steps(type_: MemRefType[Attribute]) -> tuple[int, int, int] | None:
    """Elements from a channel of a map [N, C, H, W] to the next, from a pixel, and from a row.

    None if a distance is not known.
    """
    strides = type_.get_strides()
    if type_.get_num_dims() != 4 or strides is None or None in strides:
        return None
    _, channel, line, pixel = (step or 0 for step in strides)
    return channel, pixel, line


def lies_in_planes(map: SSAValue) -> bool:
    """Whether all rows of a channel of a map lie in front of the next channel."""
    type_ = map.type
    steps = map_steps(type_) if is_buffer_type(type_) else None
    return steps is not None and steps[0] > max(steps[1:])


def is_channels_last(type_: MemRefType[Attribute]) -> bool:
    """Whether a map, or some rows of one, is stored densely as [N, H, W, C]."""
    if type_.get_num_dims() != 4:
        return False
    expected = channels_last(type_).get_strides()
    assert expected is not None
    steps = zip(type_.get_shape(), type_.get_strides() or (), expected, strict=False)
    return type_.get_strides() is not None and all(n == 1 or a == b for n, a, b in steps)
