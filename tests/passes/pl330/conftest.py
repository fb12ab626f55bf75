"""The emulated Zynq: skipped where compiler or emulator are missing, failed if CI=true."""

from __future__ import annotations

import os

import pytest

from helpers.pl330.zynq import Zynq
from npu_tools.verifying.emulators import EmulatorMissing


@pytest.fixture(scope="session")
def zynq(tmp_path_factory: pytest.TempPathFactory) -> Zynq:
    """The emulator and the program that starts microcode."""
    try:
        return Zynq.build(tmp_path_factory.mktemp("zynq"))
    except EmulatorMissing as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))
