"""Copies of constants that stay in the arenas: `ID_init` makes them, `ID_run` checks for them.

int net_init(void *dtcm)
{
    ...
    memcpy(dtcm_bytes + 1040, net_taps, 288);
    *(uint32_t *)(void *)(dtcm_bytes + 1024) = 0x5b8e21f0u;
    return 0;
}

The word is a checksum of all copies in its arena and of their places. So a program finds that
`ID_init` has not been called, or that of another program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import PassFailedException

from npu_dialect.arenas import arenas_of
from npu_dialect.kept_attributes import READY, WORD, Copied, copy_of
from npu_passes.emit.c.calls import CallGraph
from npu_passes.emit.c.types import as_memref, bytes_of, element_type

INIT = "init"
"""The end of the name in C of the function that makes the copies."""

NOT_READY = 3
"""What a function returns if the copies have not been made: as if it were called out of turn."""


@dataclass(frozen=True)
class Kept:
    """The copies of a program: the symbol of each constant by its place; and `sram.ready`.

    Copies are in the order of their memories and places.
    """

    copies: Mapping[Copied, str]
    ready: Mapping[str, int]

    def in_memory(self, memory: str) -> Iterator[tuple[int, str]]:
        """The offsets and symbols of the copies in a memory."""
        for copied, symbol in self.copies.items():
            if copied.memory == memory:
                yield copied.offset, symbol

    def word(self, memory: str, content: Mapping[str, bytes]) -> int:
        """The word that says that the copies in a memory have been made.

        `content`: the bytes of the constants by their symbols.
        """
        found = 0
        for offset, symbol in self.in_memory(memory):
            found = crc32(content[symbol], crc32(offset.to_bytes(8, "little"), found))
        return found


def kept_of(public: Sequence[FuncOp], graph: CallGraph) -> Kept:
    """The copies that the functions of a program read.

    Raises: PassFailedException if one is misaligned, lies outside of its arena or over another
    one, or in an arena without a word that says that it is there.
    """
    found: dict[Copied, memref.GetGlobalOp] = {}
    for op in graph.ops_of(memref.GetGlobalOp):
        if (copied := copy_of(op)) is not None:
            found.setdefault(copied, op)
    order = sorted(found, key=lambda each: (each.memory, each.offset))
    copies = {copied: found[copied].name_.string_value() for copied in order}
    sizes, ready = arenas_of(public[0]), READY.get(public[0]) or {}
    ready = {memory: at for memory, at in ready.items() if any(c.memory == memory for c in copies)}
    blocks = [(copied, block_of(found[copied])) for copied in order]
    blocks += [(Copied(memory, at), (WORD, WORD)) for memory, at in ready.items()]
    for copied, (size, unit) in blocks:
        what = f"c: the copy at {copied.offset} in {copied.memory}"
        if copied.memory not in ready:
            raise PassFailedException(f"{what}: expected {READY.name} to have {copied.memory}")
        if copied.offset % unit or copied.offset + size > sizes.get(copied.memory, 0):
            raise PassFailedException(
                f"{what}: expected {size} bytes in the arena, at a multiple of {unit}"
            )
    reject_overlaps(blocks)
    return Kept(copies, ready)


def block_of(op: memref.GetGlobalOp) -> tuple[int, int]:
    """The bytes of a constant, and those of an element."""
    type_ = as_memref(op.memref.type)
    assert type_ is not None
    ctype = element_type(type_.element_type)
    return bytes_of(type_), 1 if ctype is None else ctype.bytes


def reject_overlaps(blocks: Sequence[tuple[Copied, tuple[int, int]]]) -> None:
    """Check that no two copies or words share a byte. Raises: PassFailedException if they do."""
    order = sorted(blocks, key=lambda each: (each[0].memory, each[0].offset))
    for (one, (size, _)), (other, _) in pairwise(order):
        if one.memory == other.memory and one.offset + size > other.offset:
            raise PassFailedException(
                f"c: the copies at {one.offset} and {other.offset} in {one.memory} overlap"
            )
