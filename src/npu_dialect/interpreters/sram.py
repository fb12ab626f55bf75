"""The meaning of on-chip buffers: views of an arena, or fresh arrays without offsets.

Each call of a function with `sram.arena` gets a new arena: an array of bytes, full of poison. With
`sram.arenas` it gets one for each memory. Buffers at overlapping offsets share memory here too, so
a wrong plan gives wrong numbers. A function without an arena of its own uses its caller's.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
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
from npu_dialect.arenas import memory_of_type
from npu_dialect.interpreters.values import (
    POISON,
    Array,
    dtype_of,
    laid_out,
    poisoned,
    spanned,
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

    @impl(sram.SpanOp)
    def run_span(self, _: Interpreter, op: sram.SpanOp, args: PythonValues) -> PythonValues:
        """The memory of a buffer as a vector."""
        return (spanned(args[0]),)


def arenas(interpreter: Interpreter) -> list[Mapping[str, Array]]:
    """The arenas of the running functions by the names of their memories, innermost last."""
    return interpreter.get_data(SramFunctions, "arenas", list)


def allocate(interpreter: Interpreter, type_: Attribute, offset: int | None) -> Array:
    """The buffer of an allocation.

    It lies in the innermost arena if it has an offset and there is an arena, else in fresh memory.

    Raises: InterpretationError if it does not lie inside the arena, or its shape is dynamic.
    """
    running = arenas(interpreter)
    assert isa(type_, MemRefType)
    if offset is None or not running:
        return poisoned(type_)
    return placed(arena_of(running[-1], type_), type_, offset)


def arena_of(running: Mapping[str, Array], type_: Attribute) -> Array:
    """The arena in which a buffer of a type lies.

    Raises: InterpretationError if the function has none there.
    """
    memory = memory_of_type(type_)
    if memory not in running:
        raise InterpretationError(f"expected an arena in memory {memory}, got {list(running)}")
    return running[memory]


@contextmanager
def arenas_in(running: list[Mapping[str, Array]], sizes: Mapping[str, int]) -> Generator[None]:
    """Give a function its arenas, full of poison, while it runs; without any, its caller's."""
    if not sizes:
        yield
        return
    running.append({name: np.full(size, POISON, np.uint8) for name, size in sizes.items()})
    try:
        yield
    finally:
        running.pop()


@contextmanager
def block(running: list[Array], size: int | None) -> Generator[None]:
    """Give a function a block of `size` bytes, full of poison, while it runs.

    The block is the last one of `running`. Without a size the function uses its caller's block.
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
    """The buffer of an allocation.

    It lies in the last block of `running` if it has an offset and there is a block, else in fresh
    memory. `memory` names the block in messages.

    Raises: InterpretationError if it does not lie inside the block, or its shape is dynamic.
    """
    assert isa(type_, MemRefType)
    if offset is None or not running:
        return poisoned(type_)
    return placed(running[-1], type_, offset, memory)


def placed(block: Array, type_: MemRefType[Any], offset: int, memory: str = "the arena") -> Array:
    """A buffer at a byte offset in a block of memory, as a view.

    Raises: InterpretationError if it does not lie inside the block, or its shape is dynamic.
    """
    dtype = dtype_of(type_.get_element_type())
    end = offset + storage_size(type_) * dtype.itemsize
    if not 0 <= offset <= end <= block.size:
        raise InterpretationError(
            f"expected a buffer inside {memory} of {block.size} bytes, got bytes {offset} to {end}"
        )
    return laid_out(block[offset:end].view(dtype), type_)
