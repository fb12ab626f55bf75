"""The table of scalar operations: for each op class the function that builds its C expression."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Operation

from npu_dialect import dsp
from npu_passes.emit.c import floats, integers
from npu_passes.emit.c.copied_words import COPY_NAMES
from npu_passes.emit.c.dsp_helpers import DSP_NAMES, DSP_OPERATORS
from npu_passes.emit.c.expr import Expr, Rank, conditional, index_literal
from npu_passes.emit.c.integers import Build
from npu_passes.emit.c.loaded_floats import LOAD_NAMES
from npu_passes.emit.c.macros import KEEP_NAMES
from npu_passes.emit.c.mve_helpers import MVE_NAMES, MVE_OPERATORS
from npu_passes.emit.c.rescaled import RESCALE_NAMES, rescaled
from npu_passes.emit.c.types import float_literal, integer_literal
from npu_passes.emit.c.unit import Unit


def constant(op: Operation, _: Sequence[Expr], unit: Unit) -> Expr:
    """A literal."""
    assert isinstance(op, arith.ConstantOp)
    text = ""
    match op.value:
        case FloatAttr() as attribute:
            text = float_literal(attribute.value.data, unit.ctype(attribute.type))
            if text.endswith(("NAN", "INFINITY")):
                unit.headers.add("math.h")
        case IntegerAttr() as attribute:
            if isinstance(attribute.type, IndexType):
                return index_literal(attribute.value.data)
            text = integer_literal(attribute.value.data, unit.ctype(attribute.type))
        case _:
            pass  # rejected by check.py
    return Expr(text, Rank.UNARY if text.startswith("-") else Rank.ATOM)


def select(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """One of two values."""
    return conditional(*operands)


MATH_FUNCTIONS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.Atan2Op: "atan2",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.ExpOp: "exp",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundEvenOp: "rint",
    math.RoundOp: "round",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}
"""Functions of <math.h>, without the `f` of their float versions."""

OF_KINDS: dict[type[Operation], Build] = {
    arith.ConstantOp: constant,
    arith.SelectOp: select,
    arith.AddiOp: integers.add,
    arith.SubiOp: integers.subtract,
    arith.MuliOp: integers.multiply,
    arith.DivSIOp: integers.signed("/", Rank.MULTIPLY),
    arith.RemSIOp: integers.signed("%", Rank.MULTIPLY),
    arith.DivUIOp: integers.unsigned("/", Rank.MULTIPLY),
    arith.RemUIOp: integers.unsigned("%", Rank.MULTIPLY),
    arith.FloorDivSIOp: integers.helper("floor_div"),
    arith.CeilDivSIOp: integers.helper("ceil_div"),
    arith.AndIOp: integers.bitwise("&", "&&"),
    arith.OrIOp: integers.bitwise("|", "||"),
    arith.XOrIOp: integers.bitwise("^", "!="),
    arith.ShLIOp: integers.shift_left,
    arith.ShRUIOp: integers.shift_right,
    arith.ShRSIOp: integers.shift_right,
    arith.MaxSIOp: integers.extreme(">"),
    arith.MinSIOp: integers.extreme("<"),
    arith.MaxUIOp: integers.extreme(">", is_unsigned=True),
    arith.MinUIOp: integers.extreme("<", is_unsigned=True),
    arith.CmpiOp: integers.compare,
    arith.ExtSIOp: integers.extend,
    arith.ExtUIOp: integers.extend,
    arith.TruncIOp: integers.truncate,
    arith.IndexCastOp: integers.index_cast,
    UnrealizedConversionCastOp: integers.reinterpret,
    arith.AddfOp: floats.infix("+", Rank.ADD),
    arith.SubfOp: floats.infix("-", Rank.ADD),
    arith.MulfOp: floats.product,
    arith.DivfOp: floats.infix("/", Rank.MULTIPLY),
    arith.NegfOp: floats.negate,
    arith.MaximumfOp: floats.extreme("maximum"),
    arith.MinimumfOp: floats.extreme("minimum"),
    arith.MaxnumfOp: floats.extreme_number(">"),
    arith.MinnumfOp: floats.extreme_number("<"),
    arith.CmpfOp: floats.compare,
    arith.SIToFPOp: floats.from_integer,
    arith.UIToFPOp: floats.from_integer,
    arith.FPToSIOp: floats.to_integer,
    arith.FPToUIOp: floats.to_integer,
    arith.BitcastOp: floats.of_bits,
    arith.ExtFOp: floats.resize,
    arith.TruncFOp: floats.resize,
    math.RsqrtOp: floats.inverse_root,
    **DSP_OPERATORS,
    dsp.RescaleOp: rescaled,
    **MVE_OPERATORS,
    **{kind: floats.function(name) for kind, name in MATH_FUNCTIONS.items()},
}
"""How ops of some classes are computed in C."""

OPERATORS: dict[str, Build] = {
    **{kind.name: build for kind, build in OF_KINDS.items()},
    "llvm.frem": floats.function("fmod"),
}
"""How ops are computed in C, by their names."""

REPEATS_OPERANDS = (
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MaxUIOp,
    arith.MinUIOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxnumfOp,
    arith.MinnumfOp,
)


def repeats_operands(op: Operation) -> bool:
    """Whether the C text of an op may name an operand twice."""
    if isinstance(op, arith.CmpfOp):
        return op.predicate.value.data not in {*floats.ORDERED, *floats.UNORDERED}
    return isinstance(op, REPEATS_OPERANDS)


LIBRARY_FUNCTIONS = (
    DSP_NAMES
    | RESCALE_NAMES
    | KEEP_NAMES
    | COPY_NAMES
    | LOAD_NAMES
    | MVE_NAMES
    | frozenset(
        name + suffix for name in (*MATH_FUNCTIONS.values(), "fmod") for suffix in ("", "f")
    )
)
"""Names that no local variable may have."""
