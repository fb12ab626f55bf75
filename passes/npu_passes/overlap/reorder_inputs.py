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
programs that are planned as another type are left alone. So are inputs that convolutions read whose
outputs follow planes as closely: with one tap, or where loops go group by group from planes to
planes. The loops of both are compared as in `npu-overlay-maps`. On vectors, depthwise layers go
channel by channel if `npu-choose-kernels` says so behind this pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, NoneAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from npu_dialect.attributes import FLASH, PLANNED_AS
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import is_buffer_type, map_type, shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_dialect.target import machine_of
from npu_passes.analysis.peaks import inputs_at_peaks
from npu_passes.buffers.choose_layouts import BY_ROWS, BY_WINDOWS, in_order
from npu_passes.buffers.concat_in_place import is_box, retype_boxes
from npu_passes.buffers.line_moves import move_lines
from npu_passes.overlap.beside import Beside, measured
from npu_passes.support.loop_builder import LoopBuilder, memref_type
from npu_passes.support.refuse import RefusingPass
from npu_plans.kernels.cycles import places_by_rows
from npu_plans.kernels.window_plan import WindowPlan


@dataclass(frozen=True)
class ReorderInputsPass(RefusingPass):
    """Put the rows of inputs at the memory peak in the order of rows; see the module."""

    name = "npu-reorder-inputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        if PLANNED_AS.is_on(op):
            return
        machine = machine_of(op)
        vectors = machine is not None and "mve" in machine.features and FLASH.get(op) != "small"
        beside = measured(ctx, op)

        def stays_in_planes(user: Operation) -> bool:
            if not isinstance(user, Conv2dOp):
                return False
            return (vectors and goes_by_channel(user)) or follows_planes(user, beside)

        for value in inputs_at_peaks(op):
            users = [use.operation for use in value.uses]
            if not gains(value) or not all(map(follows, users)):
                continue
            if not all(stays_in_planes(user) for user in users):
                reorder(value)


def gains(value: SSAValue) -> bool:
    """Whether a buffer is a dense map [1, C, H, W] whose rows have another order as [H, C, W]."""
    type_ = value.type
    if not is_buffer_type(type_) or not isinstance(type_.layout, NoneAttr):
        return False
    shape = type_.get_shape()
    return len(shape) == 4 and shape[0] == 1 and min(shape[1:3]) > 1 and shape[3] > 0


def goes_by_channel(user: Conv2dOp) -> bool:
    """Whether a depthwise layer computes channel by channel on vectors."""
    if map_type(user.input).get_element_type() not in BYTE_TYPES or user.pool is not None:
        return False
    rows, columns = user.axes()
    depthwise = user.group_count == shape_of(user.input)[1]
    return depthwise and WindowPlan.fits(rows, columns) and WindowPlan.pays(rows, columns)


def follows_planes(user: Conv2dOp, beside: Beside) -> bool:
    """Whether the output of a layer follows an input in planes as closely as one in rows."""
    planes = memref_type(user.input)
    return beside(user, planes) <= beside(user, in_order(planes, BY_ROWS))


def follows(user: Operation) -> bool:
    """Whether a user of a buffer takes any order of its rows."""
    return isinstance(user, BY_WINDOWS) or is_box(user)


def reorder(value: BlockArgument) -> None:
    """Move the rows of an input, and let all users read it by rows."""
    first, uses = value.owner.first_op, list(value.uses)
    assert first is not None
    b = LoopBuilder(first)
    _, channels, height, width = shape_of(value)
    move_lines(b, value, width, places_by_rows(channels, height), first)
    type_ = in_order(memref_type(value), BY_ROWS)
    shape, strides = type_.get_shape(), type_.get_strides()
    assert strides is not None
    steps = [step for step in strides if step is not None]
    view = memref.ReinterpretCastOp(value, [], [], [], [0], shape, steps, type_)
    rows = b.insert(view, f"{value.name_hint or 'input'}_rows").result
    for use in uses:
        use.operation.operands[use.index] = rows
    retype_boxes(rows)
