"""The loop structure of a convolution op: its plan from shapes, pooling window and options."""

from __future__ import annotations

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.maps import shape_of
from npu_passes.support.common import LoopOptions
from npu_plans.kernels.conv_plan import ConvPlan, PoolMode, plan


def pool_modes(op: Conv2dOp) -> tuple[PoolMode, ...]:
    """The allowed modes for the pooling window of a convolution, best first."""
    if op.pool is None:
        return ("none",)
    if not op.pool.overlaps:
        return ("gather", "scatter")
    accumulates = op.overlap == Overlap.ACCUMULATE
    return ("scatter",) if accumulates else ("gather",)


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
    )
