"""The meaning of loops, fast enough for whole networks at loop level.

xDSL's interpreter runs 10^5 ops a second, and a network of a microcontroller as loops takes 10^6 to
10^7 ops. So a loop is translated once to a Python function, whose lines hold the expressions of
`expressions.py`, or call the functions that define the meaning of the single ops:

    scf.for %i = %c0 to %n step %c1 {          for v3 in range(0, v1, 1):
      %x = memref.load %a[%i]            =>      if not (0 <= v3 < 8): outside(v2, v3)
      %y = arith.addf %x, %x                     v4 = v2[v3]
      %z = math.exp %y                           v5 = v4 + v4
    }                                            v6 = f0(v5)

Inside the loop, the interpreter runs the ops that have neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import AnyFloat, IntegerAttr
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from npu_dialect import dsp
from npu_dialect.interpreters.arith import meaning_of
from npu_dialect.interpreters.dsp import (
    copy_words,
    load_floats,
    load_pair,
    load_word,
    rescaled,
    rounded,
    scaled_bytes,
    scaled_pair,
    store_floats,
    store_word,
)
from npu_dialect.interpreters.expressions import expression_of
from npu_dialect.interpreters.memref import (
    check_indices,
    reinterpret_cast,
    result_type,
    store,
    subview,
)
from npu_dialect.interpreters.mve import vector_meaning
from npu_dialect.interpreters.values import scalar_of

Compiled = Callable[..., PythonValues]

FUNCTIONS: dict[type[Operation], Callable[..., Any]] = {
    memref.StoreOp: store,
    dsp.LoadWordOp: load_word,
    dsp.LoadPairOp: load_pair,
    dsp.StoreWordOp: store_word,
    dsp.RoundOp: rounded,
    dsp.ScaleBytesOp: scaled_bytes,
    dsp.ScalePairOp: scaled_pair,
}
"""Ops that are functions of their operands; several results are a tuple."""


@register_impls
class LoopFunctions(ScfFunctions):
    """The scf dialect for xDSL's interpreter."""

    @impl(scf.ForOp)
    def run_for(self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> PythonValues:
        """Run a loop nest as a translated function; with listeners, run it op by op."""
        if args[2] <= 0:
            raise InterpretationError(f"expected a step of at least 1, got {args[2]}")
        if interpreter.listeners:
            return super().run_for(interpreter, op, args).values
        loops: dict[scf.ForOp, tuple[Compiled, Sequence[SSAValue]]] = interpreter.get_data(
            LoopFunctions, "loops", dict
        )
        if op not in loops:
            loops[op] = Translation(interpreter).function(op)
        function, captured = loops[op]
        return function(*interpreter.get_values(captured))


class Translation:
    """The translation of one loop nest to a Python function."""

    def __init__(self, interpreter: Interpreter) -> None:
        """Start with an empty function."""
        self.interpreter = interpreter
        self.names: dict[SSAValue, str] = {}
        self.captured: list[SSAValue] = []
        self.functions: dict[str, Any] = {}
        self.lines: list[str] = []

    def function(self, op: scf.ForOp) -> tuple[Compiled, Sequence[SSAValue]]:
        """The Python function of a loop, and the values that are its parameters."""
        self.operation(op, "  ")
        results = "".join(f"{self.names[result]}, " for result in op.results)
        parameters = ", ".join(self.names[value] for value in self.captured)
        lines = [f"def loop({parameters}):", *self.lines, f"  return ({results})"]
        exec("\n".join(lines), self.functions)
        return self.functions["loop"], self.captured

    def operation(self, op: Operation, indent: str) -> None:
        """Translate one op."""
        match op:
            case scf.ForOp():
                self.loop(op, indent)
            case scf.IfOp():
                self.condition(op, indent)
            case memref.LoadOp():
                self.load(op, indent)
            case arith.ConstantOp(value=IntegerAttr() as value):
                self.names[op.result] = literal(value, op.result.type)
            case dsp.KeepOrderOp():
                pass  # all ops run in order
            case dsp.OpaqueOp():
                self.names[op.result] = self.use(op.source)
            case _ if (expression := expression_of(op)) is not None:
                text = expression.format(*map(self.use, op.operands))
                self.lines.append(f"{indent}{self.define(op.results[0])} = {text}")
            case _:
                self.call(op, indent)

    def load(self, op: memref.LoadOp, indent: str) -> None:
        """Translate a load of an element, behind a check that it lies inside the buffer."""
        buffer, indices = self.use(op.memref), [self.use(index) for index in op.indices]
        place = ", ".join(indices)
        extents = result_type(op.memref.type).get_shape()
        if inside := " and ".join(
            f"0 <= {index} < {extent if extent >= 0 else f'{buffer}.shape[{axis}]'}"
            for axis, (index, extent) in enumerate(zip(indices, extents, strict=True))
        ):
            self.functions["check_indices"] = check_indices
            self.lines.append(f"{indent}if not ({inside}): check_indices({buffer}, ({place},))")
        is_float = isinstance(op.res.type, AnyFloat)  # keeps its numpy type
        element = f"{buffer}[{place or '()'}]" if is_float else f"{buffer}.item({place})"
        self.lines.append(f"{indent}{self.define(op.res)} = {element}")

    def call(self, op: Operation, indent: str) -> None:
        """Translate an op without regions to a call of the function that is its meaning."""
        arguments = ", ".join(self.use(operand) for operand in op.operands)
        results = [self.define(result) for result in op.results]
        left = f"{', '.join(results)} = " if results else ""
        if (function := function_for(op)) is None:
            function, left = self.fall_back(op), "".join(f"{name}, " for name in results)
            left = f"{left}= " if left else ""
        name = f"f{len(self.functions)}"
        self.functions[name] = function
        self.lines.append(f"{indent}{left}{name}({arguments})")

    def fall_back(self, op: Operation) -> Callable[..., PythonValues]:
        """A function by which the interpreter runs an op.

        Raises: InterpretationError if the op has regions.
        """
        if op.regions:
            raise InterpretationError(f"expected no regions inside a loop but loops, got {op.name}")
        return lambda *args: self.interpreter.run_op(op, args)

    def loop(self, op: scf.ForOp, indent: str) -> None:
        """Translate `scf.for`; carried values and results of the loop share their variables."""
        bounds = ", ".join(self.use(value) for value in (op.lb, op.ub, op.step))
        starts = [self.use(value) for value in op.iter_args]
        carried = [self.define(result) for result in op.results]
        self.assign(carried, starts, indent)
        index, *inside = op.body.block.args
        for name, argument in zip(carried, inside, strict=True):
            self.names[argument] = name
        self.lines.append(f"{indent}for {self.define(index)} in range({bounds}):")
        self.block(op.body.block, carried, f"{indent}  ")

    def condition(self, op: scf.IfOp, indent: str) -> None:
        """Translate `scf.if`."""
        condition = self.use(op.cond)
        results = [self.define(result) for result in op.results]
        for line, region in ((f"if {condition}", op.true_region), ("else", op.false_region)):
            if region.blocks:
                self.lines.append(f"{indent}{line}:")
                self.block(region.block, results, f"{indent}  ")

    def block(self, block: Block, results: Sequence[str], indent: str) -> None:
        """Translate the ops of a block; its yield assigns to the variables in `results`."""
        self.lines.append(f"{indent}pass")
        for op in block.ops:
            if isinstance(op, scf.YieldOp):
                self.assign(results, [self.use(operand) for operand in op.operands], indent)
            else:
                self.operation(op, indent)

    def assign(self, names: Sequence[str], values: Sequence[str], indent: str) -> None:
        """Assign all values in one statement, as one may use the old value of another."""
        if names:
            self.lines.append(f"{indent}{', '.join(names)} = {', '.join(values)}")

    def define(self, value: SSAValue) -> str:
        """A new variable for a value."""
        self.names[value] = f"v{len(self.names)}"
        return self.names[value]

    def use(self, value: SSAValue) -> str:
        """The variable of a value, or an integer itself.

        A value from outside the loop becomes a parameter.
        """
        if value not in self.names:
            self.captured.append(value)
            self.define(value)
        return self.names[value]


def function_for(op: Operation) -> Callable[..., Any] | None:
    """The function of an op with one result or none; None if the interpreter must run the op."""
    match op:
        case memref.SubviewOp():
            return subview(op)
        case memref.ReinterpretCastOp():
            return reinterpret_cast(op)
        case dsp.CopyWordsOp():
            return copy_words(op)
        case dsp.LoadFloatsOp():
            return load_floats(op)
        case dsp.StoreFloatsOp():
            return store_floats(op)
        case dsp.RescaleOp():
            return rescaled(op)
        case _:
            return FUNCTIONS.get(type(op)) or vector_meaning(op) or meaning_of(op)


def literal(value: IntegerAttr[Any], type_: Attribute) -> str:
    """An integer constant as Python text; hexadecimal, as Python limits the digits of others."""
    number = scalar_of(type_, value.value.data)
    return f"({number!r})" if isinstance(number, bool) else f"({number:#x})"
