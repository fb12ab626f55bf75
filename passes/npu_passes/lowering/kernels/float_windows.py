"""Convolutions of floats on a vector unit: four windows of outputs of a filter at once.

    %x = mve.load %line[%c0] addressed : memref<4xf32, strided<[2], offset: ?>, #npu.sram>
    %w = memref.load %taps[%k] : memref<150xf32, #npu.flash>
    %s = mve.fma_scalar %x, %w, %acc : vector<4xf32>

The lanes of a vector are neighbouring windows: pooling windows, or some columns of outputs each.
`float_window_plan.py` chooses them, and says where four filters in lanes take fewer instructions.
The outputs of a window are in one vector each, so a maximum needs no move between lanes. The
products of an output are added in the order of the general loops, one rounding each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.kernels.float_outputs import FloatOutputs
from npu_passes.lowering.kernels.lanes import LanesOfFilters
from npu_passes.lowering.kernels.layer import Maps
from npu_passes.support.common import window_start
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.float_window_plan import FloatWindowPlan, Layer
from npu_plans.kernels.vector_plan import LANES


class FloatWindowsKernel:
    """Builds the loops of one image of a convolution with one group."""

    def __init__(
        self,
        b: LoopBuilder,
        op: Conv2dOp,
        maps: Maps,
        weights: NDArray[Any],
        bias: NDArray[Any] | None,
        plan: FloatWindowPlan,
    ) -> None:
        self.b, self.op, self.plan, self.map = b, op, plan, maps.input
        step = 1 if op.pool is not None else plan.width
        self.outputs = FloatOutputs(b, op, maps, along=3, step=step)
        self.taps = constant_table(b, op, "taps", np.ascontiguousarray(weights).ravel())
        self.size = weights.shape[2] * weights.shape[3]
        self.bias = None if bias is None else constant_table(b, op, "biases", bias)

    @staticmethod
    def plan_of(op: Conv2dOp, out: SSAValue) -> FloatWindowPlan | None:
        """The plan of a layer; None if another form is as good, or if this one may not be used.

        Some outputs are computed twice, which a residual that may be overwritten forbids.
        """
        pooled = op.pool is not None and op.pool.is_max and op.overlap != Overlap.ACCUMULATE
        if op.group_count != 1 or op.residual is not None or not (pooled or op.pool is None):
            return None
        rows, columns = op.axes()
        pool = None if op.pool is None else op.pool.axes(rows.outputs, columns.outputs)
        (*_, line, pixel), (*_, step) = (distances(each) for each in (op.input, out))
        filters, depth = shape_of(op.weight)[:2]
        layer = Layer(rows, columns, pool, depth, filters, (line, pixel), step)
        return FloatWindowPlan.of(layer, alone=not LanesOfFilters.fits(op))

    def build(self) -> None:
        """Build the loops over rows and blocks of windows, and inside them over the filters."""
        b, plan = self.b, self.plan

        def line(row: Index, _: Sequence[SSAValue]) -> tuple[()]:
            def some(first: Index, _: Sequence[SSAValue]) -> tuple[()]:
                even = plan.last % plan.block == 0
                self.block(row, first if even else b.least(first, plan.last, "ox"))
                return ()

            b.loop(0, plan.blocks * plan.block, some, step=plan.block, hint="ox")
            return ()

        b.loop(0, plan.layer.outputs[0], line, hint="oy")

    def block(self, row: Index, column: Index) -> None:
        """Compute four windows, for all filters."""

        def one(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.put(self.sums(filter, row, column), filter, row, column)
            return ()

        self.b.loop(0, self.plan.layer.filters, one, hint="oc")

    def sums(self, filter: Index, row: Index, column: Index) -> Sequence[SSAValue]:
        """The sums of four windows for a filter: a vector for each output of a window."""
        b, plan, layer = self.b, self.plan, self.plan.layer
        bias = b.real(0.0) if self.bias is None else b.load(self.bias, [filter], "bias")
        start = b.insert(mve.SplatOp(bias, mve.F32X4), "bias").result
        if layer.pool is not None:
            row, column = (window_start(b, axis, at) for axis, at in zip(layer.pool, (row, column)))
        y, x = window_start(b, layer.rows, row, "iy"), window_start(b, layer.columns, column, "ix")
        weights = b.mul(filter, layer.depth * self.size)

        def one(channel: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            patch = b.window(self.map, (0, channel, y, x), (1, 1, *plan.reach), (2, 3), "patch")
            return self.channel(patch, b.add(weights, b.mul(channel, self.size)), sums)

        starts = [start] * plan.sums
        return b.loop(0, layer.depth, one, starts, hint="ic", carry="acc")

    def channel(
        self, patch: SSAValue, first: Index, starts: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Add the products of a channel; `first` is its first weight."""
        b, sums, weights = self.b, list(starts), dict[int, SSAValue]()
        taps = b.window(self.taps, [first], [self.size], [0], "taps")
        for element in self.plan.elements:
            b.insert(dsp.KeepOrderOp.create())
            x = self.load(patch, element.row, element.column)
            for each in element.products:
                if each.fresh:
                    weights[each.tap] = b.load(taps, [each.tap], "w")
                made = mve.FmaScalarOp(x, weights[each.tap], sums[each.output])
                sums[each.output] = b.insert(made, "acc").result
        return sums

    def load(self, patch: SSAValue, row: int, column: int) -> SSAValue:
        """Load an element of each of four windows."""
        b, step = self.b, self.plan.lane_step
        sizes = (1, (LANES - 1) * step + 1)
        view = b.window(patch, (row, column), sizes, (1,), "line", step)
        apart = memref_type(view).get_strides() != (1,)
        return b.insert(mve.LoadOp(view, b.value(0), mve.F32X4, addressed=apart), "x").result

    def put(self, sums: Sequence[SSAValue], filter: Index, row: Index, column: Index) -> None:
        """Store the outputs of four windows."""
        b, pool = self.b, self.op.pool
        if pool is not None:
            best = sums[0]
            for each in sums[1:]:
                best = self.outputs.folded(pool, best, each)
            sums = [best]
        for number, each in enumerate(sums):
            self.outputs.put(each, filter, LANES, row, b.add(column, number))


def distances(map: SSAValue) -> Sequence[int]:
    """The elements between neighbours along each axis of a map."""
    return [step or 0 for step in memref_type(map).get_strides() or (0, 0, 0, 0)]
