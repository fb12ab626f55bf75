"""A working folder for the tests of npu-quantize."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, with a folder for temporary files beside it."""
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    for each in (work, temporary):
        each.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return work
