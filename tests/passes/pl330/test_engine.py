"""The PL-330 engine as C99 and as C++17, with plain memory as the registers."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from helpers.pl330.zynq import SUPPORT
from npu_passes.emit.c import off_chip

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-O2")


@pytest.mark.parametrize(
    "compiler", [("gcc", "-std=c99"), ("g++", "-x", "c++", "-std=c++17")], ids=["c", "c++"]
)
def test_engine(tmp_path: Path, compiler: tuple[str, ...]) -> None:
    runtime = files("npu_passes.emit.c") / "runtime"
    (tmp_path / "npu_dma.h").write_text(off_chip.runtime(), encoding="utf-8")
    for name in ("npu_pl330.h", "npu_pl330.c"):
        (tmp_path / name).write_text((runtime / name).read_text(encoding="utf-8"), encoding="utf-8")
    program = tmp_path / "engine"
    sources = (str(tmp_path / "npu_pl330.c"), str(SUPPORT / "engine.c"))
    command = [*compiler, *WARNINGS, f"-I{tmp_path}", "-o", str(program), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=10)
    assert (done.returncode, done.stdout) == (0, "")
