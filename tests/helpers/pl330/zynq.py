"""Runs microcode on an emulated Zynq: one QEMU process for each job.

After a fault, QEMU's controller is in a state that cannot be used again, so each job has a process.
A DMA loop that never ends ignores SIGTERM, so SIGKILL ends it after a time limit.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_tools.verifying.emulators.build import need

COMPILER = "arm-none-eabi-gcc"
QEMU = "qemu-system-arm"
SUPPORT = Path(__file__).parent / "board"
JOB = 0x0008_0000
CODE = 0x0009_0000
"""The address of the first program; programs lie CODE_STEP bytes apart."""
CODE_STEP = 0x1000
CHANNELS = 8
SECONDS = 20


@dataclass(frozen=True)
class Outcome:
    """The controller's registers and ranges of memory after a job."""

    fsrc: int
    fsrd: int
    interrupts: int
    states: tuple[int, ...]
    """CSR[3:0] of each channel: 0 means stopped."""
    ranges: tuple[bytes, ...]

    @property
    def clean(self) -> bool:
        """Whether there is no fault and every channel has stopped."""
        return not (self.fsrc or self.fsrd or any(self.states))


@dataclass(frozen=True)
class Zynq:
    """The emulator, and the Arm program that starts microcode on it."""

    elf: Path
    qemu: str

    @staticmethod
    def build(folder: Path) -> Zynq:
        """Compile the Arm program.

        Raises: EmulatorMissing if the compiler or the emulator is not installed.
        """
        compiler = need(COMPILER, "gcc-arm-none-eabi")
        qemu = need(QEMU, "qemu-system-arm")
        elf = folder / "zynq.elf"
        command = [
            *(compiler, "-mcpu=cortex-a9", "-marm", "-O1", "-ffreestanding", "-nostdlib"),
            *("-Wall", "-Wextra", "-Werror", "-T", str(SUPPORT / "link.ld"), "-o", str(elf)),
            *(str(SUPPORT / "start.S"), str(SUPPORT / "main.c"), "-lgcc"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return Zynq(elf, qemu)

    def run(
        self,
        programs: Sequence[tuple[int, bytes]],
        memory: Mapping[int, bytes],
        ranges: Sequence[tuple[int, int]],
        folder: Path,
        interrupts: int = 0,
    ) -> Outcome:
        """Start programs (channel, bytes) in this order.

        `memory`: bytes by address, loaded before. `ranges`: (address, size) to read afterwards.
        """
        places = [CODE + CODE_STEP * number for number in range(len(programs))]
        words = [interrupts, len(programs), len(ranges)]
        for place, (channel, _) in zip(places, programs, strict=True):
            words += [channel, place]
        words += [word for pair in ranges for word in pair]
        blobs = {JOB: struct.pack(f"<{len(words)}I", *words), **memory}
        blobs |= {place: code for place, (_, code) in zip(places, programs, strict=True)}
        command = [
            *("timeout", "-k", "2", str(SECONDS), self.qemu, "-M", "xilinx-zynq-a9"),
            *("-m", "256M", "-kernel", str(self.elf), "-display", "none", "-monitor", "none"),
            *("-serial", "null", "-semihosting-config", "enable=on,target=native"),
        ]
        for address, data in blobs.items():
            path = folder / f"{address:08x}.bin"
            path.write_bytes(data)
            # Commas separate the options of -device.
            file = str(path).replace(",", ",,")
            command += ["-device", f"loader,file={file},addr={address:#x},force-raw=on"]
        (folder / "out.bin").unlink(missing_ok=True)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"
        return outcome((folder / "out.bin").read_bytes(), ranges)


def outcome(data: bytes, ranges: Sequence[tuple[int, int]]) -> Outcome:
    """Read the file that the Arm program has written."""
    head = struct.unpack_from(f"<{3 + CHANNELS}I", data)
    at = 4 * len(head)
    found: list[bytes] = []
    for _, size in ranges:
        found.append(data[at : at + size])
        at += size
    assert at == len(data)
    states = tuple(word & 0xF for word in head[3:])
    return Outcome(head[0], head[1], head[2], states, tuple(found))
