"""What the kernel whose lanes are filters does with floats, and with bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu import Conv2dOp, FullyConnectedOp, PoolAttr
from npu_passes.lowering.kernels.float_outputs import FloatOutputs
from npu_passes.lowering.kernels.layer import Layer, Maps, wrapped
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.lowering.kernels.vector_starts import Starts
from npu_passes.support.integers import constant_table, widened
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.vector_plan import LANES

Columns = Sequence[int | None]
"""The columns of some outputs; None for one that no padding cuts."""


class LaneKind(ABC):
    """Computes with vectors of four filters; `vector` is their type."""

    vector: mve.Vector

    def __init__(self, b: LoopBuilder) -> None:
        self.b = b

    @abstractmethod
    def element(self, value: SSAValue) -> SSAValue:
        """An element of the map as a factor."""

    @abstractmethod
    def product(self, weights: SSAValue, x: SSAValue, sums: SSAValue) -> SSAValue:
        """The sums plus the products of weights with an element."""

    @abstractmethod
    def starts(
        self, row: Index | None, columns: Columns, lane: Index, vectors: int
    ) -> list[SSAValue]:
        """The first sums of outputs of a row, for the filters from a lane on.

        The row is None if no padding cuts the rows of their windows.
        """

    @abstractmethod
    def first(self, pool: PoolAttr) -> SSAValue:
        """The first value of the maximum or sum of a pooling window."""

    @abstractmethod
    def folded(self, pool: PoolAttr, best: SSAValue, sums: SSAValue) -> SSAValue:
        """The maxima or sums so far, with some more sums of the convolution."""

    @abstractmethod
    def put(self, sums: SSAValue, channel: Index, count: int, row: Index, column: Index) -> None:
        """Finish and store a vector of the sums of `count` channels of an output."""

    @abstractmethod
    def put_average(
        self, sums: SSAValue, channel: Index, count: int, at: tuple[Index, Index], taps: SSAValue
    ) -> None:
        """Store a vector of the sums of pooling windows over their numbers of taps."""


class FloatLanes(FloatOutputs, LaneKind):
    """Lanes of floats, with a table of biases."""

    vector = mve.F32X4

    def __init__(
        self,
        b: LoopBuilder,
        op: Conv2dOp | FullyConnectedOp,
        maps: Maps,
        bias: NDArray[Any] | None,
        lanes: int,
        groups: int,
    ) -> None:
        super().__init__(b, op, maps)
        self.biases: SSAValue | None = None
        if bias is not None:
            padded = np.zeros((groups, lanes), np.float32)
            padded[:, : len(bias) // groups] = bias.reshape(groups, -1)
            self.biases = constant_table(b, op, "biases", padded.ravel())

    def element(self, value: SSAValue) -> SSAValue:
        """See `LaneKind`."""
        return value

    def product(self, weights: SSAValue, x: SSAValue, sums: SSAValue) -> SSAValue:
        """See `LaneKind`."""
        return self.b.insert(mve.FmaScalarOp(weights, x, sums), "acc").result

    def starts(
        self, row: Index | None, columns: Columns, lane: Index, vectors: int
    ) -> list[SSAValue]:
        """See `LaneKind`."""
        if self.biases is None:
            return [self.splat(0.0)] * (vectors * len(columns))
        b, table = self.b, self.biases
        places = [b.value(b.add(lane, v * LANES)) for v in range(vectors)]
        loads: list[SSAValue] = []
        for at in places:
            loads.append(b.insert(mve.LoadOp(table, at, self.vector), "bias").result)
        return loads * len(columns)


class ByteLanes(LaneKind):
    """Lanes of i32 for maps of bytes; the zero point is folded into the first sums."""

    vector = mve.I32X4

    def __init__(
        self, layer: Layer, outputs: VectorOutputs, starts: Starts, lanes: int, groups: int
    ) -> None:
        super().__init__(layer.b)
        self.outputs, self.classes, self.pitch = outputs, starts, groups * lanes
        values = starts.values
        padded = np.zeros((len(values), groups, lanes), np.int64)
        padded[..., : values.shape[1] // groups] = values.reshape(len(values), groups, -1)
        self.table = layer.table("starts", wrapped(padded.ravel()))

    def element(self, value: SSAValue) -> SSAValue:
        """See `LaneKind`."""
        return widened(self.b, value, "x")

    def product(self, weights: SSAValue, x: SSAValue, sums: SSAValue) -> SSAValue:
        """See `LaneKind`."""
        return self.b.insert(mve.MlaScalarOp(weights, x, sums), "acc").result

    def starts(
        self, row: Index | None, columns: Columns, lane: Index, vectors: int
    ) -> list[SSAValue]:
        """See `LaneKind`."""
        b, (ys, xs) = self.b, (self.classes.rows, self.classes.columns)
        line = b.mul(ys.number(b, ys.inside[0] if row is None else row), len(xs.positions))
        found: dict[Index, list[SSAValue]] = {}
        sums: list[SSAValue] = []
        for column in columns:
            number = xs.number(b, xs.inside[0] if column is None else column)
            if number not in found:
                first = b.add(b.mul(b.add(line, number), self.pitch), lane)
                places = [b.value(b.add(first, v * LANES)) for v in range(vectors)]
                loads = [mve.LoadOp(self.table, at, self.vector) for at in places]
                found[number] = [b.insert(load, "bias").result for load in loads]
            sums += found[number]
        return sums

    def first(self, pool: PoolAttr) -> SSAValue:
        """See `LaneKind`."""
        return self.outputs.lowest(LANES)[0]

    def folded(self, pool: PoolAttr, best: SSAValue, sums: SSAValue) -> SSAValue:
        """See `LaneKind`."""
        return self.outputs.greatest([best], [sums])[0]

    def put(self, sums: SSAValue, channel: Index, count: int, row: Index, column: Index) -> None:
        """See `LaneKind`."""
        self.outputs.put([sums], channel, count, row, column)

    def put_average(
        self, sums: SSAValue, channel: Index, count: int, at: tuple[Index, Index], taps: SSAValue
    ) -> None:
        """See `LaneKind`; layers of integers with an average have no kernel."""
        raise NotImplementedError
