"""What calls mean: each call of a function with an arena, or with memory off chip, gets a new one.

An argument with `sram.offset` is a view of the arena. Its caller's data is copied in before the
body runs, except for a `sram.output`, and copied out after it, except for a `sram.input`. An
argument without an offset is the caller's own buffer.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_callable,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.attributes import ARENA, DRAM_BYTES, SRAM_INPUT, SRAM_OFFSET, SRAM_OUTPUT
from npu_dialect.interpreters.dma import all_done
from npu_dialect.interpreters.dram import blocks
from npu_dialect.interpreters.sram import arenas, block, placed
from npu_dialect.interpreters.values import Array


@register_impls
class FuncFunctions(InterpreterFunctions):
    """The func dialect for xDSL's interpreter."""

    @impl_terminator(func.ReturnOp)
    def run_return(
        self, _: Interpreter, op: func.ReturnOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        """Leave the function."""
        return ReturnedValues(args), ()

    @impl(func.CallOp)
    def run_call(
        self, interpreter: Interpreter, op: func.CallOp, args: PythonValues
    ) -> PythonValues:
        """Call a function of the module."""
        return interpreter.call_op(op.callee, args)

    @impl_callable(func.FuncOp)
    def call_func(
        self, interpreter: Interpreter, op: func.FuncOp, args: PythonValues
    ) -> PythonValues:
        """Run the body, in new memory if the function has its own, until its transfers are done."""
        name = op.sym_name.data
        if op.is_declaration:
            raise InterpretationError(f"{name}: a function without a body cannot be run")
        arena = ARENA.raw(op)
        with (
            all_done(interpreter, name),
            block(blocks(interpreter), DRAM_BYTES.raw(op)),
            block(arenas(interpreter), arena),
        ):
            if not isinstance(arena, IntegerAttr):
                return interpreter.run_ssacfg_region(op.body, args, name)
            placed_args = move_in(op, args, arenas(interpreter)[-1])
            results = interpreter.run_ssacfg_region(op.body, placed_args, name)
            move_out(op, placed_args, args)
            return results


def argument_attributes(op: func.FuncOp) -> list[dict[str, Attribute]]:
    """The attributes of each argument."""
    count = len(op.body.block.args)
    if op.arg_attrs is None:
        return [{} for _ in range(count)]
    return [dict(attributes.data) for attributes in op.arg_attrs.data]


def move_in(op: func.FuncOp, args: PythonValues, arena: Array) -> PythonValues:
    """The arguments as the body sees them: in the arena where they have an offset."""
    seen: list[object] = []
    for kind, attributes, value in zip(
        op.function_type.inputs.data, argument_attributes(op), args, strict=True
    ):
        offset = attributes.get(SRAM_OFFSET.name)
        if isinstance(offset, IntegerAttr) and isa(kind, MemRefType):
            view = placed(arena, kind, offset.value.data)
            if SRAM_OUTPUT.name not in attributes or SRAM_INPUT.name in attributes:
                view[...] = value
            value = view
        seen.append(value)
    return tuple(seen)


def move_out(op: func.FuncOp, seen: PythonValues, args: PythonValues) -> None:
    """Copy what the body wrote to its placed arguments to the caller's buffers."""
    for attributes, value, view in zip(argument_attributes(op), args, seen, strict=True):
        if view is not value and (
            SRAM_INPUT.name not in attributes or SRAM_OUTPUT.name in attributes
        ):
            value[...] = view
