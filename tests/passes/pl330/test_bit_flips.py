"""Every single-bit flip of one program is rejected, or changes the result, or is harmless."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.pl330.programs import REFERENCE_BYTES
from helpers.pl330.tools import only
from helpers.pl330.zynq import Outcome, Zynq
from npu_dialect.pl330 import ProgramOp
from npu_passes.pl330.check import violations_of
from npu_passes.pl330.controller import Controller
from npu_tools.importers.pl330 import read_programs
from npu_tools.shared.errors import UserError

MAP = 0x0010_0000
OCM = 0xFFFC_0000
MAP_BYTES = 20 * 30 * 8 * 4
TILE_BYTES = 5 * 7 * 3 * 4

HARMLESS = {
    # CCR: protection, caching and swapping change no byte that an emulator moves.
    *((3, bit) for bit in range(6)),
    *((4, bit) for bit in range(6, 8)),
    *((5, bit) for bit in range(7)),
}
"""Byte and bit of each flip that cannot be noticed here."""


def caught_before(data: bytes) -> bool:
    """Whether the disassembler or the checker rejects the bytes."""
    try:
        program: ProgramOp = only(read_programs(data, "p"))
    except UserError:
        return True
    return bool(violations_of(program, Controller()))


def run(zynq: Zynq, folder: Path, data: bytes) -> Outcome | None:
    """The outcome of a program; None if it hangs or the emulator stops with an error."""
    source = bytes(range(1, 252)) * (MAP_BYTES // 251 + 1)
    memory = {MAP: source[:MAP_BYTES], OCM: b"\xa5" * 4096}
    try:
        return zynq.run([(0, data)], memory, [(OCM, 4096)], folder, interrupts=1)
    except AssertionError:
        return None


@pytest.mark.slow
def test_every_flip_is_caught(zynq: Zynq, tmp_path: Path) -> None:
    right = run(zynq, tmp_path, REFERENCE_BYTES)
    assert right is not None
    assert right.clean
    unnoticed: set[tuple[int, int]] = set()
    for number in range(8 * len(REFERENCE_BYTES)):
        data = bytearray(REFERENCE_BYTES)
        data[number // 8] ^= 1 << number % 8
        if not caught_before(bytes(data)) and run(zynq, tmp_path, bytes(data)) == right:
            unnoticed.add((number // 8, number % 8))
    assert unnoticed == HARMLESS
