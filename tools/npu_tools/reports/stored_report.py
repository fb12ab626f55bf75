"""The read-only memories of a machine with several, and their constants, for report.json.

"stored_constants": [{"memory": "rom", "bytes": 1040, "available": 4096, "constants": ["taps"]}]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import MemorySpace
from npu_dialect.npu.maps import bytes_of, is_buffer_type


@dataclass(frozen=True)
class StoredReport:
    """The constants in a read-only memory: their `bytes`, of `available` ones, and symbols."""

    memory: str
    bytes: int
    available: int
    constants: tuple[str, ...]


def stored_in(module: ModuleOp, machine: Machine) -> Iterator[StoredReport]:
    """The read-only memories of a machine in which constants have been put, in its order."""
    sizes: dict[str, dict[str, int]] = {}
    for op in module.ops:
        if isinstance(op, memref.GlobalOp) and is_buffer_type(op.type):
            space = op.type.memory_space
            if isinstance(space, MemorySpace):
                sizes.setdefault(space.memory, {})[op.sym_name.data] = bytes_of(op.type)
    for store in machine.stores:
        if found := sizes.get(store.name):
            yield StoredReport(store.name, sum(found.values()), store.bytes, tuple(found))
