"""The arenas of a function: one block of bytes in each memory that its buffers lie in.

    func.func @f(...) attributes {sram.arena = 5412 : i64}                         // one memory
    func.func @f(...) attributes {sram.arenas = {dtcm = 1024 : i64, axi = 64 : i64}} // several

The memory space of a buffer says in which arena its offset counts: `#npu.memory<"dtcm">` in that of
the memory `dtcm`, any other on-chip space in the only one.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import Attribute, Operation

from npu_dialect.attributes import ARENA, ARENAS
from npu_dialect.machine import Machine
from npu_dialect.memories import SINGLE
from npu_dialect.npu.attributes import MemorySpace, SramSpace


def is_on_chip(space: Attribute) -> bool:
    """Whether a memory space is `#npu.sram` or one of several memories."""
    return isinstance(space, SramSpace | MemorySpace)


def memory_of_space(space: Attribute) -> str:
    """The name of the memory of an on-chip space; that of the only memory for another space."""
    return space.memory if isinstance(space, MemorySpace) else SINGLE


def memory_of_type(type_: Attribute) -> str:
    """The name of the memory in which a buffer of a type lies."""
    buffer = isinstance(type_, MemRefType | UnrankedMemRefType)
    return memory_of_space(type_.memory_space) if buffer else SINGLE


def has_arenas(function: Operation) -> bool:
    """Whether the buffers of a function have their offsets."""
    return ARENA.is_on(function) or ARENAS.is_on(function)


def arenas_of(function: Operation) -> Mapping[str, int]:
    """The bytes of each arena of a function, by the name of its memory; empty without offsets."""
    if (several := ARENAS.get(function)) is not None:
        return several
    one = ARENA.get(function)
    return {} if one is None else {SINGLE: one}


def arenas_in_order(function: Operation, machine: Machine | None) -> dict[str, int]:
    """The same, in the order of the memories in the machine's file, as C takes the pointers."""
    order = [] if machine is None else [each.name for each in machine.memories]
    sizes = arenas_of(function)
    place = {name: order.index(name) if name in order else len(order) for name in sizes}
    return {name: sizes[name] for name in sorted(sizes, key=lambda each: place[each])}


def arena_bytes(function: Operation) -> int | None:
    """The bytes of all arenas of a function; None if its buffers have no offsets."""
    return sum(arenas_of(function).values()) if has_arenas(function) else None


def grow_arenas(function: Operation, ends: Mapping[str, int]) -> None:
    """Let the arenas of a function, by the names of their memories, end at other bytes."""
    if ARENA.is_on(function):
        ARENA.set(function, ends.get(SINGLE, ARENA.get(function) or 0))
        return
    ARENAS.set(function, {**arenas_of(function), **ends})


def set_arenas(function: Operation, sizes: Mapping[Attribute, int]) -> None:
    """Write the bytes of each arena, by the space of its buffers."""
    named = {space.memory: size for space, size in sizes.items() if isinstance(space, MemorySpace)}
    if named:
        ARENAS.set(function, named)
    for space, size in sizes.items():
        if not isinstance(space, MemorySpace):
            ARENA.set(function, size)
