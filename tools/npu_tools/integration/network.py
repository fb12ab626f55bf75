"""What integration files need to know of a compiled network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MARK = "Printed by npu-dialect, do not edit"
"""What every integration file but the C says at its top: files that do are written over."""


@dataclass(frozen=True)
class Network:
    """A compiled network: what its names start with, and its files by name."""

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
        """Files that are no C: weights that the program has to load."""
        return sorted(name for name in self.files if not name.endswith((".c", ".h")))

    @property
    def needs_math(self) -> bool:
        """Whether the C may call functions of libm."""
        return any("#include <math.h>" in str(self.files[name]) for name in self.sources)

    @property
    def header(self) -> str:
        """The text of the network's own header."""
        return str(self.files[f"{self.name}.h"])

    def macro(self, name: str) -> int:
        """The number of a macro `ID_NAME` of the header; 0 if it is not there."""
        found = re.search(rf"^#define {self.name.upper()}_{name} (\d+)$", self.header, re.MULTILINE)
        return int(found[1]) if found else 0
