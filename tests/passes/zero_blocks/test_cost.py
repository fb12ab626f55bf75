"""Instructions for blocks on an emulated Cortex-M4: within the bound, and as in docs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.paths import ROOT
from npu_tools.verifying.emulators import EmulatorMissing
from npu_tools.verifying.emulators.build import need

COMPILER = "arm-none-eabi-gcc"


@pytest.fixture
def compiler() -> str:
    """The compiler; skipped where it or the emulator is missing, failed if CI=true."""
    try:
        need("qemu-system-arm", "qemu-system-arm")
        return need(COMPILER, "gcc-arm-none-eabi")
    except EmulatorMissing as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))


def test_one_case_is_within_the_bound(compiler: str, tmp_path: Path) -> None:
    """A small map of bytes in blocks of 4 x 4; the same map comes back."""
    spec = importlib.util.spec_from_file_location("zero_blocks", ROOT / "bench" / "zero_blocks.py")
    assert spec is not None
    assert spec.loader is not None
    bench: Any = importlib.util.module_from_spec(spec)
    sys.modules["zero_blocks"] = bench
    spec.loader.exec_module(bench)
    case = bench.Case("i8", 16, 4)
    assert max(bench.measure(case, tmp_path)) <= case.most


@pytest.mark.slow
def test_limits_of_instructions_per_element(compiler: str) -> None:
    """The exit code of the bench says so. With gcc 12.2, its figures are those of the docs."""
    command = [sys.executable, str(ROOT / "bench" / "zero_blocks.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = [line.split() for line in done.stdout.splitlines()[2:]]
    sizes = {row[1] for row in printed if row[0] == "i8" and row[2] == "4x4"}
    assert {"64x64", "35x35", "32x32", "28x28", "16x16", "14x14", "8x8"} <= sizes
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True)
    if not version.stdout.startswith("12.2."):
        return
    page = (ROOT / "docs" / "zero-blocks.md").read_text()
    rows = re.findall(
        r"\| (\w+) \| (\d+x\d+) \| (\dx\d) \| (?:(pruned) \| )?([\d.]+) \| ([\d.]+) \| ([\d.]+) \|",
        page,
    )
    assert len(rows) == 17
    pairs = re.findall(
        r"\| (\w+) \| (\d+x\d+) \| (\dx\d) \|(?: [\d.]+ \|){3} ([\d.]+) \| (-?[\d.]+) \|", page
    )
    assert len(pairs) == 13
    planes = re.findall(
        r"\| (i8) \| (\d+x\d+) \| (planes) \| (-?\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|",
        (ROOT / "docs" / "bit-planes.md").read_text(),
    )
    assert len(planes) == 10
    rows_of = {tuple(row[:4]): row[4:] for row in printed}
    for element, size, block, *figures in pairs:
        for figure, exact in zip(figures, rows_of[element, size, block, "0"][5:], strict=True):
            assert float(figure) == pytest.approx(float(exact), abs=0.06)
    for element, size, block, zero, *figures in (*rows, *planes):
        found = rows_of[element, size, block, zero or "0"]
        for figure, exact in zip(figures, (found[0], found[2], found[4]), strict=True):
            assert float(figure) == pytest.approx(float(exact), abs=0.06)
