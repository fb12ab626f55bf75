"""examples/zynq builds with make, and runs on an emulated Zynq."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.pl330.zynq import Zynq


def make(folder: Path, *arguments: str) -> str:
    """The output of make in the example's folder."""
    command = ["make", "-C", str(ROOT / "examples" / "zynq"), f"BUILD={folder}"]
    command += [f"PYTHON={sys.executable}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_runs(zynq: Zynq, tmp_path: Path) -> None:
    """Caches are on, the core sleeps while it waits, and an interrupt ends each wait."""
    lines = make(tmp_path, "run", f"QEMU={zynq.qemu}").splitlines()
    answers = [line for line in lines if line.startswith("digit")]
    assert len(answers) == 4
    for line in answers:
        digit, answer = (part.split()[-1] for part in line.split(":"))
        assert digit == answer
    (counts,) = (line for line in lines if line.startswith("transfers:"))
    numbers = {
        name.strip(): int(value) for name, value in (p.split(":") for p in counts.split(","))
    }
    assert numbers["transfers"] == numbers["interrupts"] > 40
    assert numbers["cut at pages"] > 0
    assert numbers["copied by the core"] == 0
    # For a board, where no emulator ends the program.
    elf = tmp_path / "lenet5.elf"
    for emulated in ("1", ""):
        elf.unlink()
        make(tmp_path, "all", f"EMULATED={emulated}")
        assert (b"\x56\x34\x12\xef" in elf.read_bytes()) is bool(emulated)  # svc 0x123456
