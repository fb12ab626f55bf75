"""Training needs torch: without it, every file of this folder is skipped by name.

Tests run on one thread, which makes them repeatable, and as pytest's workers share the cores.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("torch", "onnxscript", "sklearn", "PIL")
MISSING = [package for package in PACKAGES if find_spec(package) is None]

if not MISSING:
    import_module("torch").set_num_threads(1)


class Skipped(pytest.Module):
    """A file of tests that is not imported."""

    def collect(self) -> Iterable[Any]:
        """Skip the file with the reason."""
        pytest.skip(f"no {', '.join(MISSING)}: make test TRAIN=1", allow_module_level=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test of this folder."""
    item.add_marker("torch")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    """Do not import the files of this folder where what they need is missing."""
    made: Any = Skipped
    return made.from_parent(parent, path=module_path) if MISSING else None
