"""Python's garbage collector is off while a tool works, and stays off if the process then ends."""

from __future__ import annotations

import gc
import subprocess
import sys

from npu_tools.commands.compile import main
from npu_tools.shared.collector import paused_collector

COUNT = """
import gc, sys
from npu_tools.commands.compile import main
passes = []
gc.callbacks.append(lambda phase, info: passes.append(phase))
sys.argv = ["npu-compile", "--list-targets"]
main()
[[] for _ in range(10 ** 5)]
print(len(passes))
"""
"""Starts npu-compile as its command does, makes lists, and prints how often Python has searched."""


def test_a_process_that_ends() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"


def test_a_process_that_goes_on() -> None:
    assert main(["--list-targets"]) == 0
    assert gc.isenabled()


def test_a_pause() -> None:
    with paused_collector():
        assert not gc.isenabled()
        with paused_collector():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
