"""Builds a network with the harness for a board, and measures the program's sections."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from npu_dialect.machine import Machine, Toolchain
from npu_tools.verifying.emulators.boards import Board
from npu_tools.verifying.emulators.errors import BuildError, EmulatorMissing

PACKAGES = {
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
}
"""Debian packages of the compilers that the known machines name."""

SUPPORT = ("board.h", "board.c", "harness.c", "layers.h", "layers.c", "sections.ld")
"""The files that every board needs, beside its own start-up file."""


@dataclass(frozen=True)
class Sizes:
    """Bytes of a program's sections; the stack and the inputs of the test are not counted."""

    text: int
    rodata: int
    data: int
    bss: int


@dataclass(frozen=True)
class Hook:
    """The macro that a network calls after each layer, such as `NET_ON_LAYER`.

    `layers` is how many layers the network has.
    """

    macro: str
    layers: int

    def options(self, board: Board) -> tuple[str, ...]:
        """The options and the source file with which the compiler counts each layer."""
        names = {"LAYERS": self.layers, "TICK_NS": board.tick_ns, "SHIFT": board.shift}
        defined = (f"-D{name}={number}" for name, number in names.items())
        call = f"-D{self.macro}(index,name)=board_layer(index)"
        return (*defined, call, "-include", "layers.h", "layers.c")


def need(tool: str, package: str) -> str:
    """The full path of a tool.

    Raises: EmulatorMissing if it is not installed.
    """
    path = shutil.which(tool)
    if path is None:
        raise EmulatorMissing(f"{tool} is not installed: sudo apt-get install {package}")
    return path


def compiler_of(machine: str) -> tuple[str, tuple[str, ...]]:
    """The full path of the machine's C compiler, and the flags that choose its core.

    Raises: EmulatorMissing if the compiler is not installed; BuildError if the machine's file names
    none.
    """
    toolchain = Toolchain.load(machine)
    if toolchain is None:
        raise BuildError(f"{machine}: the machine's file has no table [toolchain]")
    package = PACKAGES.get(toolchain.compiler, toolchain.compiler)
    return need(toolchain.compiler, package), toolchain.flags


def build(
    machine: str,
    board: Board,
    sources: Sequence[Path],
    folder: Path,
    flags: Sequence[str],
    stack_bytes: int,
    hook: Hook | None = None,
) -> Path:
    """Compile and link the sources with the harness; returns the path of the program.

    `folder` holds cases.h, and the program is written there. With a `hook` the program counts the
    instructions of each layer.

    Raises: BuildError with the compiler's output if that fails; EmulatorMissing if the compiler is
    not installed.
    """
    compiler, core = compiler_of(machine)
    support = resources.files("npu_tools.verifying.emulators") / "support"
    for name in (*SUPPORT, board.start):
        (folder / name).write_bytes((support / name).read_bytes())
    numbers = Machine.load(machine)
    most_ram, most_flash = board.memory_most
    symbols = {
        "__flash_start": board.flash_start,
        "__flash_bytes": min(numbers.flash_bytes, most_flash),
        "__ram_start": board.ram_start,
        "__ram_bytes": min(numbers.sram_bytes, most_ram),
        "__stack_bytes": stack_bytes,
    }
    program = folder / "program.elf"
    command = [
        *(compiler, *core, "-std=c99", *flags, "-ffunction-sections", "-fdata-sections"),
        *("-fstack-usage", "-nostartfiles", *board.link_flags, "-Wl,--gc-sections"),
        *(f"-Wl,--defsym={name}={value:#x}" for name, value in symbols.items()),
        *(f"-Wl,--section-start=.memory_{name}={start:#x}" for name, start in board.memories),
        *(() if hook is None else hook.options(board)),
        *("-T", "sections.ld", board.start, "board.c", "harness.c"),
        *(*(str(source.resolve()) for source in sources), "-lm", "-o", program.name),
    ]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        raise BuildError(f"cannot build for {numbers.name}:\n{run.stderr.strip()}")
    return program


def measure(machine: str, program: Path) -> Sizes:
    """Measure the sections of a linked program."""
    compiler, _ = compiler_of(machine)
    size = compiler.removesuffix("gcc") + "size"
    run = subprocess.run([size, "-A", program], capture_output=True, text=True, check=True)
    sections: dict[str, int] = {}
    for line in run.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[0].startswith("."):
            sections[words[0]] = int(words[1])
    text = sections.get(".text", 0) + sections.get(".ARM.exidx", 0)
    rodata, data, bss = (sections.get(name, 0) for name in (".rodata", ".data", ".bss"))
    return Sizes(text, rodata, data, bss)


def stack_frames(folder: Path) -> dict[str, int]:
    """The bytes of each function's own stack frame, by function, as the compiler reports them."""
    frames: dict[str, int] = {}
    for report in sorted(folder.glob("*.su")):
        for line in report.read_text(encoding="utf-8").splitlines():
            where, size, _ = line.split("\t")
            frames[where.rsplit(":", 1)[-1]] = int(size)
    return frames
