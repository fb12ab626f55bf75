"""The table of discardable attributes of constants: their memory, and their copies on chip.

    %w = memref.get_global @taps : memref<72xi32, #npu.flash> {sram.kept_in = "dtcm"}
becomes, once it has its place,
    %w = memref.get_global @taps : memref<72xi32, #npu.flash> {sram.copy_at = {dtcm = 1040 : i64}}

in a function with `sram.ready = {dtcm = 1024 : i64}`. The copies are made once, before the first
run. A program without the attributes reads the constants where they are stored, and computes the
same. `npu.stored_in` is for machines with several read-only memories, where the type says where the
constants of the final program lie: `#npu.memory<"rom">`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Operation

from npu_dialect.keys import Key, Place
from npu_dialect.kinds import PLACE, SIZES, TEXT
from npu_dialect.walking import walk_kind

KEPT_IN = Key(
    "sram.kept_in",
    (Place.CONSTANT,),
    TEXT,
    "the memory that shall hold a copy of the constant from before the first run on",
    writers="npu-assign-memories",
    readers="npu-estimate-time, reports",
    absent="the constant is read where it is stored",
)
STORED_IN = Key(
    "npu.stored_in",
    (Place.CONSTANT,),
    TEXT,
    "the one of several read-only memories that shall hold the constant",
    writers="npu-assign-memories",
    readers="npu-estimate-time, reports",
    absent="the constant lies in the first read-only memory of the machine's file",
)
COPY_AT = Key(
    "sram.copy_at",
    (Place.CONSTANT,),
    PLACE,
    "the memory that holds a copy of the constant, and the first byte of it in that arena",
    writers="npu-keep-constants",
    readers="c, reports, npu-run",
    absent="the constant is read where it is stored",
)
READY = Key(
    "sram.ready",
    (Place.FUNCTION,),
    SIZES,
    (
        "the byte in each arena with copies of constants where a word of 4 bytes says that the "
        "copies have been made"
    ),
    writers="npu-keep-constants",
    readers="c, npu-run",
    absent="the arenas of the function hold no copies of constants",
    droppable=False,
)

WORD = 4
"""Bytes of the word at `sram.ready`."""


@dataclass(frozen=True)
class Copied:
    """Where the copy of a constant lies: from byte `offset` on of the arena in `memory`."""

    memory: str
    offset: int


def copy_of(op: memref.GetGlobalOp) -> Copied | None:
    """Where the copy lies that an op reads; None if it reads the constant itself."""
    found = COPY_AT.get(op)
    if found is None:
        return None
    ((memory, offset),) = found.items()
    return Copied(memory, offset)


def copied_constants(module: Operation) -> Iterator[tuple[memref.GetGlobalOp, Copied]]:
    """The ops of a module that read copies, each with the place of its copy."""
    for op in walk_kind(module, memref.GetGlobalOp):
        if (copied := copy_of(op)) is not None:
            yield op, copied
