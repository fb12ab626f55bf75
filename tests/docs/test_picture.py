"""The picture of README.md shows what the compiler does today."""

import subprocess
import sys

from helpers.paths import ROOT


def test_picture_is_up_to_date() -> None:
    command = (sys.executable, "scripts/picture.py", "--check")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_picture_is_small_and_loads_nothing() -> None:
    text = (ROOT / "docs" / "images" / "lenet5-memory.svg").read_text(encoding="utf-8")
    assert len(text) < 60_000
    assert "href" not in text
    assert text.count("://") == 1  # the namespace of SVG
