"""The header `npu_dma.h` is put together from parts."""

from __future__ import annotations

import tomllib
from pathlib import Path

import npu_passes
from helpers.paths import ROOT
from npu_passes.emit.c import off_chip

PACKAGE = Path(npu_passes.__file__).parent
RUNTIME = PACKAGE / "emit" / "c" / "runtime"
PARTS = sorted((RUNTIME / "npu_dma").iterdir())
MOST_LINES = 300


def test_parts_make_one_header() -> None:
    """The header consists of the parts in order, without the comments about the parts."""
    rest = off_chip.runtime()
    for number, part in enumerate(PARTS, 1):
        assert part.name.startswith(f"{number:02}_"), part.name
        comment, _, code = part.read_text(encoding="utf-8").partition("\n\n")
        assert comment.startswith("/* "), part.name
        assert comment.endswith(" */"), part.name
        assert comment.count("/*") == 1, part.name
        assert comment not in off_chip.runtime(), part.name
        assert code.endswith(("}\n", "#endif\n")), part.name
        between = "" if number == 1 else "\n"
        assert rest.startswith(between + code), part.name
        rest = rest.removeprefix(between + code)
    assert rest == ""


def test_header_includes_no_part() -> None:
    """Users get one file, which includes only headers of the C library."""
    lines = off_chip.runtime().splitlines()
    includes = {line for line in lines if line.startswith("#include")}
    assert includes == {"#include <stddef.h>", "#include <stdint.h>", "#include <string.h>"}
    assert lines.count("#ifndef NPU_DMA_H") == 1


def test_parts_are_short() -> None:
    for part in PARTS:
        assert len(part.read_text(encoding="utf-8").splitlines()) < MOST_LINES, part.name


def test_parts_are_in_the_wheel() -> None:
    """The patterns of the package data find each file of the runtime."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["npu_passes"]
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    assert {path for path in RUNTIME.rglob("*") if path.is_file()} <= packed
