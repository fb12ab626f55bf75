"""Tests that the importer takes, but whose C is not right: what running them found."""

from __future__ import annotations

from collections.abc import Mapping

NOT_RIGHT: Mapping[str, str] = {}
"""By the test's name, the result of `programs.results`."""
