"""The epilogue of a layer with weights, applied to each sum, and how the layer reads operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu import AdditionAttr, Conv2dOp
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.layers import SumsOp
from npu_dialect.npu.pointwise import ActivationAttr, PointwiseAttr
from npu_passes.lowering.additions import Addition
from npu_passes.lowering.functions import Step, element_step
from npu_passes.support.integers import Scaling, bounds_of, element_of, held, load, widened, without
from npu_passes.support.loop_builder import Index, LoopBuilder


def beyond_bounds(activation: PointwiseAttr | None) -> PointwiseAttr | None:
    """An activation unless it is bounds, which the rounding of integers takes in."""
    return None if isinstance(activation, ActivationAttr) else activation


class Operands:
    """Reads inputs and weights: float32 unchanged, integers as i32 minus their zero points."""

    def __init__(self, b: LoopBuilder, op: SumsOp) -> None:
        self.b = b
        self.points = (0, 0) if op.zero_points is None else int_values(op.zero_points)

    def input(self, value: SSAValue) -> SSAValue:
        """An input element as a factor: a float32, or an i32 minus the zero point."""
        return without(self.b, widened(self.b, value, value.name_hint), self.points[0])

    def weight(self, value: SSAValue) -> SSAValue:
        """A weight as a factor: a float32, or an i32 minus the zero point."""
        return without(self.b, widened(self.b, value, value.name_hint), self.points[1])


@dataclass(frozen=True)
class Sum:
    """Builds the fused addition of a residual behind a convolution, and the sum's activation."""

    b: LoopBuilder
    residual: SSAValue
    clause: AdditionAttr
    step: Step
    """What happens to the sum of floats, or to that of integers after its bounds."""
    quantised: Addition | None
    """How to add quantised integers; None for float32."""
    function: PointwiseAttr | None
    """What the step computes; nothing if it is None."""

    @staticmethod
    def of(b: LoopBuilder, op: Conv2dOp, out: SSAValue) -> Sum | None:
        """The fused addition of a convolution; None if it has none."""
        clause, residual, activation = op.addition, op.residual, op.sum_activation
        if clause is None or residual is None:
            return None
        quantised = None
        if clause.is_quantised:
            scales, points = float_values(clause.scales), int_values(clause.zero_points)
            bounds = bounds_of(element_of(out), activation)
            elements = clause.ordered(element_of(residual), element_of(out))
            quantised = Addition(b, scales, points, clause.mode.data, bounds, elements)
            activation = beyond_bounds(activation)
        step = element_step(b, op, activation)
        return Sum(b, residual, clause, step, quantised, activation)

    @property
    def in_floats(self) -> bool:
        """Whether quantised integers are added in mode float, as float32 numbers."""
        what = self.quantised
        return what is not None and what.mode == "float" and what.whole is None

    def __call__(self, residual: SSAValue, own: SSAValue, channel: Index) -> SSAValue:
        """The activated sum of two float32 or of two quantised integers, which are i32."""
        summands = self.clause.ordered(residual, own)
        total = self.b.addf if self.quantised is None else self.quantised
        return self.step(total(*summands), channel)

    def of_floats(
        self, residual: SSAValue, own: SSAValue, zero_point: int, channel: Index
    ) -> SSAValue:
        """The activated sum, for a rounded float32 `own` without its zero point `zero_point`.

        So the requantised value of the convolution is never converted to an integer.
        """
        assert self.quantised is not None
        b, points = self.b, self.quantised.points
        residual_point, own_point = points[:2] if self.clause.residual_first else points[1::-1]
        if zero_point != own_point:  # small integers: the float32 sum is exact
            own = b.addf(own, b.real(float(zero_point - own_point)))
        other = self.quantised.number(residual, residual_point)
        return self.step(self.quantised.of_floats(*self.clause.ordered(other, own)), channel)


class Epilogue:
    """Builds the epilogue of one sum: activation or requantisation, then the fused addition.

    The activation of a requantised sum narrows the bounds of its result.
    """

    def __init__(
        self, b: LoopBuilder, op: SumsOp, out: SSAValue, largest: Sequence[int] | None = None
    ) -> None:
        """`largest`: bounds of the magnitudes of each filter's sums, if they are known."""
        self.b, self.activation = b, op.activation
        self.sum = Sum.of(b, op, out) if isinstance(op, Conv2dOp) else None
        self.sums: Attribute = f32 if op.zero_points is None else op.sums_element
        self.bounds = bounds_of(element_of(out), op.activation)
        self.scaling: Scaling | None = None
        what = op.requantize
        self.step = element_step(b, op, op.activation if what is None else self.table)
        if what is not None:
            scales, mode = float_values(what.scales), what.mode.data
            bounds, sums = self.bounds, self.sums
            self.scaling = Scaling(
                b, op, scales, what.offset, mode, bounds, sums=sums, largest=largest
            )

    @property
    def table(self) -> PointwiseAttr | None:
        """What happens to a requantised sum after its bounds: a table, or nothing."""
        return beyond_bounds(self.activation)

    @property
    def fills_byte(self) -> bool:
        """Whether each value to store is a requantised sum from 0 to 255 plus a zero point."""
        return self.scaling is not None and self.scaling.fills_byte and self.table is None

    def zero(self) -> SSAValue:
        """The first value of a sum without bias: zero."""
        return self.b.number(0.0, self.sums)

    def lowest(self) -> SSAValue:
        """The first value of a maximum of sums."""
        return self.b.number(-inf, self.sums)

    def lowest_stored(self) -> SSAValue:
        """The first value of a maximum that is kept in the output."""
        return self.lowest() if self.sums == f32 else self.b.integer(self.bounds[0])

    def __call__(
        self,
        value: SSAValue,
        channel: Index,
        at: Sequence[Index] = (),
        residual: SSAValue | None = None,
    ) -> SSAValue:
        """The value to store for a sum; an integer of at most 16 bits is an i32.

        With a fused addition, `at` is the index of the output, at which the residual is read. If
        the loops use another shape than the residual's, `residual` is a view of it in that shape.
        """
        if self.sum is None:
            return self.own(value, channel)
        other = load(self.b, self.sum.residual if residual is None else residual, at, "residual")
        in_floats = self.sum.in_floats and self.table is None
        if self.scaling is not None and in_floats and not self.scaling.fixed:
            number = self.scaling.number(value, channel)
            return self.sum.of_floats(other, number, self.scaling.zero_point, channel)
        return self.sum(other, self.own(value, channel), channel)

    def stored(
        self, values: Sequence[SSAValue], channels: Sequence[Index]
    ) -> list[SSAValue] | None:
        """The values to store for some sums, two computed together; None if they cannot be."""
        if self.scaling is None or self.sum is not None or not self.scaling.in_pairs:
            return None
        even = len(values) // 2 * 2
        found = self.scaling.pairs(values[:even], channels[:even])
        found += [self.scaling(*each) for each in zip(values[even:], channels[even:])]
        return [self.step(value, channel) for value, channel in zip(found, channels, strict=True)]

    def own(self, value: SSAValue, channel: Index) -> SSAValue:
        """A sum after activation or requantisation, but before a fused addition."""
        if self.scaling is not None:
            return self.step(self.scaling(value, channel), channel)
        if self.sums == f32:
            return self.step(value, channel)
        return value if self.activation is None else held(self.b, value, *self.bounds)
