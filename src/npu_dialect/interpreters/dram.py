"""The meaning of off-chip buffers: views of one block of memory, or fresh arrays without offsets.

As with the arena, each call of a function gets a new block of `dram.bytes` bytes, full of poison.
"""

from __future__ import annotations

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from npu_dialect import dram
from npu_dialect.interpreters.sram import allocated
from npu_dialect.interpreters.values import Array


@register_impls
class DramFunctions(InterpreterFunctions):
    """The dram dialect for xDSL's interpreter."""

    @impl(dram.AllocOp)
    def run_alloc(
        self, interpreter: Interpreter, op: dram.AllocOp, args: PythonValues
    ) -> PythonValues:
        """A view of the block, or a fresh array."""
        running = blocks(interpreter)
        return (allocated(running, op.buffer.type, op.place, "the off-chip memory"),)


def blocks(interpreter: Interpreter) -> list[Array]:
    """The off-chip blocks of the running functions, innermost last."""
    return interpreter.get_data(DramFunctions, "blocks", list)
