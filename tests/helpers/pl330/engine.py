"""The C engine of a PL-330 on this machine: the programs that it cuts at pages."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass
from pathlib import Path

from helpers.pl330.zynq import SUPPORT
from npu_passes.emit.c import off_chip
from npu_passes.emit.pl330.tables import runtime
from npu_plans.transfers.runs import Runs

AXES = 6


class Axis(ctypes.Structure):
    """`npu_dma_axis`."""

    _fields_ = (("count", ctypes.c_size_t), ("to", ctypes.c_ssize_t), ("source", ctypes.c_ssize_t))


class Shape(ctypes.Structure):
    """`npu_dma_shape`."""

    _fields_ = (("bytes", ctypes.c_size_t), ("axes", ctypes.c_int), ("axis", Axis * AXES))

    @staticmethod
    def of(runs: Runs) -> Shape:
        """The shape of some runs."""
        axes = [Axis(axis.count, axis.target, axis.source) for axis in runs.axes]
        return Shape(runs.bytes, len(axes), (Axis * AXES)(*axes))


def write_engine(folder: Path) -> None:
    """Write the files of the engine."""
    for name, text in (runtime() | {"npu_dma.h": off_chip.runtime()}).items():
        (folder / name).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Cutter:
    """The functions of `cut.c`."""

    library: ctypes.CDLL

    @staticmethod
    def build(folder: Path) -> Cutter:
        """Compile them."""
        write_engine(folder)
        path = folder / "cut.so"
        command = ["gcc", "-std=c99", "-O1", "-shared", "-fPIC", f"-I{folder}", "-o", str(path)]
        command += ["-Wall", "-Wextra", "-Werror", "-pedantic", str(SUPPORT / "cut.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return Cutter(ctypes.CDLL(str(path)))

    def crosses(self, runs: Runs, target: int, source: int, burst: int) -> bool:
        """Whether a burst crosses a page if each has `burst` bytes; 0: if they may have any."""
        shape = Shape.of(runs)
        return bool(self.library.cut_crosses(ctypes.byref(shape), target, source, burst))

    def program(
        self, runs: Runs, target: int, source: int, channel: int, longest: int
    ) -> bytes | None:
        """The program of a transfer; None if the code buffer has no room."""
        shape = Shape.of(runs)
        room = self.library.cut_room()
        code = ctypes.create_string_buffer(room)
        size = self.library.cut_program(code, ctypes.byref(shape), target, source, channel, longest)
        return code.raw[:size] if size else None
