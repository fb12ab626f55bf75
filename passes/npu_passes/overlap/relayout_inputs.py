"""`npu-relayout-inputs`: put inputs into the layout of the kernels that read them (on buffers).

    func.func @f(%x: memref<1x24x3x3xi8, #npu.sram> {sram.input}, ...) {
      npu.conv2d ins(%x, ...) ...
becomes
    func.func @f(%x: memref<1x24x3x3xi8, #npu.sram> {sram.input}, ...) {
      %inside = sram.alloc : memref<1x24x3x3xi8, strided<[216, 1, 72, 24]>, #npu.sram>
      npu.transpose ins(%x : ...) outs(%inside : ...) perm [0, 1, 2, 3]
      npu.conv2d ins(%inside, ...) ...
or, if there is less room,
      // move lines of 3 pixels from [24, 3] to [3, 24]
      %block = sram.alloc : memref<3x24xi8, #npu.sram>
      scf.for %k = 0 to 3 {
        npu.transpose ins(%planes : memref<24x3xi8, ...>) outs(%block : ...) perm [1, 0]
        "memref.copy"(%block, %pixels)             // both are parts of %x
      }
      %x_pixels = memref.reinterpret_cast %x to ... strided<[216, 1, 72, 24]>
      npu.conv2d ins(%x_pixels, ...) ...

A caller gives maps in the layout of the model, plane by plane. Kernels of integers read the
channels of a pixel faster if they lie side by side, as `npu-choose-layouts` stores maps inside of a
function; it comes before this pass. An input is copied in front of its first layer, or changes in
front of all layers.

The decision: whether the convolutions that read an input, depthwise ones aside, save more than the
change takes (`input_plan.py`), and whether it fits below the memory peak: a copy beside what lives
in front of the first reader, a block beside what lives at the start. A layer at the peak must keep
its output about as close to its input as it does if it reads planes or, as `npu-reorder-inputs` may
put them there, rows: the loops of all three are compared as in `npu-overlay-maps`.

Inputs of floats, of fewer than 4 channels, states, and inputs that something else than a
convolution reads are left alone. So are programs that are planned as another type, and machines
without dual multiply-accumulates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from npu_dialect.arguments import argument_attributes, is_state
from npu_dialect.attributes import PLANNED_AS, SRAM_INPUT, SRAM_OUTPUT
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.maps import element_bytes, shape_of
from npu_dialect.target import machine_of
from npu_passes.analysis.lifetimes import Lifetimes, lifetimes_of
from npu_passes.analysis.on_chip import functions, on_chip_values
from npu_passes.analysis.peaks import least_bytes
from npu_passes.analysis.views import base_of, uses_of
from npu_passes.buffers.choose_layouts import BY_ROWS, channels_last, gains, in_order
from npu_passes.buffers.concat_in_place import is_box
from npu_passes.buffers.input_layouts import write_copy, write_in_place
from npu_passes.lowering.kernels.constants import is_plain
from npu_passes.overlap.beside import Beside, measured
from npu_passes.overlap.choose_kernels import dies_in
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass
from npu_plans.kernels.input_plan import SCALAR, VECTORS, Core, Given, Reader

PART = 20
"""The part of an arena, one in so many, by which it may grow for a layer at the peak."""


@dataclass(frozen=True)
class RelayoutInputsPass(RefusingPass):
    """Put inputs of integers into another layout; see the module."""

    name = "npu-relayout-inputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change one input after the other, as each change says what lives when."""
        core = core_of(op)
        if core is None or PLANNED_AS.is_on(op):
            return
        beside = measured(ctx, op)
        for function in functions(op):
            for value in list(on_chip_values(function, SramSpace())):
                if isinstance(value, BlockArgument) and may_change(value):
                    change(value, lifetimes_of(function, SramSpace()), core, beside)


def core_of(module: ModuleOp) -> Core | None:
    """What the core of a module's machine saves; None if it has no kernels for other layouts."""
    machine = machine_of(module)
    features = machine.features if machine else ()
    if "mve" in features:
        return VECTORS
    return SCALAR if "dsp" in features else None


