"""The PL-330 engine as C99 and as C++17, with plain memory as the registers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from helpers.pl330.engine import write_engine
from helpers.pl330.zynq import SUPPORT
from npu_passes.emit.pl330.tables import runtime

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-DNPU_PL330_POLLS=9")


COMPILERS = pytest.mark.parametrize(
    "compiler", [("gcc", "-std=c99"), ("g++", "-x", "c++", "-std=c++17")], ids=["c", "c++"]
)


def run(folder: Path, compiler: tuple[str, ...], *sources: str) -> tuple[int, str]:
    """The exit code and the output of a program."""
    write_engine(folder)
    program = folder / "engine"
    command = [*compiler, *WARNINGS, f"-I{folder}", "-o", str(program), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=10)
    return done.returncode, done.stdout


@COMPILERS
def test_engine(tmp_path: Path, compiler: tuple[str, ...]) -> None:
    sources = (str(tmp_path / "npu_pl330.c"), str(SUPPORT / "engine.c"))
    assert run(tmp_path, compiler, *sources) == (0, "")


@COMPILERS
def test_caches(tmp_path: Path, compiler: tuple[str, ...]) -> None:
    assert run(tmp_path, compiler, str(SUPPORT / "hooks.c")) == (0, "")


@COMPILERS
def test_blocks_compile(tmp_path: Path, compiler: tuple[str, ...]) -> None:
    """Transfers in blocks have a file of their own, which links with the engine."""
    main = tmp_path / "main.c"
    main.write_text('#include "npu_pl330.h"\nint main(void) { return 0; }\n')
    for name, text in runtime(blocks=True).items():
        (tmp_path / name).write_text(text)
    names = ("npu_pl330.c", "npu_pl330_blocks.c", "main.c")
    assert run(tmp_path, compiler, *(str(tmp_path / name) for name in names)) == (0, "")
