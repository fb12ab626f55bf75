"""On an emulated Zynq at least two channels are busy at once while the core computes.

The emulator runs a program of the PL-330 to its end when it is started. So each program gets one
more instruction: before its own event it waits for one that the core signals when it waits for the
transfer. While a layer computes, the controller's status registers then tell which channels are not
stopped.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from helpers.pl330.network import build, parsed, run, small, write_c
from helpers.pl330.zynq import SUPPORT, Zynq
from npu_dialect.interpreters import run_function


def waiting(text: str) -> str:
    """The tables of programs that wait for event 8 + channel before their last three bytes."""

    def longer(match: re.Match[str]) -> str:
        code = [int(byte, 16) for byte in match[3].split(",") if byte.strip()]
        event = code[-2]
        assert code[-4:] == [0x13, 0x34, event, 0x00]
        code[-3:-3] = [0x36, event + (8 << 3)]
        return f"{match[1]}[{len(code)}] = {{{', '.join(map(hex, code))}}};"

    arrays = re.sub(r"(unsigned char (net_\w+))\[\d+\] = \{([^}]*)\};", longer, text)
    # The bytes of a program are before its name, at the end of its row.
    return re.sub(r"(\d+), (net_\w+)\},", lambda row: f"{int(row[1]) + 2}, {row[2]}}},", arrays)


def waiting_cuts(text: str) -> str:
    """The engine, whose own programs wait as well."""
    old = "put(&writer, 0x13u | 0x34u << 8 | channel << 19, 4);"
    assert text.count(old) == 1
    event = "put(&writer, 0x3613u | (8u + channel) << 19, 3);"
    return text.replace(old, f"{event} put(&writer, 0x34u | channel << 11, 3);")


@pytest.mark.slow
def test_two_channels_beside_the_core(zynq: Zynq, tmp_path: Path) -> None:
    """A layer in tiles: the next ones come, and sums go, while the core computes."""
    size = (24, 32)
    image = np.random.default_rng(1).integers(-2, 3, (1, 8, *size)).astype(np.float32)
    (expected,) = run_function(parsed(size), "net", [image])
    write_c(small(size), tmp_path)
    for name, change in (("net_pl330.c", waiting), ("npu_pl330.c", waiting_cuts)):
        path = tmp_path / name
        path.write_text(change(path.read_text()))
    flags = ("-include", str(SUPPORT / "beside.h"))
    elf = build(tmp_path, expected.nbytes, *flags, main="beside.c")
    data = run(zynq, elf, image, tmp_path)
    returned, errors, looks, at_several, most, seen = struct.unpack_from("<6I", data)
    assert (returned, errors) == (0, 0)
    np.testing.assert_array_equal(np.frombuffer(data[24:], "<f4"), expected.ravel())
    assert seen == 0b1101
    assert most >= 2
    assert at_several > looks / 2
