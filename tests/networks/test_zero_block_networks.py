"""Inception-V3 with maps in blocks: the table in the documentation is what its command prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.networks.machines import KB, machine_file
from helpers.networks.zoo import build
from helpers.paths import ROOT
from npu_tools.compiling.driver import Job, compile_model

pytest.importorskip("sklearn")

COMMAND = "python bench/zero_block_networks.py"
Rows = dict[str, list[float]]


def rows_of(text: str) -> Rows:
    """The numbers of each row by its name, without the change of the scores."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {
        name: [float(cell) for cell in cells[:4]]
        for name, *cells in lines
        if cells and cells[0].replace(".", "").isdigit()
    }


@pytest.fixture(scope="module")
def documented() -> Rows:
    page = (ROOT / "docs" / "zero-block-report.md").read_text(encoding="utf-8")
    return rows_of(page[page.index(COMMAND) :].partition("\n\nIn float32")[0])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
def test_the_bench_prints_a_table_of_these_rows(documented: Rows) -> None:
    """A small version of the network; the whole one takes minutes."""
    command = [sys.executable, *COMMAND.split()[1:], "--size", "107", "--width", "0.25"]
    done = subprocess.run(
        [*command, "--sram", "16"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,  # fails unless bytes fall from line to line and lossless keeps the scores
    )
    printed = rows_of(done.stdout)
    assert list(printed) == list(documented)
    assert printed["without compression"][2] > 0


@pytest.mark.slow
def test_float32_in_four_times_the_memory_has_the_plan_of_int8(
    documented: Rows, tmp_path: Path
) -> None:
    model = tmp_path / "inception_v3.onnx"
    model.write_bytes(build("inception_v3").SerializeToString())
    target = machine_file(tmp_path, 256 * KB)
    moved = compile_model(Job(model, target, plan_as="i8", pipeline="off-chip")).report.off_chip
    read, written, _, _ = documented["without compression"]
    assert round(4 * moved.feature_map_read_bytes / KB, 1) == read
    assert round(4 * moved.feature_map_write_bytes / KB, 1) == written


def test_rows_of_the_table(documented: Rows) -> None:
    """The table has seven rows, and their sums and percentages are right."""
    assert len(documented) == 7
    plain = documented["without compression"][2]
    for read, written, together, percent in documented.values():
        assert together == pytest.approx(read + written, abs=0.11)
        assert percent == pytest.approx(100 * together / plain, abs=0.06)
