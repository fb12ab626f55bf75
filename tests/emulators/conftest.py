"""Tests that need a cross-compiler and an emulator: skipped without them, failed if CI=true."""

from __future__ import annotations

import os
import shutil

import pytest

from npu_tools.emulators import EmulatorMissing
from npu_tools.emulators.boards import BOARDS
from npu_tools.emulators.build import compiler_of, need


def require(machine: str) -> str:
    """The machine's name, if its compiler and its emulator are installed."""
    try:
        compiler_of(machine)
        need(BOARDS[machine].qemu, BOARDS[machine].package)
    except EmulatorMissing as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))
    return machine


@pytest.fixture(params=list(BOARDS))
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
