"""The sizes of a program's arena and of its off-chip block.

It checks that every buffer with an offset lies inside of them and is aligned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from npu_dialect import dram, sram
from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import ARENA, DRAM_BYTES, SRAM_INPUT, SRAM_OFFSET, SRAM_OUTPUT
from npu_dialect.keys import Key
from npu_passes.emit.c.buffers import argument_offset, memory_of
from npu_passes.emit.c.calls import CallGraph
from npu_passes.emit.c.types import element_type, memref_of


def arena_size(public: Sequence[FuncOp], graph: CallGraph) -> int:
    """Bytes of the arena; zero if nothing lies in it.

    Raises: PassFailedException if `sram.arena` is missing, or with a list of all buffers that do
    not lie in the arena or are misaligned.
    """
    return block_size(public, ARENA, list(placed_buffers(public, graph)), "an arena")


def dram_size(public: Sequence[FuncOp], graph: CallGraph) -> int:
    """Bytes of the block off the chip; zero if nothing lies in it.

    Raises: PassFailedException for the same reasons as `arena_size`, with `dram.bytes`.
    """
    buffers = list(allocations(graph, dram.AllocOp))
    return block_size(public, DRAM_BYTES, buffers, "off-chip memory")


def block_size(
    public: Sequence[FuncOp], key: Key[int], buffers: Sequence[tuple[str, SSAValue]], memory: str
) -> int:
    """Bytes of a block, from attribute `key` of a public function; all buffers must lie in it.

    `buffers`: each with its name for messages. `memory`: what the block is called in messages.
    """
    size = key.get(public[0])
    name = public[0].sym_name.data
    if size is None:
        if buffers:
            where = "in the arena" if key is ARENA else "off the chip"
            raise PassFailedException(
                f"c: @{name} has buffers {where} but no `{key.name}`; run {key.writers} before"
            )
        return 0
    found = [
        f"{what}: {wrong}" for what, value in buffers if (wrong := misplaced(value, size, memory))
    ]
    if found:
        raise PassFailedException("c: these buffers cannot be used:\n  " + "\n  ".join(found))
    return size


def placed_buffers(public: Sequence[FuncOp], graph: CallGraph) -> Iterator[tuple[str, SSAValue]]:
    """The buffers in the arena, each with its name for messages.

    Raises: PassFailedException if an argument is an input or output for the arena but has no
    offset, or has an offset but is neither.
    """
    for function, argument in ((each, arg) for each in public for arg in each.body.block.args):
        attributes = argument_attributes(argument)
        moved = SRAM_INPUT.is_in(attributes) or SRAM_OUTPUT.is_in(attributes)
        what = f"argument {argument.index} of @{function.sym_name.data}"
        if moved != (argument_offset(argument) is not None):
            wrong = (
                f"no `{SRAM_OFFSET.name}`"
                if moved
                else f"no `{SRAM_INPUT.name}` or `{SRAM_OUTPUT.name}`"
            )
            raise PassFailedException(f"c: {what} has {wrong}; run npu-assign-sram-offsets before")
        if moved:
            yield what, argument
    yield from allocations(graph, sram.AllocOp, memref.AllocOp)


def allocations(graph: CallGraph, *kinds: type[Operation]) -> Iterator[tuple[str, SSAValue]]:
    """The buffers that ops of some classes allocate, each with its name for messages."""
    for function, ops in graph.ops.items():
        for op in ops.of(*kinds):
            yield f"{op.name} in @{function.sym_name.data}", op.results[0]


def misplaced(value: SSAValue, size: int, memory: str) -> str | None:
    """What is wrong with the offset of a buffer in a block of `size` bytes; None if nothing is."""
    place, ctype = memory_of(value), element_type(memref_of(value).element_type)
    if ctype is not None and place.begin % ctype.bytes:
        return f"offset {place.begin} is no multiple of {ctype.bytes}, the size of {ctype.name}"
    if place.begin < 0 or place.end > size:
        return f"bytes {place.begin} to {place.end} do not lie in {memory} of {size}"
    return None
