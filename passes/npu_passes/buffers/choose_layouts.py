"""`npu-choose-layouts`: maps of bytes with their channels last (on buffers, before offsets).

    %a = sram.alloc : memref<1x16x32x32xi8, #npu.sram>
becomes
    %a = sram.alloc : memref<1x16x32x32xi8, strided<[16384, 1, 512, 16]>, #npu.sram>

The decision: where all channels of a pixel lie side by side, a kernel row of a convolution is one
run of bytes, which a core reads a word at a time. The shape stays [N, C, H, W], so every layer
means what it meant; only the strides of the type change.

A map keeps the model's layout if something but a layer uses it (a view, as in front of a fully
connected layer, a copy, a call), if it has fewer than 4 channels, or one pixel, where both are the
same. Inputs and outputs of the function keep it too: it is what the caller knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, StridedLayoutAttr, i8
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.hints import isa

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.quantization import ui8
from npu_dialect.sram import AllocOp
from npu_passes.support.refuse import RefusingPass

WORD = 4
"""Bytes that a kernel reads at once."""


@dataclass(frozen=True)
class ChooseLayoutsPass(RefusingPass):
    """Lay out maps of bytes with their channels last."""

    name = "npu-choose-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        for buffer in list(maps_to_relayout(op)):
            assert isa(buffer.type, MemRefType[Attribute])
            Rewriter.replace_value_with_new_type(buffer, channels_last(buffer.type))


def maps_to_relayout(module: Operation) -> Iterator[SSAValue]:
    """The buffers of maps that get their channels last, in the order of the IR."""
    for op in module.walk():
        if not isinstance(op, AllocOp):
            continue
        type_ = op.buffer.type
        assert isa(type_, MemRefType[Attribute])
        if gains(type_) and all(isinstance(use.operation, LayerOp) for use in op.buffer.uses):
            yield op.buffer


def gains(type_: MemRefType[Attribute]) -> bool:
    """Whether a buffer is a dense map of bytes whose pixels have a word of channels at least."""
    shape = type_.get_shape()
    return (
        type_.element_type in (i8, ui8)
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
    """Whether the elements of a map lie as [N, H, W, C], from its first byte on."""
    if type_.get_num_dims() != 4 or type_.get_offset() != 0:
        return False
    expected = channels_last(type_).get_strides()
    assert expected is not None
    steps = zip(type_.get_shape(), type_.get_strides() or (), expected, strict=False)
    return type_.get_strides() is not None and all(n == 1 or a == b for n, a, b in steps)
