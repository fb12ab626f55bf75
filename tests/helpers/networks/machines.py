"""The neural processor of paper 001 with another size of its SRAM."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

TARGET = "exynos-npu"
KB = 1024
SRAM_BYTES = 1024 * KB


def machine_file(folder: Path, sram_bytes: int) -> str:
    """Write the machine with this SRAM; returns the path of the file, for `--target`."""
    source = resources.files("npu_dialect.targets") / f"{TARGET}.toml"
    text, count = re.subn(
        r"sram_bytes = \d+", f"sram_bytes = {sram_bytes}", source.read_text(encoding="utf-8")
    )
    assert count == 1
    path = folder / "machine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)
