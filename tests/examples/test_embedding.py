"""examples/embedding: the commands of its README run and print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT

FOLDER = ROOT / "examples" / "embedding"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
TOOL = (sys.executable, str(FOLDER / "toy_opt.py"))


def blocks(kind: str) -> list[str]:
    """The fenced blocks of the README of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """The commands of the README, in order."""
    lines = "".join(blocks("sh")).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines]


def run(*command: str, cwd: Path = ROOT) -> str:
    """Run a command; returns what it prints."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def printed() -> list[str]:
    """What each command of the README prints."""
    assert all(command[0] == "python" for command in commands())
    return [run(sys.executable, *command[1:]) for command in commands()]


def words(text: str) -> str:
    """The text with its line breaks and indentation as single blanks."""
    return " ".join(text.split())


@pytest.mark.slow
def test_network_is_fused_and_placed(printed: list[str]) -> None:
    placed = printed[0]
    assert "toy." not in placed
    assert placed.count("then relu") == placed.count("npu.fully_connected") == 2
    assert "sram.alloc at 64 : memref<1x8xf32, #npu.sram>" in placed
    assert "sram.arena = 96 : i64" in placed


@pytest.mark.slow
def test_network_becomes_c_that_computes(printed: list[str], tmp_path: Path) -> None:
    """With 16 inputs of 1, hidden values are 16 * 0.5 - 1 = 7, and outputs 8 * 0.25 * 7 = 14."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        assert "CI" not in os.environ
        pytest.skip("needs a C compiler")
    main = """
#include <stdio.h>
int main(void) {
    static _Alignas(16) unsigned char arena[96];
    float in[16], out[4];
    for (int i = 0; i < 16; i++) in[i] = 1.0f;
    if (network_run(in, out, arena) != 0) return 1;
    printf("%g %g %g %g", out[0], out[1], out[2], out[3]);
    return 0;
}
"""
    (tmp_path / "network.c").write_text(printed[1] + main, encoding="utf-8")
    run(compiler, "-std=c11", "-Wall", "-Werror", "network.c", "-o", "network", "-lm", cwd=tmp_path)
    assert run(str(tmp_path / "network")) == "14 14 14 14"


def test_own_layer_is_treated_like_ours(printed: list[str]) -> None:
    shown = blocks("mlir")[0]
    assert words(shown) in words(printed[2])
    assert "func.call @square(%hidden)" in printed[2]
    assert "sram.arena = 96 : i64" in printed[2]


def test_foreign_buffers_get_offsets_and_nothing_else(printed: list[str]) -> None:
    shown = [line.strip() for line in blocks("mlir")[1].splitlines() if "..." not in line]
    lines = [line.strip() for line in printed[3].splitlines()]
    assert [line for line in lines if line in shown] == shown
    plain = run(*TOOL, str(FOLDER / "buffers.mlir"))
    placed = re.sub(
        r" attributes \{sram.arena = \d+ : i64\}| \{sram.offset = \d+ : i64\}", "", printed[3]
    )
    assert placed == plain


def test_a_space_of_another_name(tmp_path: Path) -> None:
    """The option of the README, for a memory that is not called `#npu.sram`."""
    (option,) = re.findall(r"`(npu-assign-sram-offsets\{space=.*?\})`", README)
    text = (FOLDER / "buffers.mlir").read_text(encoding="utf-8").replace("#npu.sram", '"L1"')
    (tmp_path / "l1.mlir").write_text(text, encoding="utf-8")
    assert "sram.arena = 1024 : i64" in run(*TOOL, str(tmp_path / "l1.mlir"), "-p", option)
