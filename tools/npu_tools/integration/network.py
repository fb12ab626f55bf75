"""The view of a compiled network from which integration files are made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MARK = "Printed by npu-dialect, do not edit"
"""The text at the top of each integration file but the C. Only files with it are overwritten."""


@dataclass(frozen=True)
class Network:
    """A compiled network: the start of its C names, and the contents of its files by name."""

    name: str
    files: Mapping[str, str | bytes]

    @property
    def sources(self) -> list[str]:
        """The C files, in order of their names."""
        return sorted(name for name in self.files if name.endswith(".c"))

    @property
    def headers(self) -> list[str]:
        """The headers, in order of their names."""
        return sorted(name for name in self.files if name.endswith(".h"))

    @property
    def blobs(self) -> list[str]:
        """The files that are no C: weights that the program has to load."""
        return sorted(name for name in self.files if not name.endswith((".c", ".h")))

    @property
    def needs_math(self) -> bool:
        """Whether the C may call functions of libm."""
        return any("#include <math.h>" in str(self.files[name]) for name in self.sources)

    @property
    def header(self) -> str:
        """The text of the network's own header."""
        return str(self.files[f"{self.name}.h"])

    @property
    def functions(self) -> list[str]:
        """The functions to call, in this order: ID_run, or those for an input in rows."""
        from npu_dialect.stream_attributes import STREAM_PARTS  # loads xDSL

        names = (f"{self.name}_{part}" for part in ("run", *STREAM_PARTS))
        return [name for name in names if re.search(rf"^int {name}\(", self.header, re.MULTILINE)]

    @property
    def arenas(self) -> str:
        """What the functions need, in words: `an arena of 5412 bytes`, or one in each memory."""
        found = re.search(rf"^int {self.functions[0]}\(([^)]*)\);", self.header, re.MULTILINE)
        pointers = re.findall(r"\bvoid \*(\w+)", found[1] if found else "")
        if "arena" in pointers or not pointers:
            return f"an arena of {self.macro('ARENA_BYTES')} bytes"
        sizes = (f"{self.macro(f'{name.upper()}_BYTES')} bytes in {name}" for name in pointers)
        return f"arenas of {' and '.join(sizes)}"

    @property
    def has_states(self) -> bool:
        """Whether `ID_reset` must be called before the first run."""
        return f"void {self.name}_reset(" in self.header

    @property
    def has_copies(self) -> bool:
        """Whether `ID_init` must be called before the first run."""
        return f"int {self.name}_init(" in self.header

    def macro(self, name: str) -> int:
        """The number of the macro `ID_NAME` in the header; 0 if there is none."""
        found = re.search(rf"^#define {self.name.upper()}_{name} (\d+)$", self.header, re.MULTILINE)
        return int(found[1]) if found else 0
