"""The arena of a program, and its block off the chip: their sizes, and that everything with an
offset lies in them and is aligned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from npu_dialect import dram, sram
from npu_passes.emit.c.buffers import argument_attributes, argument_offset, memory_of
from npu_passes.emit.c.types import element_type, memref_of

PASSES = {sram.ARENA: "npu-assign-sram-offsets", dram.BYTES: "npu-assign-dram-offsets"}
"""Attribute of a function to the pass that sets it."""


def arena_size(public: FuncOp, functions: Sequence[FuncOp]) -> int:
    """Bytes of the arena; zero if nothing lies in it.

    Raises: PassFailedException, listing every buffer that does not lie in the arena or is
    misaligned.
    """
    return block_size(public, sram.ARENA, list(placed_buffers(public, functions)), "an arena")


def dram_size(public: FuncOp, functions: Sequence[FuncOp]) -> int:
    """Bytes of the block off the chip; zero if nothing lies in it.

    Raises: PassFailedException, as for the arena.
    """
    buffers = list(allocations(functions, dram.AllocOp))
    return block_size(public, dram.BYTES, buffers, "off-chip memory")


def block_size(
    public: FuncOp, attribute: str, buffers: Sequence[tuple[str, SSAValue]], memory: str
) -> int:
    """Bytes of a block, which stand on the public function, if all buffers lie in it."""
    size = public.attributes.get(attribute)
    name = public.sym_name.data
    if not isinstance(size, IntegerAttr):
        if buffers:
            where = "in the arena" if attribute == sram.ARENA else "off the chip"
            raise PassFailedException(
                f"c: @{name} has buffers {where} but no `{attribute}`; run {PASSES[attribute]} "
                "before"
            )
        return 0
    found = [
        f"{what}: {wrong}"
        for what, value in buffers
        if (wrong := misplaced(value, size.value.data, memory))
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
    yield from allocations(functions, sram.AllocOp | memref.AllocOp)


def allocations(
    functions: Sequence[FuncOp], kind: type[Operation] | UnionType
) -> Iterator[tuple[str, SSAValue]]:
    """The buffers that ops of a kind allocate, and what to call them."""
    for function in functions:
        for op in function.walk():
            if isinstance(op, kind):
                yield f"{op.name} in @{function.sym_name.data}", op.results[0]


def misplaced(value: SSAValue, size: int, memory: str) -> str | None:
    """What is wrong with the place of a buffer; None if nothing is."""
    place, ctype = memory_of(value), element_type(memref_of(value).element_type)
    if ctype is not None and place.begin % ctype.bytes:
        return f"offset {place.begin} is no multiple of {ctype.bytes}, the size of {ctype.name}"
    if place.begin < 0 or place.end > size:
        return f"bytes {place.begin} to {place.end} do not lie in {memory} of {size}"
    return None
