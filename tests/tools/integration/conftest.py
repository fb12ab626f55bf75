"""A small model for the tests of integration files."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.builds import small_net


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The path of a small network."""
    path = tmp_path / "net.onnx"
    small_net(path)
    return path
