"""The arena of a program: its size, and that everything with an offset lies in it and is
aligned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from npu_dialect import sram
from npu_passes.emit.c.buffers import argument_attributes, argument_offset, memory_of
from npu_passes.emit.c.types import element_type, memref_of


def arena_size(public: FuncOp, functions: Sequence[FuncOp]) -> int:
    """Bytes of the arena; zero if nothing lies in it.

    Raises: PassFailedException, listing every buffer that does not lie in the arena or is
    misaligned.
    """
    size = public.attributes.get(sram.ARENA)
    name = public.sym_name.data
    buffers = list(placed_buffers(public, functions))
    if not isinstance(size, IntegerAttr):
        if buffers:
            raise PassFailedException(
                f"c: @{name} has buffers in the arena but no `{sram.ARENA}`; "
                "run npu-assign-sram-offsets before"
            )
        return 0
    found = [
        f"{what}: {wrong}"
        for what, value in buffers
        if (wrong := misplaced(value, size.value.data))
    ]
    if found:
        raise PassFailedException("c: these buffers cannot be used:\n  " + "\n  ".join(found))
    return size.value.data


def placed_buffers(public: FuncOp, functions: Sequence[FuncOp]) -> Iterator[tuple[str, SSAValue]]:
    """Buffers with an offset, and what to call them.

    Raises: PassFailedException for an argument that is to lie in the arena and has no place
    there, or that has one and is neither input nor output.
    """
    for argument in public.body.block.args:
        attributes = argument_attributes(argument)
        moved = sram.INPUT in attributes or sram.OUTPUT in attributes
        what = f"argument {argument.index} of @{public.sym_name.data}"
        if moved != (argument_offset(argument) is not None):
            wrong = f"no `{sram.OFFSET}`" if moved else f"no `{sram.INPUT}` or `{sram.OUTPUT}`"
            raise PassFailedException(f"c: {what} has {wrong}; run npu-assign-sram-offsets before")
        if moved:
            yield what, argument
    for function in functions:
        for op in function.walk():
            if isinstance(op, sram.AllocOp | memref.AllocOp):
                yield f"{op.name} in @{function.sym_name.data}", op.results[0]


def misplaced(value: SSAValue, size: int) -> str | None:
    """What is wrong with the place of a buffer; None if nothing is."""
    memory, ctype = memory_of(value), element_type(memref_of(value).element_type)
    if ctype is not None and memory.begin % ctype.bytes:
        return f"offset {memory.begin} is no multiple of {ctype.bytes}, the size of {ctype.name}"
    if memory.begin < 0 or memory.end > size:
        return f"bytes {memory.begin} to {memory.end} do not lie in an arena of {size}"
    return None
