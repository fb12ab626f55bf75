"""What on-chip buffers mean: views into one arena, or fresh arrays before there is a plan.

The arena of a function (`sram.arena`) is one array of bytes, full of poison, made anew for each
call. Buffers at overlapping offsets share memory here too, so a wrong plan gives wrong numbers. A
function without an arena of its own uses its caller's.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, MemRefType
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
from npu_dialect.interpreters.values import POISON, Array, dtype_of, poisoned, static_shape


@register_impls
class SramFunctions(InterpreterFunctions):
    """The sram dialect for xDSL's interpreter."""

    @impl(sram.AllocOp)
    def run_alloc(
        self, interpreter: Interpreter, op: sram.AllocOp, args: PythonValues
    ) -> PythonValues:
        """A view of the arena, or a fresh array."""
        return (allocate(interpreter, op.buffer.type, op.offset),)


def arenas(interpreter: Interpreter) -> list[Array]:
    """The arenas of the functions that run now, innermost last."""
    return interpreter.get_data(SramFunctions, "arenas", list)


def new_arena(size: int) -> Array:
    """An arena of so many bytes, full of poison."""
    return np.full(size, POISON, np.uint8)


def allocate(interpreter: Interpreter, kind: Attribute, offset: Attribute | None) -> Array:
    """The buffer of an allocation: in the arena if it has an offset and there is an arena.

    Raises: InterpretationError if it does not lie inside the arena, or its shape is dynamic.
    """
    assert isa(kind, MemRefType)
    running = arenas(interpreter)
    if not isinstance(offset, IntegerAttr) or not running:
        return poisoned(kind)
    return placed(running[-1], kind, offset.value.data)


def placed(arena: Array, kind: MemRefType[Any], offset: int) -> Array:
    """The view of an arena that a buffer at a byte offset is.

    Raises: InterpretationError if it does not lie inside the arena, or its shape is dynamic.
    """
    shape, dtype = static_shape(kind), dtype_of(kind.get_element_type())
    end = offset + prod(shape) * dtype.itemsize
    if not 0 <= offset <= end <= arena.size:
        raise InterpretationError(
            f"expected a buffer inside the arena of {arena.size} bytes, got bytes {offset} to {end}"
        )
    return arena[offset:end].view(dtype).reshape(shape)
