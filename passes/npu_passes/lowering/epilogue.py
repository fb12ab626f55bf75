"""What a layer with weights does to each sum before it stores it, and how it reads its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu import ActivationAttr, AdditionAttr, Conv2dOp, FullyConnectedOp
from npu_dialect.npu.attributes import float_values, int_values
from npu_passes.lowering.additions import Addition
from npu_passes.support.common import activate
from npu_passes.support.integers import Scaling, bounds_of, element_of, held, load, widened, without
from npu_passes.support.loop_builder import Index, LoopBuilder


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


@dataclass(frozen=True)
class Sum:
    """What is added to each value of a convolution, and the activation of the sum."""

    b: LoopBuilder
    residual: SSAValue
    clause: AdditionAttr
    activation: ActivationAttr | None
    quantised: Addition | None
    """How to add; None for float32."""

    @staticmethod
    def of(b: LoopBuilder, op: Conv2dOp, out: SSAValue) -> Sum | None:
        """The addition behind a convolution, if there is one."""
        clause, residual, activation = op.addition, op.residual, op.sum_activation
        if clause is None or residual is None:
            return None
        quantised = None
        if clause.is_quantised:
            scales, points = float_values(clause.scales), int_values(clause.zero_points)
            bounds = bounds_of(element_of(out), activation)
            quantised = Addition(b, scales, points, clause.mode.data, bounds)
        return Sum(b, residual, clause, activation, quantised)

    @property
    def in_floats(self) -> bool:
        """Whether quantised integers are added as float32 numbers without their zero points."""
        return self.quantised is not None and self.quantised.mode == "float"

    def __call__(self, residual: SSAValue, own: SSAValue) -> SSAValue:
        """The activated sum of two float32, or of two quantised integers (as i32)."""
        summands = self.clause.ordered(residual, own)
        if self.quantised is not None:
            return self.quantised(*summands)
        return activate(self.b, self.b.addf(*summands), self.activation)

    def of_floats(self, residual: SSAValue, own: SSAValue, zero_point: int) -> SSAValue:
        """The same, of a float32 `own` without `zero_point`: it never becomes an integer."""
        assert self.quantised is not None
        b, points = self.b, self.quantised.points
        residual_point, own_point = points[:2] if self.clause.residual_first else points[1::-1]
        if zero_point != own_point:  # small integers: the float32 sum is exact
            own = b.addf(own, b.real(float(zero_point - own_point)))
        other = self.quantised.number(residual, residual_point)
        return self.quantised.of_floats(*self.clause.ordered(other, own))


class Epilogue:
    """Activation, or requantisation with the activation as its bounds; then maybe an addition."""

    def __init__(self, b: LoopBuilder, op: Conv2dOp | FullyConnectedOp, out: SSAValue) -> None:
        self.b, self.activation = b, op.activation
        self.sum = Sum.of(b, op, out) if isinstance(op, Conv2dOp) else None
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

    def __call__(
        self,
        value: SSAValue,
        channel: Index,
        at: Sequence[Index] = (),
        residual: SSAValue | None = None,
    ) -> SSAValue:
        """A sum as it is stored (bytes as i32).

        Behind an addition `at` is the output's index, and where the residual is read; `residual` is
        a view of it, if `at` is no index of the operand itself.
        """
        if self.sum is None:
            return self.own(value, channel)
        other = load(self.b, self.sum.residual if residual is None else residual, at, "residual")
        if self.scaling is not None and self.sum.in_floats and not self.scaling.fixed:
            number = self.scaling.number(value, channel)
            return self.sum.of_floats(other, number, self.scaling.zero_point)
        return self.sum(other, self.own(value, channel))

    def own(self, value: SSAValue, channel: Index) -> SSAValue:
        """A sum before there is anything added to it."""
        if self.scaling is not None:
            return self.scaling(value, channel)
        if self.sums == f32:
            return activate(self.b, value, self.activation)
        return value if self.activation is None else held(self.b, value, *self.bounds)
