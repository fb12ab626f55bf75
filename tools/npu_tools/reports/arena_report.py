"""The arenas of a function, for report.json: one in each memory in use.

"arenas": [{"memory": "dtcm", "bytes": 106496, "available": 131072}, ...]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from npu_dialect.arenas import arenas_in_order, memory_of_type
from npu_dialect.attributes import ARENAS
from npu_dialect.machine import Machine
from npu_passes.analysis.views import root_of


@dataclass(frozen=True)
class ArenaReport:
    """The arena in one memory, in bytes. `available`: the memory; None if that is not known."""

    memory: str
    bytes: int
    available: int | None


def arenas_in(function: Operation, machine: Machine | None) -> Iterator[ArenaReport]:
    """The arenas of a function, in the order of the pointers in C."""
    if machine is None:
        sizes = dict[str, int]()
        only = None
    else:
        sizes = {each.name: each.bytes for each in machine.memories}
        only = None if sizes else machine.sram_bytes
    for memory, size in arenas_in_order(function, machine).items():
        yield ArenaReport(memory, size, sizes.get(memory, only))


def memory_of(function: Operation, value: SSAValue) -> str | None:
    """The memory of a buffer, by the name of the machine's file; None if there is one memory."""
    return memory_of_type(root_of(value).type) if ARENAS.is_on(function) else None
