"""Lets 1x1 convolutions with a stride read a view of the elements that they use.

    npu.conv2d ins(%x, %w : memref<1x128x74x74xi8, #npu.dram>, ...) strides [2, 2]
becomes
    %picked = memref.subview %x[0, 0, 0, 0] [1, 128, 37, 37] [1, 1, 2, 2]
    npu.conv2d ins(%picked, %w : memref<1x128x37x37xi8, strided<...>, #npu.dram>) strides [1, 1]

Only maps off the chip: a transfer can leave elements out. As a map without a stride, it has tiles
of several rows and columns that bring no element for nothing.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layers import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.support.loop_builder import memref_type
from npu_passes.tiling.stage import off_chip_operands


def view_picked_elements(function: Operation) -> None:
    """Replace the inputs of such convolutions in a function, and their strides."""
    for op in list(function.walk()):
        if isinstance(op, Conv2dOp) and picks(op):
            sizes = [*shape_of(op.input)[:2], *shape_of(op.output)[2:]]
            steps, firsts = [1, 1, *int_values(op.strides)], [0] * len(sizes)
            source = memref_type(op.input)
            type_ = memref.SubviewOp.infer_result_type(source, firsts, sizes, steps)
            view = memref.SubviewOp.get(op.input, firsts, sizes, steps, type_)
            view.result.name_hint = op.input.name_hint
            Rewriter.insert_op(view, InsertPoint.before(op))
            op.operands[0] = view.result
            op.strides = int_array([1, 1])


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