def may_change(value: SSAValue) -> bool:
    """Whether a value is an input of integers that only convolutions read."""
    marks = argument_attributes(value)
    if not gains(memref_type(value)) or is_state(marks) or value.first_use is None:
        return False
    direct = all(isinstance(use.operation, Conv2dOp) or is_box(use.operation) for use in value.uses)
    users = [use.operation for use in uses_of(value)]
    reads = all(isinstance(user, Conv2dOp) and base_of(user.output) is not value for user in users)
    return direct and reads and SRAM_INPUT.is_in(marks) and not SRAM_OUTPUT.is_in(marks)


def change(value: BlockArgument, lifetimes: Lifetimes, core: Core, beside: Beside) -> None:
    """Read how an input is used, decide, and write."""
    start, least = first_point(value, lifetimes), least_bytes(lifetimes)[0]
    given = given_by(value, lifetimes, start, least)
    line = given.line(core)
    if line is None or not stays_close(value, lifetimes, least, beside):
        return
    if line == given.pixels:
        write_copy(value, lifetimes.ops[start])
    else:
        write_in_place(value, line)


def first_point(value: SSAValue, lifetimes: Lifetimes) -> int:
    """The point of the first op of a function in which a buffer is used."""
    points = {op: point for point, op in enumerate(lifetimes.ops)}
    body = lifetimes.function.regions[0].blocks[0]
    users = (body.find_ancestor_op_in_block(use.operation) for use in uses_of(value))
    return min(points[user] for user in users if user is not None)


def stays_close(value: SSAValue, lifetimes: Lifetimes, least: int, beside: Beside) -> bool:
    """Whether no layer at the peak needs much more beside an input that dies with channels last."""
    planes = memref_type(value)
    rows, pixels = in_order(planes, BY_ROWS), channels_last(planes)
    for point, op in enumerate(lifetimes.ops):
        if not isinstance(op, Conv2dOp) or op.input is not value:
            continue
        live = sum(each.size for each in lifetimes.buffers if each.first <= point <= each.last)
        if live <= least or not dies_in(op, point, lifetimes):
            continue
        now = min(beside(op, planes), beside(op, rows))
        if beside(op, pixels) - now > least // PART:
            return False
    return True


def given_by(value: SSAValue, lifetimes: Lifetimes, start: int, least: int) -> Given:
    """What the plan needs to know of an input; the op at point `start` is the first to use it."""
    shape = shape_of(value)
    live = [each for each in lifetimes.buffers if each.first < start <= each.last]
    given = [each for each in lifetimes.buffers if each.first == 0]
    users = dict.fromkeys(use.operation for use in uses_of(value))
    readers = [user for user in users if is_dense(user)]
    spare = least - sum(each.size for each in given)
    if len(given) == 1 and all(is_box(use.operation) for use in value.uses):
        spare = max(spare, first_row(readers))
    return Given(
        shape[0],
        shape[1],
        prod(shape[2:]),
        prod(shape) * element_bytes(memref_type(value)),
        least - sum(each.size for each in live),
        spare,
        [reader_of(layer) for layer in readers],
    )


def first_row(readers: Sequence[Conv2dOp]) -> int:
    """The bytes that layers which read rows of an input surely need beside it.

    A first row of outputs is computed while all rows of its window are in use.
    """
    if not readers or any(reader.axes()[0].kernel == 1 for reader in readers):
        return 0
    rows = (reader.output for reader in readers)
    return min(prod(shape_of(row)) * element_bytes(memref_type(row)) for row in rows)


def is_dense(layer: Operation) -> TypeGuard[Conv2dOp]:
    """Whether an op is a convolution with a kernel that adds up channels.

    Others read planes as fast.
    """
    if not isinstance(layer, Conv2dOp) or not is_plain(layer):
        return False
    return layer.group_count < shape_of(layer.input)[1]


def reader_of(layer: Conv2dOp) -> Reader:
    """A convolution that reads a map."""
    products = layer.macs() / max(1, prod(shape_of(layer.input)))
    return Reader(products, layer.axes()[1].kernel)
