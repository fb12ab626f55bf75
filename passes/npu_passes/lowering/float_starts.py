"""First values of float sums that have registers of their own, and stores from these.

A block of F filters by P columns loads all of its first values with `dsp.load_floats`, where each
would be a move between registers. A table has the bias of each filter P times: [filters, P]. The
sums stay where they were loaded, so `dsp.store_floats` stores a row of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu import Conv2dOp
from npu_passes.lowering.conv_places import BlockOrigin
from npu_passes.lowering.kernels.constants import constant_of
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import Block, ConvPlan
from npu_plans.kernels.float_plan import Loads


@dataclass(frozen=True)
class FloatStarts:
    """The table of a layer, and the first register of the sums of its blocks."""

    b: LoopBuilder
    table: SSAValue
    block: Block
    register: int

    @staticmethod
    def of(
        b: LoopBuilder, op: Conv2dOp, plan: ConvPlan, options: LoopOptions
    ) -> FloatStarts | None:
        """The table of a layer; None if its sums have no registers of their own."""
        if not plan.holds_sums:
            return None
        assert op.bias is not None
        bias, block = constant_of(op.bias, options.users), plan.block
        assert bias is not None
        table = constant_table(b, op, "starts", np.repeat(bias.reshape(-1), block.columns))
        loads = Loads(block.filters, block.sums, 1, block.columns, options.registers)
        return FloatStarts(b, table, block, loads.first_sum)

    def load(self, filter: Index) -> list[SSAValue]:
        """The first values of the sums of a block, ordered by filter, then column."""
        b, first = self.b, self.b.mul(filter, self.block.columns)
        part = b.window(self.table, (first,), (self.block.sums,), (0,), "starts")
        op = dsp.LoadFloatsOp(part, b.value(0), self.block.sums, self.register)
        return list(b.insert(op, "acc").results)

    def store(
        self,
        out: SSAValue,
        place: BlockOrigin,
        row: Index,
        column: Index,
        values: Sequence[SSAValue],
    ) -> None:
        """Store the values of a block, those of a filter at once."""
        b, width = self.b, self.block.columns
        for f in range(self.block.filters):
            at = (place.image, b.add(place.filter, f), row, column)
            line = b.window(out, at, (1, 1, 1, width), (3,), "line")
            own, register = values[f * width : (f + 1) * width], self.register + f * width
            b.insert(dsp.StoreFloatsOp(own, line, b.value(0), register))
