"""The memories of a machine that has several: plain data, one `[[memory]]` table each.

    [[memory]]
    name = "dtcm"
    bytes = 131072
    read_bytes_per_cycle = 8
    dma = false

Buffers lie in memories that can be written; the order of the file is that of the pointers in C.
Parameters lie in the read-only ones. A machine with one memory needs no table: `sram_bytes` is its
size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import cast

from npu_dialect.machine_values import MachineError, Table, boolean, integer, rate, shown, string

NAME = re.compile(r"[a-z][a-z0-9_]{0,23}")
"""The name of a memory: in C it names a pointer, and in capitals a part of a macro."""

EXPECTED_NAME = (
    "name of a memory of at most 24 lower case letters, digits and _, that begins with a letter "
    "and is none of arena, dma, dram, weights"
)
"""What a name has to be, for messages."""

TAKEN = ("arena", "dma", "dram", "weights")
"""Names that the C interface has for other things."""

SINGLE = "sram"
"""The name of the only memory that can be written, in reports."""


@dataclass(frozen=True)
class Memory:
    """One memory of a machine.

    `bytes` is its size; `alignment`, in bytes, the least alignment of each buffer in it. The core
    reads `read_bytes_per_cycle` and writes `write_bytes_per_cycle`. `dma`: whether DMA engines
    reach it. `cached`: whether the core reaches it through a data cache, so that a program has to
    clean or invalidate that around a transfer. `read_only`: it holds parameters, not maps.
    """

    name: str
    bytes: int
    read_bytes_per_cycle: Fraction
    write_bytes_per_cycle: Fraction
    alignment: int = 1
    dma: bool = True
    cached: bool = False
    read_only: bool = False

    @staticmethod
    def from_table(table: Table) -> Memory:
        """A memory from the keys of its table; without a rate for writes it has that for reads.

        Raises: MachineError if a key is missing, unknown, or of another type.
        """
        known = [item.name for item in fields(Memory)]
        if unknown := [key for key in table if key not in known]:
            raise MachineError(
                f"memory: unknown key {unknown[0]!r}: expected {', '.join(known)}",
            )
        for key in ("name", "bytes", "read_bytes_per_cycle"):
            if key not in table:
                raise MachineError(f"memory: missing key {key!r}")
        name = string("name of a memory", table["name"])
        if not is_name(name):
            raise MachineError(f"expected a {EXPECTED_NAME}, got {name!r}")
        try:
            return _memory(name, table)
        except MachineError as error:
            raise MachineError(f"memory {name!r}: {error}") from None

    def table(self) -> dict[str, object]:
        """The keys of its table; those with their default are left out."""
        found: dict[str, object] = {}
        for item in fields(self):
            value: object = getattr(self, item.name)
            default = self.read_bytes_per_cycle if item.name.startswith("write") else item.default
            if value != default:
                found[item.name] = value
        return found


def is_name(text: str) -> bool:
    """Whether a text can be the name of a memory."""
    return NAME.fullmatch(text) is not None and text not in TAKEN


def _memory(name: str, table: Table) -> Memory:
    """A memory from a table whose keys are known."""
    reads = _above_zero("read_bytes_per_cycle", table["read_bytes_per_cycle"])
    writes = table.get("write_bytes_per_cycle", reads)
    alignment = integer("alignment", table.get("alignment", 1), 1)
    if alignment & (alignment - 1):
        raise MachineError(f"expected alignment to be a power of two, got {alignment}")
    flags = {
        key: boolean(key, table[key]) for key in ("dma", "cached", "read_only") if key in table
    }
    return Memory(
        name,
        integer("bytes", table["bytes"], 1),
        reads,
        _above_zero("write_bytes_per_cycle", writes),
        alignment,
        **flags,
    )


def _above_zero(key: str, value: object) -> Fraction:
    """A rate above 0. Raises: MachineError if it is another thing."""
    found = rate(key, value)
    if not found:
        raise MachineError(f"expected {key} to be above 0, got 0")
    return found


def memories_of(value: object) -> tuple[Memory, ...]:
    """The memories of a list of tables.

    Raises: MachineError if an item is no table, if two have the same name, or if none of them can
        be written.
    """
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in items):
        raise MachineError(f"expected memory to be tables [[memory]], got {shown(items[0])}")
    found = tuple(Memory.from_table(cast(Table, item)) for item in items)
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise MachineError(f"two memories have the name {name!r}")
    if found and all(each.read_only for each in found):
        raise MachineError("expected a memory that is not read_only")
    return found


def reject_unreached(memories: Iterable[Memory], *, pl330: bool = False) -> None:
    """Check the memories of a machine whose DMA engine moves maps on chip.

    `pl330`: the engine runs microcode, which has one arena.

    Raises: MachineError if there are memories for maps and the engine reaches none of them, or if
        there are several beside a PL-330.
    """
    writable = [each for each in memories if not each.read_only]
    names = ", ".join(each.name for each in writable)
    if pl330 and len(writable) > 1:
        raise MachineError(
            "expected one memory that is not read_only on a machine with a PL-330 "
            f"(dma_fifo_bytes), got {names}"
        )
    if writable and not any(each.dma for each in writable):
        raise MachineError(
            "expected a memory with dma = true on a machine with dma_channels, as its DMA engine "
            f"moves maps there, got {names} without"
        )


def total(memories: Iterable[Memory], *, read_only: bool) -> int:
    """Bytes of all memories that can be written, or of all others."""
    return sum(each.bytes for each in memories if each.read_only == read_only)
