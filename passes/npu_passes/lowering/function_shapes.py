"""What a function does, but for the constants that it reads: the same for functions to be shared.

    func.func private @conv2(%ifm) { %w = memref.get_global @conv2_weight ... }
    func.func private @conv3(%ifm) { %w = memref.get_global @conv3_weight ... }
have equal tokens, so finding equal functions is one look into a dictionary for each; what the
constants are stands beside the tokens.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue

COMMENTS = "npu."
"""What discardable attributes begin with that change nothing of what loops do."""

Constant: TypeAlias = memref.GetGlobalOp | arith.ConstantOp
"""What reads a constant."""


@dataclass
class FunctionShape:
    """A function as tokens, and the constants that are not part of them."""

    function: func.FuncOp
    tokens: list[Hashable] = field(default_factory=list[Hashable])
    """Types and ops in order; a value is its number in the function."""
    globals: list[Constant] = field(default_factory=list[Constant])
    """The readers of globals, in order."""
    scalars: list[Constant] = field(default_factory=list[Constant])
    """The numbers that may differ, in order."""
    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    @staticmethod
    def of(function: func.FuncOp) -> FunctionShape:
        """Walk over a function whose regions have one block each at most, once."""
        shape = FunctionShape(function)
        shape.tokens.append((function.function_type, plain(function.attributes)))
        shape.add_region(function.body)
        return shape

    def add_region(self, region: Region) -> None:
        """The block of a region: its arguments and ops."""
        for block in region.blocks:
            self.tokens.append(tuple(self.define(argument) for argument in block.args))
            for op in block.ops:
                self.add(op)
        self.tokens.append(None)

    def define(self, value: SSAValue) -> Attribute:
        """Number a value; its type."""
        self.numbers[value] = len(self.numbers)
        return value.type

    def add(self, op: Operation) -> None:
        """One op with its regions."""
        operands = tuple(self.numbers[value] for value in op.operands)
        results = tuple(self.define(value) for value in op.results)
        properties = self.properties(op)
        self.tokens.append((op.name, operands, results, properties, plain(op.attributes)))
        for region in op.regions:
            self.add_region(region)

    def properties(self, op: Operation) -> Hashable:
        """The properties of an op, without what may differ."""
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
    """Discardable attributes that may mean something."""
    return tuple(sorted(each for each in attributes.items() if not each[0].startswith(COMMENTS)))


def value_of(op: Constant) -> Hashable:
    """What tells a constant from others: a symbol, or a number, and its type."""
    if isinstance(op, memref.GetGlobalOp):
        return op.name_, op.memref.type
    return op.value


def may_differ(op: arith.ConstantOp) -> bool:
    """Whether a number is one to compute with, neither a bound nor an index."""
    users = (use.operation for use in op.result.uses)
    return op.result.type in (i32, f32) and not any(
        isinstance(user, arith.IndexCastOp) for user in users
    )
