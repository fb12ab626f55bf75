"""Lets 1x1 convolutions with a stride read a view of the elements or the rows that they use.

    npu.conv2d ins(%x, %w : memref<1x128x74x74xi8, #npu.dram>, ...) strides [2, 2]
becomes
    %picked = memref.subview %x[0, 0, 0, 0] [1, 128, 37, 37] [1, 1, 2, 2]
    npu.conv2d ins(%picked, %w : memref<1x128x37x37xi8, strided<...>, #npu.dram>) strides [1, 1]
or
    %picked = memref.subview %x[0, 0, 0, 0] [1, 128, 37, 73] [1, 1, 2, 1]
    npu.conv2d ins(%picked, %w : memref<1x128x37x73xi8, strided<...>, #npu.dram>) strides [1, 2]

Only maps off the chip: a transfer can leave elements out. As a map without a stride, it has tiles
of several rows and columns that bring no element for nothing. The elements that are used move the
fewest bytes. Their rows take less time if an address jump takes longer than the bytes of a gap.
They are read where the least time is asked for, or where the jumps between the elements take longer
than half of what the layer computes: other transfers wait for these, and rows are a few bytes more.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from xdsl.dialects import memref
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layers import Conv2dOp
from npu_dialect.npu.maps import element_bytes, shape_of
from npu_passes.analysis.timed_ops import arithmetic_of
from npu_passes.support.loop_builder import memref_type
from npu_passes.tiling.shared_tiles import is_next
from npu_passes.tiling.stage import off_chip_operands
from npu_plans.time.rates import Rates, UnknownRate, missing_keys


def view_picked_elements(
    function: Operation,
    machine: Machine | None,
    *,
    fastest: bool,
    stays: Callable[[Conv2dOp], bool] = lambda op: False,
) -> bool:
    """Replace the inputs of such convolutions in a function, and their strides; whether any was.

    `fastest`: whether all read rows for which that takes less time on the machine. `stays`: which
    ones are left alone.
    """
    changed = False
    for op in list(function.walk()):
        if not isinstance(op, Conv2dOp) or not picks(op) or stays(op):
            continue
        down, across = int_values(op.strides)
        gap = (across - 1) * element_bytes(memref_type(op.input))
        by_rows = (
            machine is not None
            and jump_bytes(machine) > gap
            and (fastest or not jumps_hide(op, machine))
        )
        left = 1 if by_rows else across
        if (down, left) == (1, 1):
            continue
        (images, channels, *_), (*_, rows, columns) = shape_of(op.input), shape_of(op.output)
        sizes = [images, channels, rows, columns if left == across else (columns - 1) * across + 1]
        steps, firsts = [1, 1, down, left], [0] * len(sizes)
        source = memref_type(op.input)
        type_ = memref.SubviewOp.infer_result_type(source, firsts, sizes, steps)
        view = memref.SubviewOp.get(op.input, firsts, sizes, steps, type_)
        view.result.name_hint = op.input.name_hint
        Rewriter.insert_op(view, InsertPoint.before(op))
        op.operands[0] = view.result
        op.strides = int_array([1, across // left])
        changed = True
    return changed


def has_neighbour(op: Conv2dOp) -> bool:
    """Whether a layer that reads the same map stands in front of a convolution.

    It may run on that layer's tiles. Then no tile is loaded for it, so it leaves out elements on
    chip.
    """
    readers = (use.operation for use in op.input.uses if is_computed_on_buffers(use.operation))
    before = next((reader for reader in readers if is_next(reader, op)), None)
    return before is not None and before.operands[0] is op.input


def picks_of_rows(op: Operation) -> bool:
    """Whether a convolution reads rows of a map off the chip of which it uses some elements."""
    return isinstance(op, Conv2dOp) and picks(op) and int_values(op.strides)[1] > 1


def jump_bytes(machine: Machine) -> Fraction:
    """The bytes that cross the border while a transfer jumps to another address."""
    return machine.dma_jump_cycles * machine.dma_bytes_per_cycle


def jumps_hide(op: Conv2dOp, machine: Machine) -> bool:
    """Whether a layer computes for twice as long as channels jump from element to element.

    Also if the machine's file does not say how long it computes.
    """
    if missing_keys(machine):
        return True
    rates = Rates.of(machine)
    try:
        cycles = rates.work(op.macs(), arithmetic_of(op), 0)
    except UnknownRate:
        return True
    *_, rows, columns = shape_of(op.output)
    runs = shape_of(op.input)[0] * shape_of(op.input)[1] * rows * columns
    return 2 * runs * rates.jump <= cycles * max(1, rates.channels)


def picks(op: Conv2dOp) -> bool:
    """Whether a convolution reads some elements of a map off the chip, each once."""
    plain = op.pool is None and not any(int_values(op.pads))
    pixel = tuple(shape_of(op.weight)[2:]) == (1, 1)
    known = None not in (memref_type(op.input).get_strides() or [None])
    return (
        plain
        and pixel
        and known
        and max(int_values(op.strides)) > 1
        and op.input in off_chip_operands(op)
    )
