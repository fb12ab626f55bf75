"""Floating-point operations of arith and math in C.

They keep the meaning of the op for NaN and signed zeros. Where a maximum can be one comparison
it is: with a constant, or when the op's fastmath flags say that there are no NaNs and signed
zeros do not matter. A product is rounded before it is added to something, whatever the compiler's
flags, unless both ops say `contract`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from npu_passes.emit.c.expr import Expr, Rank, binary, call, cast, combined, conditional
from npu_passes.emit.c.integers import Build
from npu_passes.emit.c.unit import Unit

NUMBER = "0123456789"

SUMS = (arith.AddfOp, arith.SubfOp, arith.NegfOp)
"""What makes one operation with a product."""


def infix(operator: str, rank: Rank) -> Build:
    """An operator that C has."""
    return lambda op, operands, unit: binary(operands[0], operator, operands[1], rank)


def product(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A product, rounded on its own if a compiler could make one operation of it and a sum."""
    expr = binary(operands[0], "*", operands[1], Rank.MULTIPLY)
    if not is_kept_apart(op):
        return expr
    return call(unit.helper("rounded", unit.ctype(op.results[0].type)), expr)


def is_kept_apart(op: Operation) -> bool:
    """Whether something adds a product, and not both of them may be contracted."""
    sums = [each for each in readers(op.results[0]) if isinstance(each, SUMS)]
    return any(not has_flag(each, FastMathFlag.ALLOW_CONTRACT) for each in (op, *sums) if sums)


def readers(value: SSAValue) -> Iterator[Operation]:
    """What reads a value, also behind choices and loops that pass it on."""
    values, seen = [value], {value}
    while values:
        for use in values.pop().uses:
            match use.operation:
                case arith.SelectOp() as select:
                    passed = [select.result]
                case scf.YieldOp() as end:
                    passed = carried(end.parent_op(), use.index)
                case reader:
                    passed = []
                    yield reader
            values += [new for new in passed if new not in seen]
            seen.update(passed)


def carried(region: Operation | None, index: int) -> list[SSAValue]:
    """What a yielded value becomes."""
    if isinstance(region, scf.ForOp):
        return [region.res[index], region.body.block.args[1 + index]]
    return [] if region is None else [region.results[index]]


def negate(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """The other sign, of zeros too."""
    value = operands[0]
    text = value.text if value.rank == Rank.ATOM else f"({value.text})"
    return combined(f"-{text}", Rank.UNARY, value)


def has_flag(op: Operation, flag: FastMathFlag) -> bool:
    """Whether the op promises something about its operands."""
    flags = op.properties.get("fastmath")
    return isinstance(flags, FastMathFlagsAttr) and flag in flags.data


def is_number(value: Expr) -> bool:
    """Whether an expression is a literal, and no NaN."""
    text = value.text.removeprefix("-")
    return text[0] in NUMBER or text == "INFINITY"


def bounded(value: Expr, comparison: str, bound: Expr) -> Expr:
    """`value comparison bound ? bound : value`: NaN stays, as no comparison with it holds."""
    return conditional(binary(value, comparison, bound, Rank.COMPARE), bound, value)


def extreme(template: str) -> Build:
    """`maximumf` and `minimumf`: NaN wins, and +0 is greater than -0."""
    loses = "<" if template == "maximum" else ">"
    # Against this zero the other one loses too.
    strong_zero = "0.0" if template == "maximum" else "-0.0"

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        left, right = operands
        if is_number(left) and not is_number(right):
            left, right = right, left
        if is_number(right):
            strong = right.text.removesuffix("f") == strong_zero
            return bounded(left, f"{loses}=" if strong else loses, right)
        no_nans = has_flag(op, FastMathFlag.NO_NANS)
        if no_nans and has_flag(op, FastMathFlag.NO_SIGNED_ZEROS):
            return bounded(left, loses, right)
        unit.headers.add("math.h")
        return call(unit.helper(template, unit.ctype(op.results[0].type)), left, right)

    return build


def extreme_number(comparison: str) -> Build:
    """`maxnumf` and `minnumf`: the other operand wins against NaN."""

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        left, right = operands
        if is_number(left) and not is_number(right):
            left, right = right, left
        better = binary(left, comparison, right, Rank.COMPARE)
        if is_number(right) or has_flag(op, FastMathFlag.NO_NANS):
            return conditional(better, left, right)
        is_nan = binary(right, "!=", right, Rank.COMPARE)
        return conditional(binary(better, "||", is_nan, Rank.OR), left, right)

    return build


ORDERED = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
"""Predicates of arith.cmpf that are an operator of C."""
UNORDERED = {9: "<=", 10: "<", 11: ">=", 12: ">"}
"""Predicates of arith.cmpf that are the opposite of an operator of C."""


def compare(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """Comparison; `ordered` predicates are false for NaN, `unordered` ones true."""
    assert isinstance(op, arith.CmpfOp)
    left, right = operands
    predicate = op.predicate.value.data
    if operator := ORDERED.get(predicate):
        return binary(left, operator, right, Rank.COMPARE)
    if operator := UNORDERED.get(predicate):
        return inverse(binary(left, operator, right, Rank.COMPARE))
    differ = binary(
        binary(left, "<", right, Rank.COMPARE),
        "||",
        binary(left, ">", right, Rank.COMPARE),
        Rank.OR,
    )
    ordered = binary(
        binary(left, "==", left, Rank.COMPARE),
        "&&",
        binary(right, "==", right, Rank.COMPARE),
        Rank.AND,
    )
    unit.headers.add("stdbool.h")
    table = {
        0: Expr("false"),
        6: differ,
        7: ordered,
        8: inverse(differ),
        14: inverse(ordered),
        15: Expr("true"),
    }
    return table[predicate]


def inverse(condition: Expr) -> Expr:
    """`!(condition)`."""
    return combined(f"!({condition.text})", Rank.UNARY, condition)


def from_integer(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """An integer as a float."""
    source, target = op.operands[0].type, unit.ctype(op.results[0].type)
    value = operands[0]
    if isinstance(op, arith.UIToFPOp) and source != IntegerType(1):
        value = cast(unit.ctype(source).unsigned, value)
    elif source == IntegerType(1) and isinstance(op, arith.SIToFPOp):
        value = combined(f"-(int){value.within(Rank.UNARY)}", Rank.UNARY, value)
    return cast(target.name, value)


def to_integer(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A float as an integer, towards zero."""
    target = unit.ctype(op.results[0].type)
    value = operands[0]
    if isinstance(op, arith.FPToUIOp) and target.name != "bool":
        value = cast(target.unsigned, value)
    return cast(target.name, value)


def resize(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """Between float and double."""
    return cast(unit.ctype(op.results[0].type).name, operands[0])


def function(name: str) -> Build:
    """A function of <math.h>."""

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        unit.headers.add("math.h")
        suffix = "f" if unit.ctype(op.results[0].type).bytes == 4 else ""
        return call(f"{name}{suffix}", *operands)

    return build


def inverse_root(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """1 / square root."""
    one = Expr("1.0f" if unit.ctype(op.results[0].type).bytes == 4 else "1.0")
    return binary(one, "/", function("sqrt")(op, operands, unit), Rank.MULTIPLY)
