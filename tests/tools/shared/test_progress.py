"""Progress is written to a terminal only, not to a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.networks.zoo import build
from helpers.paths import LENET5

COMPILE = (sys.executable, "-m", "npu_tools.commands.compile")


def command(folder: Path) -> list[str]:
    """The command of a short job, whose report goes to standard output."""
    model = folder / "net.onnx"
    model.write_bytes(build("inception_small").SerializeToString())
    return [*COMPILE, str(model), "--target", "host", "--plan-as", "i8", "--json"]


def on_terminal(arguments: list[str], folder: Path) -> bytes:
    """What a job writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=theirs, cwd=folder) as job:
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:  # the other end is closed
            pass
        assert job.wait() == 0
    os.close(ours)
    return seen


@pytest.mark.slow
def test_a_terminal_sees_the_passes(tmp_path: Path) -> None:
    seen = on_terminal(command(tmp_path), tmp_path)
    assert b"npu-bufferize" in seen
    assert b"[1/" in seen
    assert b"[0/" not in seen
    assert seen.endswith(b"\r\x1b[K")


@pytest.mark.slow
def test_a_terminal_sees_the_layers_that_have_tiles(tmp_path: Path) -> None:
    seen = on_terminal([*COMPILE, str(LENET5), "--target", "zynq7020", "--jobs", "2"], tmp_path)
    assert b"npu-tile-loops: conv1: " in seen
    assert seen.endswith(b"\r\x1b[K")


def test_a_pipe_sees_nothing(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path), capture_output=True, check=True, cwd=tmp_path)
    assert done.stderr == b""
