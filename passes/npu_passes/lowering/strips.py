"""Depthwise convolutions of floats in strips of rows, which `strip_plan.py` chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.conv_places import BlockOrigin, Stretch
from npu_passes.lowering.conv_sums import ConvSums
from npu_passes.support.common import LoopOptions
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.conv_plan import Block, ConvPlan
from npu_plans.kernels.strip_plan import Strips, plan_strips

Product: TypeAlias = tuple[tuple[int, int], tuple[int, int], int]
"""An element of a strip's inputs and a weight, both by row and column, and the output's number."""


def strips_of(op: Conv2dOp, plan: ConvPlan, options: LoopOptions) -> Strips | None:
    """The strips of a convolution; None if it is computed in other blocks.

    Strips have more code than blocks of one row.
    """
    filters, depth, *_ = shape_of(op.weight)
    is_depthwise = depth == 1 and filters == op.group_count
    if not is_depthwise or op.zero_points is not None or plan.mode != "none":
        return None
    if options.flash != "fast":
        return None
    return plan_strips(plan.rows, plan.columns, options.registers, options.unroll)


@dataclass(frozen=True)
class StripSums:
    """Builds the sums of a strip, which reads each element of the input once.

    The rows of the input are taken one after the other, each for all rows of outputs that it
    serves. So the products of an output keep their order.
    """

    sums: ConvSums

    def __call__(
        self, place: BlockOrigin, starts: Sequence[SSAValue], row: Index, block: Block
    ) -> list[SSAValue]:
        """The sums of all columns of the rows from `row` on, ordered by row, then column."""
        sums, plan, b = self.sums, self.sums.plan, self.sums.b
        rows = Stretch.of(b, plan.rows, row, sums.first_taps(block)[0], "iy")
        columns = sums.columns_of(0, block)
        if 0 in (rows.extent, columns.extent):
            return list(starts)
        at = (place.image, place.channel, rows.first, columns.first)
        patch = b.window(sums.op.input, at, (1, 1, rows.extent, columns.extent), (2, 3), "patch")
        kernel = (1, 1, plan.rows.kernel, plan.columns.kernel)
        taps = b.window(sums.op.weight, (place.filter, 0, 0, 0), kernel, (2, 3), "taps")
        current = list(starts)
        inputs: dict[tuple[int, int], SSAValue] = {}
        weights: dict[tuple[int, int], SSAValue] = {}
        for element, tap, output in self.products(rows, columns):
            if tap not in weights:
                weights[tap] = b.load(taps, tap, "w")
            value = sums.load_once(patch, element, inputs)
            current[output] = b.mac(current[output], value, weights[tap])
        return current

    def products(self, rows: Stretch, columns: Stretch) -> Iterator[Product]:
        """The products of a strip that do not lie on padding, by rows of the input."""
        plan = self.sums.plan
        for line, (r, top) in product(range(rows.extent), enumerate(rows.places)):
            ky, between = divmod(line - top, plan.rows.dilation)
            if between or not 0 <= ky < plan.rows.kernel:
                continue
            for kx, (c, left) in product(range(plan.columns.kernel), enumerate(columns.places)):
                x = left + kx * plan.columns.dilation
                if not columns.cut(x):
                    yield (line, x), (ky, kx), r * len(columns.places) + c
