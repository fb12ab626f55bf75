"""The loop structure of a convolution op: its plan from shapes, pooling window and options."""

from __future__ import annotations

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.kernels.constants import constant_of
from npu_passes.support.common import LoopOptions
from npu_passes.support.loop_builder import memref_type
from npu_plans.kernels.conv_plan import ConvPlan, PoolMode, plan
from npu_plans.kernels.float_plan import even_block


def pool_modes(op: Conv2dOp) -> tuple[PoolMode, ...]:
    """The allowed modes for the pooling window of a convolution, best first."""
    if op.pool is None:
        return ("none",)
    if not op.pool.overlaps:
        return ("gather", "scatter")
    accumulates = op.overlap == Overlap.ACCUMULATE
    return ("scatter",) if accumulates else ("gather",)


def held_block(op: Conv2dOp, options: LoopOptions) -> tuple[int, int] | None:
    """The filters and columns of a block whose sums have registers of their own.

    None if there are none: its first values are not constant, or rows cannot be loaded and stored
    at once. The table of first values is larger than the bias.
    """
    axes, (filters, depth, *_) = op.axes(), shape_of(op.weight)
    if op.zero_points is not None or not options.loads_floats or options.flash != "fast":
        return None
    if op.pool is not None or op.accumulate is not None or op.bias is None:
        return None
    if any(each.kernel * each.stride > 1 or each.size != each.outputs for each in axes):
        return None
    maps = [memref_type(each).get_strides() for each in (op.input, op.output)]
    if any(each is None or each[-1] != 1 for each in maps):
        return None
    if any(constant_of(each, options.users) is None for each in (op.bias, op.weight)):
        return None
    width = axes[1].outputs
    return even_block(filters // op.group_count, width, depth, options.registers)


def plan_conv(op: Conv2dOp, options: LoopOptions) -> ConvPlan:
    """The loop structure of a convolution op."""
    rows, columns = op.axes()
    pool = None if op.pool is None else op.pool.axes(rows.outputs, columns.outputs)
    filters, depth = shape_of(op.weight)[0] // op.group_count, shape_of(op.weight)[1]
    return plan(
        rows,
        columns,
        pool,
        pool_modes(op),
        filters=filters,
        depth=depth,
        registers=options.registers,
        unroll=options.unroll,
        floats=op.zero_points is None,
        wide=filters == depth == 1 and options.flash == "fast",
        runs=options.loads_floats,
        held=held_block(op, options),
    )
