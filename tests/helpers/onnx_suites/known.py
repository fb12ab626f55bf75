"""Tests that the importer takes, but whose C is not right: what running them found, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Known(NamedTuple):
    """The result of `programs.results` for a test, and its cause for docs/operators.md."""

    result: str
    cause: str


NOT_RIGHT: Mapping[str, Known] = {}
"""By the test's name."""
