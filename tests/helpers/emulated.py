"""Tests on emulated machines are skipped without compiler and emulator, or fail if CI=true."""

from __future__ import annotations

import os

import pytest

from npu_tools.verifying.emulators import EmulatorMissing
from npu_tools.verifying.emulators.boards import BOARDS
from npu_tools.verifying.emulators.build import compiler_of, need


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
