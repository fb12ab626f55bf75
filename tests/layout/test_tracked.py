"""What a run of the compiler writes is not committed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_no_output_of_the_compiler_is_tracked() -> None:
    """`npu-compile` writes report.json beside the C of a network, by default into ./ID."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout of git")
    done = subprocess.run(
        ["git", "ls-files", "--", "report.json", "**/report.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stdout
