"""Tests with a cross-compiler and an emulator are skipped without them, or fail if CI=true."""

from __future__ import annotations

import shutil

import pytest

from helpers.emulated import require
from npu_tools.verifying.emulators.boards import BOARDS


@pytest.fixture(params=[name for name in BOARDS if name != "cortex-m85"])  # as the M55
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
