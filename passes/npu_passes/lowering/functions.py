"""Build what layers do to each element by itself: bounds, functions, tables.

A function is built from its formula in `npu_dialect.npu.functions`; a table is a constant in flash:

    %i = arith.index_cast %q : i32 to index
    %k = arith.addi %i, %c128 : index
    %y = memref.load %lookup[%k] : memref<256xi8, #npu.flash>
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from npu_dialect.npu.functions import MATH_OPS, Arithmetic, Call
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.pointwise import ActivationAttr, FunctionAttr, PointwiseAttr, TableAttr
from npu_passes.support.common import activate
from npu_passes.support.integers import constant_table, load
from npu_passes.support.loop_builder import CONTRACT, Index, LoopBuilder

Step: TypeAlias = Callable[[SSAValue, Index], SSAValue]
"""Builds the new value of an element, from the old one and its channel."""


@dataclass(frozen=True)
class LoopArithmetic(Arithmetic[SSAValue]):
    """Formulas as ops of loops.

    The rounding of a sum of products is not fixed, as in other layers of floats.
    """

    b: LoopBuilder

    def number(self, value: float) -> SSAValue:
        """A float32 constant."""
        return self.b.real(value)

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs + rhs."""
        return self.b.insert(arith.AddfOp(lhs, rhs, CONTRACT)).result

    def sub(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs - rhs."""
        return self.b.insert(arith.SubfOp(lhs, rhs, CONTRACT)).result

    def mul(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs * rhs."""
        return self.b.insert(arith.MulfOp(lhs, rhs, CONTRACT)).result

    def div(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs / rhs."""
        return self.b.divf(lhs, rhs)

    def neg(self, value: SSAValue) -> SSAValue:
        """-value."""
        return self.b.insert(arith.NegfOp(value, CONTRACT)).result

    def call(self, name: Call, value: SSAValue) -> SSAValue:
        """A function of a value."""
        return self.b.insert(MATH_OPS[name](value)).results[0]

    def if_less(
        self, lhs: SSAValue, rhs: SSAValue, then: SSAValue, otherwise: SSAValue
    ) -> SSAValue:
        """`then` if lhs < rhs, else `otherwise`."""
        less = self.b.insert(arith.CmpfOp(lhs, rhs, "olt")).result
        return self.b.insert(arith.SelectOp(less, then, otherwise)).result


def element_step(b: LoopBuilder, op: LayerOp, what: PointwiseAttr | None) -> Step:
    """The step for what happens to each element of a layer; constants are built at once.

    Elements are float32, or i32 that hold integers.
    """
    match what:
        case None:
            return lambda value, _: value
        case FunctionAttr():
            return function_step(b, op, what)
        case TableAttr():
            return table_step(b, op, what)
        case _:
            assert isinstance(what, ActivationAttr)
            return lambda value, _: activate(b, value, what)


def function_step(b: LoopBuilder, op: LayerOp, function: FunctionAttr) -> Step:
    """The step of a function; parameters by channel lie in flash."""
    arithmetic, formula = LoopArithmetic(b), function.rule.formula
    if not function.has_channels:
        return lambda value, _: formula(
            arithmetic, value, [b.real(number) for number in function.arguments]
        )
    numbers = constant_table(b, op, "slopes", np.array(function.arguments, np.float32))
    return lambda value, channel: formula(arithmetic, value, [b.load(numbers, [channel])])


def table_step(b: LoopBuilder, op: LayerOp, table: TableAttr) -> Step:
    """The step of a table: one load from flash."""
    entries = constant_table(b, op, "lookup", table.entries)

    def step(value: SSAValue, _: Index) -> SSAValue:
        place = b.insert(arith.IndexCastOp(value, IndexType())).result
        return load(b, entries, [b.sub(place, table.least)])

    return step
