"""A program's arenas and its off-chip block: their sizes and their names in C.

It checks that every buffer with an offset lies inside of them and is aligned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from npu_dialect import dram, sram
from npu_dialect.arenas import arenas_in_order
from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import ARENA, ARENAS, DRAM_BYTES, SRAM_INPUT, SRAM_OFFSET, SRAM_OUTPUT
from npu_dialect.keys import Key
from npu_dialect.machine import Machine
from npu_dialect.memories import SINGLE
from npu_dialect.target import machine_of
from npu_passes.emit.c.buffers import argument_offset, memory_of
from npu_passes.emit.c.calls import CallGraph
from npu_passes.emit.c.names import Scope, identifier
from npu_passes.emit.c.types import element_type, memref_of


@dataclass(frozen=True)
class Arena:
    """The arena in one memory, as C has it.

    `name` is that of the parameter, `pointer` that of the pointer to bytes, `macro` that of its
    size, `where` what comments call it. `cached`: whether the memory is behind a data cache.
    """

    memory: str
    bytes: int
    name: str
    pointer: str
    macro: str
    where: str
    cached: bool = False


def arenas(
    public: Sequence[FuncOp], graph: CallGraph, prefix: str, taken: Iterable[str]
) -> tuple[Arena, ...]:
    """The arenas of a program, in the order of the machine's file, else of the IR; one at least.

    `taken`: names that C has for other things.

    Raises: PassFailedException if the size of an arena is missing, or with a list of all buffers
    that do not lie in their arena or are misaligned.
    """
    buffers = list(placed_buffers(public, graph))
    if not ARENAS.is_on(public[0]):
        size = block_size(public, ARENA, buffers, "an arena")
        return (Arena(SINGLE, size, "arena", "bytes", f"{prefix.upper()}_ARENA_BYTES", "arena"),)
    machine = machine_above(public[0])
    sizes = arenas_in_order(public[0], machine)
    reject(wrong_in_memory(what, value, sizes) for what, value in buffers)
    scope = Scope(taken=taken)
    found: list[Arena] = []
    cached = [] if machine is None else [each.name for each in machine.memories if each.cached]
    for memory in sizes:
        name = scope.fresh(identifier(memory))
        macro = f"{prefix.upper()}_{name.upper()}_BYTES"
        pointer = scope.fresh(f"{name}_bytes")
        found.append(Arena(memory, sizes[memory], name, pointer, macro, memory, memory in cached))
    return tuple(found)


def machine_above(function: FuncOp) -> Machine | None:
    """The machine of the module of a function."""
    module = function.parent_op()
    return machine_of(module) if isinstance(module, ModuleOp) else None


def wrong_in_memory(what: str, value: SSAValue, sizes: Mapping[str, int]) -> str | None:
    """What is wrong with the place of a buffer in its arena; None if nothing is."""
    memory = memory_of(value).memory
    if memory not in sizes:
        return f"{what}: there is no arena in {memory}"
    wrong = misplaced(value, sizes[memory], f"the arena in {memory}")
    return None if wrong is None else f"{what}: {wrong}"


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
    wrong = ((what, misplaced(value, size, memory)) for what, value in buffers)
    reject(None if problem is None else f"{what}: {problem}" for what, problem in wrong)
    return size


def reject(problems: Iterable[str | None]) -> None:
    """Reject buffers that have problems. Raises: PassFailedException that lists them."""
    if found := [each for each in problems if each is not None]:
        raise PassFailedException("c: these buffers cannot be used:\n  " + "\n  ".join(found))


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
