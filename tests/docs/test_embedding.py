"""docs/embedding.md: another back end takes over by the commands of the page, with its figures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.emulated import require
from helpers.paths import ROOT
from helpers.upstream import needs_llvm
from npu_tools.verifying.upstream import LOWERING

PAGE = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Another back end takes over")[2].partition("\n## ")[0]


def commands() -> list[str]:
    """The commands of the section; a line that is indented further goes on with the one before."""
    text = SECTION.partition("```")[0]
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    return "\n".join(lines).replace("\n    ", " ").splitlines()


@pytest.mark.slow
def test_another_back_end_takes_over(tmp_path: Path) -> None:
    needs_llvm()
    (tmp_path / "build").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    tools = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join((tools, os.environ["PATH"]))}
    command = ("sh", "-e", "-c", "\n".join(commands()))
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert (tmp_path / "build" / "lenet5.o").read_bytes().startswith(b"\x7fELF")


def test_the_page_has_the_passes_that_the_tests_use() -> None:
    (lowering,) = (line for line in commands() if line.startswith("mlir-opt-"))
    assert [word for word in lowering.split() if word.startswith("--")] == [
        f"--{each.partition('=')[0]}" for each in LOWERING
    ]


@pytest.mark.slow
def test_figures() -> None:
    needs_llvm()
    require("cortex-m4")
    command = (sys.executable, "bench/upstream.py")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    table = SECTION.partition("```\n")[2].partition("```")[0]
    assert done.stdout.partition("\n")[2] == table
