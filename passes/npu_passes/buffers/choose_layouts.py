"""`npu-choose-layouts`: store quantised maps with their channels last (on buffers).

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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import is_buffer_type, map_type
from npu_dialect.npu.quantization import QUANTISED
from npu_dialect.sram import AllocOp
from npu_passes.analysis.views import uses_of
from npu_passes.buffers.concat_in_place import is_box, retype_boxes
from npu_passes.buffers.flatten_in_order import is_flattened, permute_weights
from npu_passes.support.refuse import RefusingPass

WORD = 4
"""How many elements a kernel reads at once."""


@dataclass(frozen=True)
class ChooseLayoutsPass(RefusingPass):
    """Store quantised maps with their channels last."""

    name = "npu-choose-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        for buffer in list(maps_to_relayout(op)):
            assert is_buffer_type(buffer.type)
            for use in buffer.uses:
                if isinstance(use.operation, memref.ReinterpretCastOp):
                    permute_weights(use.operation, op)
            retype_boxes(Rewriter.replace_value_with_new_type(buffer, channels_last(buffer.type)))


def maps_to_relayout(module: ModuleOp) -> Iterator[SSAValue]:
    """The map buffers that change to channels last, in the order of the IR."""
    for op in module.walk():
        if not isinstance(op, AllocOp):
            continue
        type_ = op.buffer.type
        assert is_buffer_type(type_)
        users = [use.operation for use in op.buffer.uses]
        readers = [use.operation for use in uses_of(op.buffer)]
        layers = [reader for reader in readers if isinstance(reader, LayerOp)]
        follows = all(
            isinstance(user, LayerOp | memref.LoadOp | memref.StoreOp)
            or is_box(user)
            or is_flattened(user, module)
            for user in users
        )
        if gains(type_) and follows and any(map(reads_integers, layers)):
            yield op.buffer


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


def channels_last(type_: MemRefType[Attribute]) -> MemRefType[Attribute]:
    """A type of the same shape [N, C, H, W] that is stored as [N, H, W, C]."""
    _, channels, height, width = type_.get_shape()
    row = width * channels
    layout = StridedLayoutAttr([height * row, 1, row, channels])
    return MemRefType(type_.element_type, type_.get_shape(), layout, type_.memory_space)


def is_channels_last(type_: MemRefType[Attribute]) -> bool:
    """Whether a map, or some rows of one, is stored densely as [N, H, W, C]."""
    if type_.get_num_dims() != 4:
        return False
    expected = channels_last(type_).get_strides()
    assert expected is not None
    steps = zip(type_.get_shape(), type_.get_strides() or (), expected, strict=False)
    return type_.get_strides() is not None and all(n == 1 or a == b for n, a, b in steps)
