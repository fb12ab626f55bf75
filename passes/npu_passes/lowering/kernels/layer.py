"""What the kernels of one layer share: its numbers, its tables, and how it stores its sums."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of, storage_elements
from npu_passes.lowering.epilogue import Epilogue
from npu_passes.lowering.integers import constant_table, store
from npu_passes.lowering.kernels.unit import Unit
from npu_passes.lowering.loop_builder import Index, LoopBuilder, memref_type


class Layer:
    """A layer with constant weights [O, ...] of i8 and, maybe, a constant bias."""

    def __init__(
        self,
        b: LoopBuilder,
        op: Conv2dOp | FullyConnectedOp,
        out: SSAValue,
        unit: Unit,
        weights: NDArray[np.integer[Any]],
        bias: NDArray[np.integer[Any]] | None,
    ) -> None:
        self.b, self.op, self.out, self.unit = b, op, out, unit
        self.weights = weights.astype(np.int8)
        self.bias = np.zeros(weights.shape[0], np.int64) if bias is None else bias.astype(np.int64)
        self.zero_point = int_values(op.zero_points)[0] if op.zero_points is not None else 0
        self.epilogue = Epilogue(b, op, out)
        self.pixels = out
        self.residual = op.residual if isinstance(op, Conv2dOp) else None
        self.residual_pixels = self.residual

    def vector(self, map: SSAValue) -> SSAValue:
        """The memory of a map as a vector."""
        kind = memref_type(map)
        count = storage_elements(kind)
        assert count is not None
        result = MemRefType(kind.element_type, [count], NoneAttr(), kind.memory_space)
        return self.b.insert(
            memref.ReinterpretCastOp(map, [], [], [], [0], [count], [1], result), map.name_hint
        ).result

    def table(self, what: str, values: NDArray[Any]) -> SSAValue:
        """A new constant of i8 or i32."""
        return constant_table(self.b, self.op, what, values)

    @property
    def folds(self) -> bool:
        """Whether the zero point is part of the bias where no padding cuts a window.

        That takes a table of its own; where flash is short it is taken off each byte everywhere.
        """
        return self.zero_point == 0 or self.unit.form != "narrow"

    @cached_property
    def plain(self) -> SSAValue | None:
        """The bias as it is."""
        return self.table("biases", wrapped(self.bias)) if self.bias.any() else None

    @cached_property
    def folded(self) -> SSAValue | None:
        """The bias where every tap counts: less the zero point times the sum of the weights."""
        if self.zero_point == 0:
            return self.plain
        total = self.weights.reshape(len(self.bias), -1).astype(np.int64).sum(axis=1)
        return self.table("starts", wrapped(self.bias - self.zero_point * total))

    def biases(self, filter: Index, lanes: Sequence[int], *, folded: bool) -> list[SSAValue]:
        """First values of the sums of some filters behind a first one."""
        b = self.b
        vector = self.folded if folded and self.folds else self.plain
        if vector is None:
            return [self.epilogue.zero()] * len(lanes)
        return [b.load(vector, [b.add(filter, lane)], "bias") for lane in lanes]

    def put(
        self,
        sums: Sequence[SSAValue],
        filter: Index,
        row: Index,
        column: Index,
        lanes: Sequence[int],
        *,
        flat: bool = False,
    ) -> None:
        """Store sums: pixel by pixel, those of some filters behind a first one.

        `flat`: `column` counts the pixels of all rows.
        """
        b = self.b
        for index, total in enumerate(sums):
            pixel, lane = divmod(index, len(lanes))
            channel, x = b.add(filter, lanes[lane]), b.add(column, pixel)
            at = self.place(channel, row, x, flat)
            residual = self.residual_pixels if flat else self.residual
            value = self.epilogue(total, channel, at, residual)
            store(b, value, self.pixels if flat else self.out, at)

    def place(self, channel: Index, row: Index, column: Index, flat: bool) -> tuple[Index, ...]:
        """The index of an output."""
        if len(shape_of(self.out)) == 2:
            return (0, channel)
        return (column, channel) if flat else (0, channel, row, column)

    def flatten(self) -> None:
        """See the output, and the residual, as [pixels, channels] too, in whatever layout."""
        if memref_type(self.out).get_num_dims() == 2:
            return
        self.pixels = self.b.pixels(self.out, self.out.name_hint)
        if self.residual is not None:
            same = self.residual is self.out
            self.residual_pixels = (
                self.pixels if same else self.b.pixels(self.residual, self.residual.name_hint)
            )


def wrapped(values: NDArray[np.int64]) -> NDArray[np.int32]:
    """Integers modulo 2^32, as sums are."""
    return (values & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
