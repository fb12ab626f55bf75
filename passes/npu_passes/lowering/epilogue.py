"""What a layer with weights does to each sum before it stores it, and how it reads its operands."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.attributes import float_values, int_values
from npu_passes.lowering.common import activate
from npu_passes.lowering.integers import Scaling, bounds_of, element_of, held, widened, without
from npu_passes.lowering.loop_builder import Index, LoopBuilder


class Operands:
    """Reads inputs and weights: float32 as they are, bytes as i32 without their zero points."""

    def __init__(self, b: LoopBuilder, op: Conv2dOp | FullyConnectedOp) -> None:
        self.b = b
        self.points = (0, 0) if op.zero_points is None else int_values(op.zero_points)

    def input(self, value: SSAValue) -> SSAValue:
        """An element of the input as it is multiplied."""
        return without(self.b, widened(self.b, value, value.name_hint), self.points[0])

    def weight(self, value: SSAValue) -> SSAValue:
        """An element of the weight as it is multiplied."""
        return without(self.b, widened(self.b, value, value.name_hint), self.points[1])


class Epilogue:
    """Activation, or requantisation with the activation as its bounds."""

    def __init__(self, b: LoopBuilder, op: Conv2dOp | FullyConnectedOp, out: SSAValue) -> None:
        self.b, self.activation = b, op.activation
        self.sums: Attribute = f32 if op.zero_points is None else i32
        self.bounds = bounds_of(element_of(out), op.activation)
        self.scaling: Scaling | None = None
        if (what := op.requantize) is not None:
            scales, mode = float_values(what.scales), what.mode.data
            self.scaling = Scaling(b, op, scales, what.offset, mode, self.bounds)

    def zero(self) -> SSAValue:
        """Where a sum without bias starts."""
        return self.b.number(0.0, self.sums)

    def lowest(self) -> SSAValue:
        """Where a maximum of sums starts."""
        return self.b.number(-inf, self.sums)

    def lowest_stored(self) -> SSAValue:
        """Where a maximum in the output starts."""
        return self.lowest() if self.sums == f32 else self.b.integer(self.bounds[0])

    def __call__(self, value: SSAValue, channel: Index) -> SSAValue:
        """A sum as it is stored (bytes as i32)."""
        if self.scaling is not None:
            return self.scaling(value, channel)
        if self.sums == f32:
            return activate(self.b, value, self.activation)
        return value if self.activation is None else held(self.b, value, *self.bounds)
