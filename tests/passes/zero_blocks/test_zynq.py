"""Blocks on an emulated Zynq: the core moves them instead of the PL-330, and counts them.

Microcode cannot test a bit of an index, so `npu-lower-dma-to-pl330` rejects transfers in blocks. On
such a machine they run on the core, with the unchanged `npu_dma.h`.
"""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from helpers.paths import ROOT
from helpers.pl330.zynq import COMPILER, QEMU
from helpers.pl330.zynq import SUPPORT as ZYNQ
from helpers.zero_blocks.trips import Trip, program, total
from npu_dialect.interpreters import Counters, run_function
from npu_dialect.machine import Toolchain
from npu_passes.emit.c import emit
from npu_tools.verifying.emulators import EmulatorMissing
from npu_tools.verifying.emulators.build import need

SUPPORT = ROOT / "tests" / "helpers" / "zero_blocks" / "board"
FLAGS = ("-std=c99", "-O2", "-ffreestanding", "-nostartfiles", "-Wall", "-Wextra", "-Werror")
# Without address translation, memory takes aligned words only.
ALIGNED = "-mno-unaligned-access"
INPUTS, OUTPUTS, DRAM, CHIP = 0x0200_0000, 0x0300_0000, 0x0400_0000, 0xFFFC_0000
TRIPS = (
    Trip((2, 1, 33, 47), "f32", 8, 0, 0.4, (7, 0, 9, 47)),
    Trip((1, 2, 33, 47), "i8", 4, -7, 0.6, (3, 5, 29, 41)),
    Trip((1, 3, 32, 32), "i8", 4, 0, 0.5, (8, 4, 20, 28)),
)


@pytest.fixture
def qemu() -> str:
    """The emulator; skipped where it or the compiler is missing, failed if CI=true."""
    try:
        need(COMPILER, "gcc-arm-none-eabi")
        return need(QEMU, "qemu-system-arm")
    except EmulatorMissing as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))


def places(sizes: Sequence[int], start: int) -> list[int]:
    """The addresses of buffers that lie behind each other."""
    return [start + sum(sizes[:number]) for number in range(len(sizes))]


def build(folder: Path, cases: Sequence[Trip]) -> Path:
    """Emit the program, and compile and link it for the Zynq."""
    files = emit(program(cases))
    assert files.runtime is not None
    for name, text in {
        "k.c": files.source,
        "k.h": files.header,
        "npu_dma.h": files.runtime,
    }.items():
        (folder / name).write_text(text)
    inputs = places([trip.array().nbytes for trip in cases], INPUTS)
    sizes = [part.nbytes for trip in cases for part in (trip.array(), trip.part(trip.array()))]
    addresses = [*inputs, *places(sizes, OUTPUTS), CHIP, DRAM]
    arguments = ", ".join(f"(void *){address:#x}u" for address in addresses)
    toolchain = Toolchain.load("zynq7020")
    assert toolchain is not None
    elf = folder / "k.elf"
    command = [
        *(toolchain.compiler, *toolchain.flags, *FLAGS, ALIGNED, f"-I{folder}", f"-I{ZYNQ}"),
        f"-DCALL=k_run({arguments}, &engine)",
        *(f"-DOUTPUTS={OUTPUTS:#x}u", f"-DOUTPUT_BYTES={sum(sizes)}u"),
        *(str(ZYNQ / "start.S"), str(SUPPORT / "zynq.c"), str(folder / "k.c")),
        *("-T", str(ZYNQ / "network.ld"), "-o", str(elf), "-lc", "-lgcc"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return elf


def test_counters(qemu: str, tmp_path: Path) -> None:
    """The core, the interpreter and the formula count the same bytes; the maps come back."""
    arrays = [trip.array() for trip in TRIPS]
    counters = Counters()
    wanted = run_function(program(TRIPS), None, arrays, counters)
    assert counters == total(TRIPS)
    elf, image = build(tmp_path, TRIPS), tmp_path / "inputs.bin"
    image.write_bytes(b"".join(array.tobytes() for array in arrays))
    command = [
        *("timeout", "-k", "2", "60", qemu, "-M", "xilinx-zynq-a9", "-m", "256M"),
        *("-kernel", str(elf), "-display", "none", "-monitor", "none", "-serial", "null"),
        *("-semihosting-config", "enable=on,target=native"),
        *("-device", f"loader,file={image},addr={INPUTS:#x},force-raw=on"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"
    data = (tmp_path / "out.bin").read_bytes()
    read, written = counters.feature_map_read_bytes, counters.feature_map_write_bytes
    assert struct.unpack_from("<4I", data) == (0, counters.transfers, read, written)
    assert data[16:] == b"".join(np.ascontiguousarray(each).tobytes() for each in wanted)
