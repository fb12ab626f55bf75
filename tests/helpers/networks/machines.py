"""The neural processor of paper 001 with another size of its SRAM."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

TARGET = "exynos-npu"
KB = 1024
SRAM_BYTES = 1024 * KB


def machine_file(folder: Path, sram_bytes: int, *, times: int = 1) -> str:
    """Write the machine with this SRAM; returns the path of the file, for `--target`.

    It moves `times` as many bytes in a cycle as the machine of the paper.
    """
    source = resources.files("npu_dialect.targets") / f"{TARGET}.toml"
    text, count = re.subn(
        r"sram_bytes = \d+", f"sram_bytes = {sram_bytes}", source.read_text(encoding="utf-8")
    )
    assert count == 1
    text, count = re.subn(
        r"(?m)^((?:dma|sram)_bytes_per_cycle) = (\d+)",
        lambda found: f"{found[1]} = {times * int(found[2])}",
        text,
    )
    assert count == 2
    path = folder / "machine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)
