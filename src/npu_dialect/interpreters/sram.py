"""What on-chip buffers mean: views into one arena, or fresh arrays before there is a plan.

The arena of a function (`sram.arena`) is one array of bytes, full of poison, made anew for each
call. Buffers at overlapping offsets share memory here too, so a wrong plan gives wrong numbers. A
function without an arena of its own uses its caller's.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect import sram
from npu_dialect.interpreters.values import (
    POISON,
    Array,
    dtype_of,
    laid_out,
    poisoned,
    storage_size,
)


@register_impls
class SramFunctions(InterpreterFunctions):
    """The sram dialect for xDSL's interpreter."""

    @impl(sram.AllocOp)
    def run_alloc(
        self, interpreter: Interpreter, op: sram.AllocOp, args: PythonValues
    ) -> PythonValues:
        """A view of the arena, or a fresh array."""
        return (allocate(interpreter, op.buffer.type, op.place),)


def arenas(interpreter: Interpreter) -> list[Array]:
    """The arenas of the functions that run now, innermost last."""
    return interpreter.get_data(SramFunctions, "arenas", list)


def allocate(interpreter: Interpreter, type_: Attribute, offset: int | None) -> Array:
    """The buffer of an allocation: in the arena if it has an offset and there is an arena.

    Raises: InterpretationError if it does not lie inside the arena, or its shape is dynamic.
    """
    return allocated(arenas(interpreter), type_, offset, "the arena")


@contextmanager
def block(running: list[Array], size: int | None) -> Generator[None]:
    """While a function runs, a block of so many bytes of its own, full of poison, is the innermost.

    Without a size it uses its caller's.
    """
    if size is None:
        yield
        return
    running.append(np.full(size, POISON, np.uint8))
    try:
        yield
    finally:
        running.pop()


def allocated(running: list[Array], type_: Attribute, offset: int | None, memory: str) -> Array:
    """A buffer: in the innermost block if it has an offset and there is a block, else fresh memory.

    Raises: InterpretationError if it does not lie inside the block, or its shape is dynamic.
    """
    assert isa(type_, MemRefType)
    if offset is None or not running:
        return poisoned(type_)
    return placed(running[-1], type_, offset, memory)


def placed(block: Array, type_: MemRefType[Any], offset: int, memory: str = "the arena") -> Array:
    """The view of a block of memory that a buffer at a byte offset is.

    Raises: InterpretationError if it does not lie inside the block, or its shape is dynamic.
    """
    dtype = dtype_of(type_.get_element_type())
    end = offset + storage_size(type_) * dtype.itemsize
    if not 0 <= offset <= end <= block.size:
        raise InterpretationError(
            f"expected a buffer inside {memory} of {block.size} bytes, got bytes {offset} to {end}"
        )
    return laid_out(block[offset:end].view(dtype), type_)
