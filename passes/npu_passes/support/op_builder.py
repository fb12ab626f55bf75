"""Inserts ops such as `arith.addf` by the thousand, in half of the time that xDSL takes for it.

xDSL's constructors check and fill in properties for each op anew. Here the first op of a kind is
made by its constructor, and the others get its properties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

Binary: TypeAlias = type[
    arith.SignlessIntegerBinaryOperation | arith.FloatingPointLikeBinaryOperation
]
Comparison: TypeAlias = type[arith.CmpiOp | arith.CmpfOp]

OpT = TypeVar("OpT", bound=Operation)


class OpBuilder:
    """Inserts ops where `builder` is."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.properties: dict[object, dict[str, Attribute]] = {}
        """The properties of the first op of each kind; see `quickly`."""

    def insert(self, op: OpT, hint: str | None = None) -> OpT:
        """Insert an op and give its results a name hint."""
        self.builder.insert(op)
        if hint is not None:
            for result in op.results:
                result.name_hint = hint
        return op

    def quickly(
        self,
        kind: type[OpT],
        operands: Sequence[SSAValue],
        result: Attribute,
        first: Callable[[], OpT],
        variant: object = None,
        hint: str | None = None,
    ) -> SSAValue:
        """Insert an op with one result as `first` makes it; returns the result.

        Its properties depend on `kind` and `variant` only, so all but the first such op are made
        without xDSL's constructor, which takes most of the time of a lowering.
        """
        properties = self.properties.get((kind, variant))
        if properties is None:
            op = first()
            self.properties[kind, variant] = op.properties
        else:
            op = kind.create(operands=operands, result_types=(result,), properties=properties)
        return self.insert(op, hint).results[0]

    def binary(
        self, kind: Binary, lhs: SSAValue, rhs: SSAValue, hint: str | None = None
    ) -> SSAValue:
        """Insert an op of two operands whose result has their type."""
        return self.quickly(kind, (lhs, rhs), lhs.type, partial(kind, lhs, rhs), hint=hint)

    def compare(self, kind: Comparison, lhs: SSAValue, rhs: SSAValue, predicate: str) -> SSAValue:
        """Insert a comparison."""
        first = partial(kind, lhs, rhs, predicate)
        return self.quickly(kind, (lhs, rhs), i1, first, predicate)

    def select(
        self, condition: SSAValue, one: SSAValue, other: SSAValue, hint: str | None = None
    ) -> SSAValue:
        """Insert a choice between two values."""
        operands = (condition, one, other)
        first = partial(arith.SelectOp, *operands)
        return self.quickly(arith.SelectOp, operands, one.type, first, hint=hint)

    def compared(self, lhs: SSAValue, rhs: SSAValue, floats: str, integers: str) -> SSAValue:
        """A comparison by the predicate `floats` or `integers`, as the type of `lhs` demands."""
        if isa(lhs.type, IntegerType):
            return self.compare(arith.CmpiOp, lhs, rhs, integers)
        return self.compare(arith.CmpfOp, lhs, rhs, floats)
