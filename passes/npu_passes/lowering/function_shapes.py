"""Compare functions without the constants that they read, to find those that can be shared.

    func.func private @conv2(%ifm) { %w = memref.get_global @conv2_weight ... }
    func.func private @conv3(%ifm) { %w = memref.get_global @conv3_weight ... }
have equal tokens, so equal functions are found by one dictionary lookup each. The constants are
kept beside the tokens.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue

from npu_dialect.attributes import BACKWARDS, BY_CHANNEL, OVER_INPUT

COMMENTS = "npu."
"""Prefix of discardable attributes that do not affect what loops compute."""
ORDERS = (BACKWARDS.name, BY_CHANNEL.name, OVER_INPUT.name)
"""Those that affect the order in which they do."""

Constant: TypeAlias = memref.GetGlobalOp | arith.ConstantOp
"""An op whose result is a constant."""


@dataclass
class FunctionShape:
    """A function as a list of tokens, and the constants that are not part of them."""

    function: func.FuncOp
    tokens: list[Hashable] = field(default_factory=list[Hashable])
    """Types and ops in order; a value is represented by its number in the function."""
    globals: list[Constant] = field(default_factory=list[Constant])
    """The ops that read globals, in order."""
    scalars: list[Constant] = field(default_factory=list[Constant])
    """The constant numbers that may differ, in order."""
    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    @staticmethod
    def of(function: func.FuncOp) -> FunctionShape:
        """The shape of a function whose regions have at most one block each."""
        shape = FunctionShape(function)
        shape.tokens.append((function.function_type, plain(function.attributes)))
        shape.add_region(function.body)
        return shape

    def add_region(self, region: Region) -> None:
        """Add the tokens of a region: block arguments and ops."""
        for block in region.blocks:
            self.tokens.append(tuple(self.define(argument) for argument in block.args))
            for op in block.ops:
                self.add(op)
        self.tokens.append(None)

    def define(self, value: SSAValue) -> Attribute:
        """Give a value its number; returns its type."""
        self.numbers[value] = len(self.numbers)
        return value.type

    def add(self, op: Operation) -> None:
        """Add the tokens of an op and its regions."""
        operands = tuple(self.numbers[value] for value in op.operands)
        results = tuple(self.define(value) for value in op.results)
        properties = self.properties(op)
        self.tokens.append((op.name, operands, results, properties, plain(op.attributes)))
        for region in op.regions:
            self.add_region(region)

    def properties(self, op: Operation) -> Hashable:
        """The properties of an op; None if it is a constant that may differ, which is noted."""
        match op:
            case memref.GetGlobalOp():
                self.globals.append(op)
                return None
            case arith.ConstantOp() if may_differ(op):
                self.scalars.append(op)
                return None
            case _:
                return tuple(sorted(op.properties.items()))


def plain(attributes: dict[str, Attribute]) -> Hashable:
    """The discardable attributes that may affect what a function computes, sorted."""
    return tuple(
        sorted(
            each
            for each in attributes.items()
            if each[0] in ORDERS or not each[0].startswith(COMMENTS)
        )
    )


def value_of(op: Constant) -> Hashable:
    """The identity of a constant: its symbol or number, with its type."""
    if isinstance(op, memref.GetGlobalOp):
        return op.name_, op.memref.type
    return op.value


def may_differ(op: arith.ConstantOp) -> bool:
    """Whether a constant is an operand of arithmetic, not a loop bound or an index."""
    users = (use.operation for use in op.result.uses)
    return op.result.type in (i32, f32) and not any(
        isinstance(user, arith.IndexCastOp) for user in users
    )
