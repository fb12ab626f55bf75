"""Floating-point operations of arith and math in C.

They keep the meaning of the op for NaN and signed zeros. A maximum is one comparison where that is
right: with a constant, or if the op's fastmath flags say that there are no NaNs and that signed
zeros do not matter. A product is rounded before it is added to something, whatever the compiler's
flags, unless both ops have the flag `contract`.
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
"""Ops that a compiler may contract with a product into one operation."""


def infix(operator: str, rank: Rank) -> Build:
    """Prints an op as an infix operator of C."""
    return lambda op, operands, unit: binary(operands[0], operator, operands[1], rank)


def product(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A product; a helper rounds it if a compiler could contract it with a sum."""
    expr = binary(operands[0], "*", operands[1], Rank.MULTIPLY)
    if not is_kept_apart(op):
        return expr
    return call(unit.helper("rounded", unit.ctype(op.results[0].type)), expr)


def is_kept_apart(op: Operation) -> bool:
    """Whether a sum reads a product, and not both ops have the flag `contract`."""
    sums = [each for each in readers(op.results[0]) if isinstance(each, SUMS)]
    return any(not has_flag(each, FastMathFlag.ALLOW_CONTRACT) for each in (op, *sums) if sums)


def readers(value: SSAValue) -> Iterator[Operation]:
    """The ops that read a value, also through selections, loops and branches that pass it on."""
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
    """The values that a yielded value becomes: a result, and in a loop the carried argument."""
    if isinstance(region, scf.ForOp):
        return [region.res[index], region.body.block.args[1 + index]]
    return [] if region is None else [region.results[index]]


def negate(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """The negated value; zeros change their sign, too."""
    value = operands[0]
    text = value.text if value.rank == Rank.ATOM else f"({value.text})"
    return combined(f"-{text}", Rank.UNARY, value)


def has_flag(op: Operation, flag: FastMathFlag) -> bool:
    """Whether an op has a fastmath flag."""
    flags = op.properties.get("fastmath")
    return isinstance(flags, FastMathFlagsAttr) and flag in flags.data


def is_number(value: Expr) -> bool:
    """Whether an expression is a literal other than NaN."""
    text = value.text.removeprefix("-")
    return text[0] in NUMBER or text == "INFINITY"


def bounded(value: Expr, comparison: str, bound: Expr) -> Expr:
    """`value comparison bound ? bound : value`: NaN stays, as no comparison with it holds."""
    return conditional(binary(value, comparison, bound, Rank.COMPARE), bound, value)


def extreme(template: str) -> Build:
    """Prints `maximumf` and `minimumf`: the result is NaN if an operand is; +0 is above -0."""
    loses = "<" if template == "maximum" else ">"
    # If the bound is this zero, it must replace the other zero, too: `<=` instead of `<`.
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
    """Prints `maxnumf` and `minnumf`: if one operand is NaN, the result is the other one."""

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
"""Predicates of arith.cmpf, and the operators of C for them."""
UNORDERED = {9: "<=", 10: "<", 11: ">=", 12: ">"}
"""Predicates of arith.cmpf that are the negation of an operator of C, and that operator."""


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


def of_bits(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A float whose bits are those of an integer."""
    unit.headers.update(("stdint.h", "string.h"))
    return call(unit.helper("of_bits", unit.ctype(op.results[0].type)), operands[0])


def resize(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A conversion between float and double."""
    return cast(unit.ctype(op.results[0].type).name, operands[0])


def function(name: str) -> Build:
    """Prints an op as a call of a function of <math.h>."""

    def build(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
        unit.headers.add("math.h")
        suffix = "f" if unit.ctype(op.results[0].type).bytes == 4 else ""
        return call(f"{name}{suffix}", *operands)

    return build


def inverse_root(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """1 / square root."""
    one = Expr("1.0f" if unit.ctype(op.results[0].type).bytes == 4 else "1.0")
    return binary(one, "/", function("sqrt")(op, operands, unit), Rank.MULTIPLY)
