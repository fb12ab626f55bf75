"""Transfers that go wrong on an emulated Zynq end the run, and it says how.

Each fault is planted in the tables of a compiled network, or a channel is busy when the engine
starts it. The last word of the result is 0: after the run no channel moves anything.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from helpers.pl330.network import build, run, small, write_c
from helpers.pl330.zynq import Zynq

CHANNEL_FAULT, MANAGER_FAULT, TIMEOUT = 4, 5, 6
MANAGER = 8
"""What the engine says of the manager where it says which channel."""
POLLS = "-DNPU_PL330_POLLS=1000"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The C files of a network, by name."""
    folder = tmp_path_factory.mktemp("network")
    write_c(small(), folder)
    return {path.name: path.read_text() for path in folder.iterdir()}


def planted(files: dict[str, str], name: str, old: str, new: str) -> dict[str, str]:
    """The files with other bytes in each program whose name begins with `name`."""

    def changed(match: re.Match[str]) -> str:
        code = " ".join(match[2].split())
        assert old in code
        return f"{match[1]}{new.join(code.rsplit(old, 1))}{match[3]}"

    array = rf"(unsigned char net_{name}\w*\[\d+\] = {{)([^}}]*)(}};)"
    text, count = re.subn(array, changed, files["net_pl330.c"])
    assert count > 0
    return files | {"net_pl330.c": text}


def outcome(zynq: Zynq, folder: Path, files: dict[str, str], *flags: str) -> tuple[int, ...]:
    """The words that the program writes: see `faults.c`."""
    for name, text in files.items():
        (folder / name).write_text(text)
    elf = build(folder, 0, POLLS, *flags, main="faults.c")
    image = np.zeros((1, 8, 12, 16), np.float32)
    return struct.unpack("<8I", run(zynq, elf, image, folder))


def test_clean(zynq: Zynq, tmp_path: Path, files: dict[str, str]) -> None:
    returned, status, errors, *_, transfers, running, again = outcome(zynq, tmp_path, files)
    assert (returned, status, errors, running, again) == (0, 0, 0, 0, 0)
    assert transfers > 20


@pytest.mark.parametrize(
    ("old", "new", "type_"),
    [
        ("0x04, 0x08,", "0x04, 0xff,", 0x1),  # DMAST becomes an undefined instruction
        ("0x04, 0x08,", "0x18, 0x08,", 0x2000),  # DMALD becomes DMANOP: nothing to store
        ("0x04, 0x08,", "0x04, 0x18,", 0x8000_0000),  # DMAST becomes DMANOP: bytes are left over
        ("0xbc, 0x01,", "0xbc, 0x03,", 0x2),  # DMAMOV to a register that does not exist
    ],
    ids=["undefined", "underflow", "left", "operand"],
)
@pytest.mark.parametrize(
    ("name", "channel"),
    [
        ("weights", 0),
        pytest.param("read", 1, marks=pytest.mark.slow),
        pytest.param("write", 3, marks=pytest.mark.slow),
    ],
)
def test_channel(
    zynq: Zynq,
    tmp_path: Path,
    files: dict[str, str],
    old: str,
    new: str,
    type_: int,
    name: str,
    channel: int,
) -> None:
    bad = planted(files, name, old, new)
    returned, status, errors, at, found, transfers, running, _ = outcome(zynq, tmp_path, bad)
    assert (returned, status, errors) == (CHANNEL_FAULT, CHANNEL_FAULT, 1)
    assert (at, found, running) == (channel, type_, 0)
    assert transfers < 20


def test_manager(zynq: Zynq, tmp_path: Path, files: dict[str, str]) -> None:
    """The manager cannot start a channel that is not stopped; after `npu_pl330_init` it can."""
    returned, status, *rest = outcome(zynq, tmp_path, files, "-DBUSY=0")
    errors, at, type_, _, running, again = rest
    assert (returned, status, errors) == (MANAGER_FAULT, MANAGER_FAULT, 1)
    assert (at, type_, running, again) == (MANAGER, 0x4000_0002, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0x34, 0x00,", "0x36, 0x48,"),  # the event becomes a wait for one that never comes
        ("0x34, 0x00,", "0x34, 0x48,"),  # another event
        ("0x13,", "0x00,"),  # the program ends before its event
    ],
    ids=["waits", "other event", "no event"],
)
def test_timeout(zynq: Zynq, tmp_path: Path, files: dict[str, str], old: str, new: str) -> None:
    bad = planted(files, "weights", old, new)
    returned, status, errors, at, _, transfers, running, again = outcome(zynq, tmp_path, bad)
    assert (returned, status, errors) == (TIMEOUT, TIMEOUT, 1)
    assert (at, running, again) == (0, 0, TIMEOUT)
    assert transfers < 20
