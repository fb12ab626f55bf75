"""The meaning of copies of constants in arenas: made before a run, and the same after it.

Each run of a function with `sram.ready` begins with the copies of all constants in its arenas. They
stay as they are: a buffer that overwrites one is an error, even if nobody reads the copy later in
this run, as the next run needs it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.interpreters.sram import placed
from npu_dialect.interpreters.values import Array, global_buffer
from npu_dialect.kept_attributes import WORD, Copied, copied_constants


@contextmanager
def kept(
    interpreter: Interpreter, running: Mapping[str, Array], ready: Mapping[str, int] | None
) -> Generator[None]:
    """Fill the copies of constants before a run, and check them behind it.

    `ready`: the words of the function, by memory; None if its arenas hold no copies.

    Raises: InterpretationError if a copy lies outside of its arena, or was overwritten.
    """
    if ready is None:
        yield
        return
    copies: list[tuple[str, Array, Array]] = []
    for op, copied in copied_constants(interpreter.module):
        view_of(running, copied, op.memref.type)  # raises: it does not lie in the arena
        content = global_buffer(constant_of(interpreter, op)).tobytes()
        data = np.frombuffer(content, np.uint8)
        place = running[copied.memory][copied.offset : copied.offset + data.size]
        place[...] = data
        copies.append((op.name_.string_value(), place, data))
    words = [running[memory][at : at + WORD] for memory, at in ready.items()]
    for word in words:
        word[...] = 0
    yield
    for name, view, data in copies:
        if not np.array_equal(view, data):
            raise InterpretationError(f"the copy of the constant @{name} was overwritten")
    if any(word.any() for word in words):
        raise InterpretationError("the word at sram.ready was overwritten")


def constant_of(interpreter: Interpreter, op: Operation) -> memref.GlobalOp:
    """The constant that an op reads.

    Raises: InterpretationError if there is none.
    """
    assert isinstance(op, memref.GetGlobalOp)
    symbol = interpreter.get_op_for_symbol(op.name_)
    if not isinstance(symbol, memref.GlobalOp):
        raise InterpretationError(f"expected @{op.name_.string_value()} to be a memref.global")
    return symbol


def view_of(running: Mapping[str, Array], copied: Copied, type_: Attribute) -> Array:
    """The copy of a constant in an arena.

    Raises: InterpretationError if there is no such arena, or if it does not lie inside of it.
    """
    assert isa(type_, MemRefType)
    if copied.memory not in running:
        raise InterpretationError(
            f"expected an arena in memory {copied.memory}, got {list(running)}"
        )
    return placed(running[copied.memory], type_, copied.offset)
