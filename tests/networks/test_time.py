"""The tables of docs/time.md are what bench/cycles.py and bench/exposed.py print."""

from __future__ import annotations

import subprocess
import sys

import pytest

from helpers.paths import ROOT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bench", "networks", "rows"),
    [
        ("cycles", ["flownet_s"], 6),
        ("cycles", ["inception_v3"], 4),
        ("exposed", ["lenet5:0", "inception_v3:256", "flownet_s:1024"], 5),
        ("exposed", ["--objective", "time", "lenet5:0"], 3),
    ],
)
def test_tables(bench: str, networks: list[str], rows: int) -> None:
    command = (sys.executable, f"bench/{bench}.py", *networks)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    printed = done.stdout.splitlines()
    assert len(printed) == rows
    page = (ROOT / "docs" / "time.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in printed if row not in page] == []
