"""The copies of constants in the arenas, for report.json.

"kept_constants": [{"memory": "dtcm", "offset": 1024, "bytes": 304, "constants": ["conv1_taps"]}]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npu_dialect.arenas import arenas_of
from npu_dialect.kept_attributes import READY, copied_constants


@dataclass(frozen=True)
class KeptReport:
    """The part of an arena that holds copies: `bytes` bytes from `offset` on, to its end.

    `constants`: the symbols of the constants that are copied there.
    """

    memory: str
    offset: int
    bytes: int
    constants: tuple[str, ...]


def kept_in(function: Operation, module: ModuleOp) -> Iterator[KeptReport]:
    """The parts of the arenas of a function that hold copies."""
    symbols: dict[str, dict[str, None]] = {}
    for op, copied in copied_constants(module):
        symbols.setdefault(copied.memory, {})[op.name_.string_value()] = None
    sizes = arenas_of(function)
    for memory, at in (READY.get(function) or {}).items():
        yield KeptReport(memory, at, sizes[memory] - at, tuple(symbols[memory]))
