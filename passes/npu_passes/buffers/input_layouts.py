"""Writes what `npu-relayout-inputs` decides: a copy of an input, or moves in place."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import LAYER, PORT
from npu_dialect.npu import TransposeOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.sram import AllocOp
from npu_passes.buffers.choose_layouts import channels_last
from npu_passes.buffers.concat_in_place import retype_boxes
from npu_passes.buffers.line_moves import move_lines
from npu_passes.buffers.row_buffers import copy
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.cycles import places_by_rows


def write_copy(value: BlockArgument, first: Operation) -> None:
    """Let all users of an input use a copy, which is made in front of the first one."""
    inside = AllocOp(channels_last(memref_type(value)))
    inside.buffer.name_hint = f"{hint_of(value)}_inside"
    value.replace_all_uses_with(inside.buffer)
    retype_boxes(inside.buffer)
    move = TransposeOp(value, range(4), inside.buffer)
    LAYER.set(move, f"{name_of(value)}_copy")
    Rewriter.insert_op([inside, move], InsertPoint.before(first))


def write_in_place(value: BlockArgument, line: int) -> None:
    """Let all users of an input see it with channels last; it changes in blocks of lines."""
    users, first = [(use.operation, use.index) for use in value.uses], value.owner.first_op
    assert first is not None
    shape, type_ = shape_of(value), channels_last(memref_type(value))
    b = LoopBuilder(first)
    move_lines(b, value, line, places_by_rows(shape[1], prod(shape[2:]) // line), first)
    move_blocks(b, value, line)
    strides = [step or 0 for step in type_.get_strides() or ()]
    view = memref.ReinterpretCastOp(value, [], [], [], [0], shape, strides, type_)
    pixels = b.insert(view, f"{hint_of(value)}_pixels").result
    for user, index in users:
        user.operands[index] = pixels
    retype_boxes(pixels)


def move_blocks(b: LoopBuilder, value: BlockArgument, line: int) -> None:
    """Build the loop over blocks of one line of each channel, which become pixels."""
    type_, channels = memref_type(value), shape_of(value)[1]
    count = prod(type_.get_shape()) // (channels * line)
    block_type = MemRefType(type_.element_type, (line, channels), memory_space=type_.memory_space)
    block = b.insert(AllocOp(block_type), "block").buffer
    by_planes = b.shaped(value, (count, channels, line), "planes")
    by_pixels = b.shaped(value, (count, line, channels), "pixels")

    def one(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
        planes = b.window(by_planes, [index, 0, 0], [1, channels, line], [1, 2], "planes")
        move = b.insert(TransposeOp(planes, (1, 0), block))
        LAYER.set(move, f"{name_of(value)}_pixels")
        copy(b, block, b.window(by_pixels, [index, 0, 0], [1, line, channels], [1, 2], "pixels"))
        return ()

    b.loop(0, count, one, hint="k")


def hint_of(value: BlockArgument) -> str:
    """A name for values that stand for an input."""
    return value.name_hint or "map"


def name_of(value: BlockArgument) -> str:
    """The name of an input of the network."""
    return PORT.of(argument_attributes(value)) or hint_of(value)
