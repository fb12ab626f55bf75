"""docs/reference/ is up to date with the code."""

import subprocess
import sys

from helpers.paths import ROOT
from npu_passes.pipelines import PIPELINES
from npu_tools.universe import PASSES

PAGES = ROOT / "docs" / "reference"


def headings(name: str) -> list[str]:
    text = (PAGES / name).read_text(encoding="utf-8")
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]


def test_pages_are_up_to_date() -> None:
    command = (sys.executable, "scripts/reference.py", "--check")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_pass_and_pipeline_has_a_section() -> None:
    assert headings("passes.md") == sorted(PASSES)
    assert headings("pipelines.md") == list(PIPELINES)
