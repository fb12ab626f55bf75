"""Integer and index operations of arith in C.

Integers wrap around in the IR, while signed overflow is undefined in C. So sums of 32 and 64 bits
are computed in the unsigned type, unless the op has `overflow<nsw>`. Index arithmetic is plain
`int` arithmetic; sums are kept as sums of terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.arith import IntegerOverflowAttr, IntegerOverflowFlag
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation

from npu_passes.emit.c.expr import (
    Expr,
    Rank,
    binary,
    call,
    cast,
    combined,
    conditional,
    scaled,
    sum_expr,
)
from npu_passes.emit.c.unit import Unit

Build: TypeAlias = Callable[[Operation, Sequence[Expr], Unit], Expr]
"""Builds the expression of an op from the op, the expressions of its operands, and the unit."""


def is_index(op: Operation) -> bool:
    """Whether an op computes with indices."""
    return isinstance(op.operands[0].type, IndexType)


def add(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """Prints an addition."""
    if is_index(op):
        return sum_expr(operands[0].as_linear.plus(operands[1].as_linear), *operands)
    return wrapping(op, operands, unit, "+", Rank.ADD)


def subtract(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """Prints a subtraction."""
    if is_index(op):
        return sum_expr(operands[0].as_linear.plus(operands[1].as_linear.times(-1)), *operands)
    return wrapping(op, operands, unit, "-", Rank.ADD)


def multiply(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """Prints a multiplication; a constant times an index sum is multiplied out."""
    if is_index(op):
        left, right = operands
        if left.number is not None:
            left, right = right, left
        if right.number is not None:
            return sum_expr(scaled(left, right.number), *operands)
        return binary(left, "*", right, Rank.MULTIPLY)
    return wrapping(op, operands, unit, "*", Rank.MULTIPLY)


def wrapping(
    op: Operation, operands: Sequence[Expr], unit: Unit, operator: str, rank: Rank
) -> Expr:
    """An operator on fixed-width integers, modulo 2^width."""
    ctype = unit.ctype(op.results[0].type)
    if ctype.name == "bool":
        word, rank = ("&&", Rank.AND) if operator == "*" else ("!=", Rank.COMPARE)
        return binary(operands[0], word, operands[1], rank)
    if ctype.bytes < 4:
        return cast(ctype.name, binary(operands[0], operator, operands[1], rank))
    flags = op.properties.get("overflowFlags")
    if isinstance(flags, IntegerOverflowAttr) and IntegerOverflowFlag.NSW in flags.data:
        return binary(operands[0], operator, operands[1], rank)
    left, right = (cast(ctype.unsigned, operand) for operand in operands)
    return cast(ctype.name, binary(left, operator, right, rank))


def signed(operator: str, rank: Rank) -> Build:
    """Prints an operator on signed numbers that cannot overflow, such as a quotient."""

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        made = binary(operands[0], operator, operands[1], rank)
        ctype = unit.ctype(op.results[0].type)
        return made if is_index(op) or ctype.bytes >= 4 else cast(ctype.name, made)

    return build


def unsigned_operands(op: Operation, operands: Sequence[Expr], unit: Unit) -> list[Expr]:
    """The operands, read as unsigned numbers."""
    ctype = unit.ctype(op.operands[0].type)
    if ctype.name == "bool":
        return list(operands)
    unit.headers.update({"stdint.h"} if ctype.name == "ptrdiff_t" else ())
    return [as_unsigned(operand, ctype.unsigned) for operand in operands]


def as_unsigned(operand: Expr, ctype: str) -> Expr:
    """One operand as an unsigned number; small constants get a suffix instead of a cast."""
    if ctype == "unsigned int" and operand.number is not None and operand.number >= 0:
        return Expr(f"{operand.number}u")
    return cast(ctype, operand)


def unsigned(operator: str, rank: Rank) -> Build:
    """Prints an operator on unsigned numbers."""

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        left, right = unsigned_operands(op, operands, unit)
        made = binary(left, operator, right, rank)
        return cast(unit.ctype(op.results[0].type).name, made)

    return build


def bitwise(operator: str, logical: str) -> Build:
    """Prints and, or, exclusive or; for `bool` it is the `logical` operator."""

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        ctype = unit.ctype(op.results[0].type)
        if ctype.name == "bool":
            if logical == "!=" and operands[1].text == "true":
                return combined(f"!{operands[0].within(Rank.UNARY)}", Rank.UNARY, operands[0])
            ranks = {"&&": Rank.AND, "||": Rank.OR, "!=": Rank.COMPARE}
            return binary(operands[0], logical, operands[1], ranks[logical])
        made = binary(operands[0], operator, operands[1], Rank.BITS)
        return made if ctype.bytes >= 4 else cast(ctype.name, made)

    return build


def shift_left(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """Prints a shift to the left, which drops the highest bits."""
    ctype = unit.ctype(op.results[0].type)
    word = "uint32_t" if ctype.bytes < 4 else ctype.unsigned
    unit.headers.add("stdint.h")
    return cast(ctype.name, binary(cast(word, operands[0]), "<<", operands[1], Rank.SHIFT))


def shift_right(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """Prints a shift to the right, which fills up with zeros or with the sign."""
    ctype = unit.ctype(op.results[0].type)
    if isinstance(op, arith.ShRUIOp):
        left = cast(ctype.unsigned, operands[0])
        unit.headers.add("stdint.h")
        return cast(ctype.name, binary(left, ">>", operands[1], Rank.SHIFT))
    return cast(ctype.name, binary(operands[0], ">>", operands[1], Rank.SHIFT))


def extreme(comparison: str, *, is_unsigned: bool = False) -> Build:
    """Prints a maximum or minimum: the left operand if the comparison holds, else the right one.

    The operands are printed twice, so they are names or literals.
    """

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        left, right = unsigned_operands(op, operands, unit) if is_unsigned else operands
        condition = binary(left, comparison, right, Rank.COMPARE)
        return conditional(condition, operands[0], operands[1])

    return build


def helper(template: str) -> Build:
    """Prints an op as a call of a helper function."""

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        name = unit.helper(template, unit.ctype(op.results[0].type))
        return call(name, *operands)

    return build


COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
"""Operators of arith.cmpi in the order of its predicates; the last four are unsigned."""


def compare(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """Comparison of integers."""
    assert isinstance(op, arith.CmpiOp)
    predicate = op.predicate.value.data
    left, right = operands if predicate < 6 else unsigned_operands(op, operands, unit)
    return binary(left, COMPARISONS[predicate], right, Rank.COMPARE)


def extend(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A wider integer of the same value, read as signed or as unsigned."""
    source, target = unit.ctype(op.operands[0].type), unit.ctype(op.results[0].type)
    value = operands[0]
    if source.name == "bool":
        widened = cast(target.name, value)
        if isinstance(op, arith.ExtUIOp):
            return widened
        return cast(target.name, combined(f"-{widened.within(Rank.UNARY)}", Rank.UNARY, value))
    if isinstance(op, arith.ExtUIOp):
        value = cast(source.unsigned, value)
    return cast(target.name, value)


def truncate(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """The lower bits."""
    target = unit.ctype(op.results[0].type)
    if target.name == "bool":
        bit = combined(f"({operands[0].within(Rank.BITS)} & 1)", Rank.ATOM, operands[0])
        return binary(bit, "!=", Expr("0"), Rank.COMPARE)
    return cast(target.name, operands[0])


def index_cast(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A conversion between an index and an integer."""
    return cast(unit.ctype(op.results[0].type).name, operands[0])


def reinterpret(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """The same bits, read as signed or as unsigned."""
    return cast(unit.ctype(op.results[0].type).name, operands[0])
