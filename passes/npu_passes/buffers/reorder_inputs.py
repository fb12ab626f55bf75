"""`npu-reorder-inputs`: put the rows of inputs in the order in which layers read (on buffers).

    func.func @f(%x: memref<1x3x96x96xi8, #npu.sram> {sram.input}, ...) {
      npu.conv2d ins(%x, ...) ...
becomes
    func.func @f(%x: memref<1x3x96x96xi8, #npu.sram> {sram.input}, ...) {
      %kept = sram.alloc : memref<96xi8, #npu.sram>
      scf.for %m = 0 to 302 {                    // the moves of all cycles of the permutation
        // move a row of 96 bytes to its place; the first row of a cycle waits in %kept
      }
      %rows = memref.reinterpret_cast %x to ... strided<[27648, 96, 288, 1]>
      npu.conv2d ins(%rows, ...) ...

The decision: an input [1, C, H, W] lies plane by plane, so its first row and its last plane are in
use until the last output row, and no output can follow it (`npu-overlay-maps`). Behind the moves it
lies row by row, as [H, C, W]. The rows move in place. It costs one copy of the input and one row of
memory at the start.

So it is done only for inputs that die in a layer or in a loop over rows at the memory peak, and
that convolutions, pools and loops over rows read. Batches, inputs of one channel or one row, and
programs that are planned as another type are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, NoneAttr, i16, i32
from xdsl.ir import BlockArgument, Operation, SSAValue

from npu_dialect.attributes import PLANNED_AS
from npu_dialect.npu.maps import is_buffer_type, shape_of
from npu_dialect.sram import AllocOp
from npu_passes.analysis.peaks import inputs_at_peaks
from npu_passes.buffers.choose_layouts import BY_ROWS, BY_WINDOWS, in_order
from npu_passes.buffers.concat_in_place import is_box, retype_boxes
from npu_passes.buffers.row_buffers import copy
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_passes.support.refuse import RefusingPass
from npu_plans.kernels.cycles import KEPT, moves_in_place, places_by_rows

MOST_I16 = np.iinfo(np.int16).max
"""The most lines whose places a table of 16-bit integers can name."""


@dataclass(frozen=True)
class ReorderInputsPass(RefusingPass):
    """Put the rows of inputs at the memory peak in the order of rows; see the module."""

    name = "npu-reorder-inputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        if PLANNED_AS.is_on(op):
            return
        for value in inputs_at_peaks(op):
            if gains(value) and all(follows(use.operation) for use in value.uses):
                reorder(value)


def gains(value: SSAValue) -> bool:
    """Whether a buffer is a dense map [1, C, H, W] whose rows have another order as [H, C, W]."""
    type_ = value.type
    if not is_buffer_type(type_) or not isinstance(type_.layout, NoneAttr):
        return False
    shape = type_.get_shape()
    return len(shape) == 4 and shape[0] == 1 and min(shape[1:3]) > 1 and shape[3] > 0


def follows(user: Operation) -> bool:
    """Whether a user of a buffer takes any order of its rows."""
    return isinstance(user, BY_WINDOWS) or is_box(user)


def reorder(value: BlockArgument) -> None:
    """Move the rows of an input, and let all users read it by rows."""
    first, uses = value.owner.first_op, list(value.uses)
    assert first is not None
    b = LoopBuilder(first)
    move_rows(b, value, first)
    type_ = in_order(memref_type(value), BY_ROWS)
    shape, strides = type_.get_shape(), type_.get_strides()
    assert strides is not None
    steps = [step for step in strides if step is not None]
    view = memref.ReinterpretCastOp(value, [], [], [], [0], shape, steps, type_)
    rows = b.insert(view, f"{value.name_hint or 'input'}_rows").result
    for use in uses:
        use.operation.operands[use.index] = rows
    retype_boxes(rows)


def move_rows(b: LoopBuilder, value: SSAValue, before: Operation) -> None:
    """Build the loop that moves the rows of a map [1, C, H, W] to their places in [H, C, W]."""
    _, channels, height, width = shape_of(value)
    type_ = memref_type(value)
    order = moves_in_place(places_by_rows(channels, height))
    kept_type = MemRefType(type_.element_type, (width,), memory_space=type_.memory_space)
    kept = b.insert(AllocOp(kept_type), "kept").buffer
    lines = b.shaped(value, (channels * height, width), "lines")
    element, number = (i16, np.int16) if channels * height <= MOST_I16 else (i32, np.int32)
    table = constant_table(
        b, before, f"{value.name_hint or 'input'}_moves", np.array(order, number)
    )

    def line(place: SSAValue) -> SSAValue:
        index = b.insert(arith.IndexCastOp(place, IndexType())).result
        return b.window(lines, [index, 0], [1, width], [1], "line")

    def one(move: Index, _: Sequence[SSAValue]) -> tuple[()]:
        target = b.load(table, [move], "to")
        source = b.load(table, [b.add(move, 1)], "from")

        def keep() -> tuple[()]:
            copy(b, line(source), kept)
            return ()

        def put() -> tuple[()]:
            copy(b, kept, line(target))
            return ()

        def shift() -> tuple[()]:
            copy(b, line(source), line(target))
            return ()

        def others() -> tuple[()]:
            b.choose(is_kept(source), put, shift)
            return ()

        b.choose(is_kept(target), keep, others)
        return ()

    def is_kept(place: SSAValue) -> SSAValue:
        return b.insert(arith.CmpiOp(place, b.integer(KEPT, element), "eq")).result

    b.loop(0, len(order) - 1, one, hint="m")
