"""Tests with a cross-compiler and an emulator are skipped without them, or fail if CI=true."""

from __future__ import annotations

import shutil

import pytest

from helpers.emulated import require
from npu_tools.verifying.emulators.boards import BOARDS

OTHER_NAMES = ("cortex-m85", "mps3-an547")
"""Boards that are that of the Cortex-M55 again."""


@pytest.fixture(params=[name for name in BOARDS if name not in OTHER_NAMES])
def machine(request: pytest.FixtureRequest) -> str:
    """Each machine that has an emulated board."""
    return require(str(request.param))


@pytest.fixture
def fe310() -> str:
    """The machine with 16 KB of RAM."""
    return require("fe310")


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer without compilers and emulators."""

    def nothing(_: str) -> None:
        return None

    monkeypatch.setattr(shutil, "which", nothing)
