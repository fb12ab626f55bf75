"""The meaning of calls: each call of a function with arenas or `dram.bytes` gets new memory.

An argument with `sram.offset` is a view of the arena. The caller's data is copied in before the
body runs, except for a `sram.output`, and copied out afterwards, except for a `sram.input`. An
argument without an offset is the caller's own buffer.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
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
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.arenas import arenas_of
from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import DRAM_BYTES, SRAM_INPUT, SRAM_OFFSET, SRAM_OUTPUT
from npu_dialect.interpreters.dma import all_done
from npu_dialect.interpreters.dram import blocks
from npu_dialect.interpreters.kept import kept
from npu_dialect.interpreters.sram import arena_of, arenas, arenas_in, block, placed
from npu_dialect.interpreters.values import Array
from npu_dialect.kept_attributes import READY


@register_impls
class FuncFunctions(InterpreterFunctions):
    """The func dialect for xDSL's interpreter."""

    @impl_terminator(func.ReturnOp)
    def run_return(
        self, _: Interpreter, op: func.ReturnOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        """Return from the function."""
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
        """Run the body, in new memory if the function has its own, and check its transfers."""
        name = op.sym_name.data
        if op.is_declaration:
            raise InterpretationError(f"{name}: a function without a body cannot be run")
        sizes = arenas_of(op)
        with (
            all_done(interpreter, name),
            block(blocks(interpreter), DRAM_BYTES.get(op)),
            arenas_in(arenas(interpreter), sizes),
        ):
            if not sizes:
                return interpreter.run_ssacfg_region(op.body, args, name)
            with kept(interpreter, arenas(interpreter)[-1], READY.get(op)):
                placed_args = move_in(op, args, arenas(interpreter)[-1])
                results = interpreter.run_ssacfg_region(op.body, placed_args, name)
            move_out(op, placed_args, args)
            return results


def move_in(op: func.FuncOp, args: PythonValues, running: Mapping[str, Array]) -> PythonValues:
    """The arguments for the body; those with an offset become views of their arena."""
    seen: list[object] = []
    for argument, value in zip(op.args, args, strict=True):
        attributes, type_ = argument_attributes(argument), argument.type
        offset = SRAM_OFFSET.of(attributes)
        if offset is not None and isa(type_, MemRefType):
            view = placed(arena_of(running, type_), type_, offset)
            if SRAM_INPUT.is_in(attributes) or not SRAM_OUTPUT.is_in(attributes):
                view[...] = value
            value = view
        seen.append(value)
    return tuple(seen)


def move_out(op: func.FuncOp, seen: PythonValues, args: PythonValues) -> None:
    """Copy the arguments that lie in the arena back to the caller's buffers, except pure inputs."""
    for argument, value, view in zip(op.args, args, seen, strict=True):
        attributes = argument_attributes(argument)
        is_read_only = SRAM_INPUT.is_in(attributes) and not SRAM_OUTPUT.is_in(attributes)
        if view is not value and not is_read_only:
            value[...] = view
