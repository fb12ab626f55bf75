"""Instructions of two int8 inner loops with RISC-V's vector extension, beside plain C.

    python bench/riscv_vectors.py

Both loops of riscv_vectors.c are written by hand: no pass makes them. They are compiled by clang
with -O2, and run under QEMU on an RV32 core with vectors of 128 and of 256 bits. The depthwise
layer has a kernel of 3x3 and ends with requantised bytes, the pointwise layer ends with sums. Both
must compute what plain C computes. Counts are exact and the same on every computer with the same
compiler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from npu_tools.shared.errors import UserError, guarded
from npu_tools.shared.text import columns

SOURCE = Path(__file__).with_name("riscv_vectors.c")
COMPILER = (
    *("clang-19", "--target=riscv32-unknown-elf", "-march=rv32imafv", "-mabi=ilp32f"),
    *("-mcmodel=medany", "-O2", "-fno-vectorize", "-fno-slp-vectorize", "-ffreestanding"),
)
LINKER = ("riscv64-unknown-elf-ld", "-m", "elf32lriscv", "--no-warn-rwx-segments")
SECTIONS = """
ENTRY(_start)
SECTIONS {
    . = 0x80000000;
    .text : { *(.init) *(.text*) *(.rodata* .srodata*) }
    .data : { *(.data* .sdata*) *(.sbss* .bss* COMMON) }
}
"""
QEMU = (
    *("qemu-system-riscv32", "-M", "virt", "-bios", "none", "-nographic", "-monitor", "none"),
    *("-serial", "none", "-semihosting-config", "enable=on,target=native"),
    *("-icount", "shift=0,sleep=off"),
)
WIDTHS = (128, 256)
SECONDS = 60
TITLES = ("loop", "channels", "MACs", "plain C", "vectors", "per MAC", "result")


def built(folder: Path) -> Path:
    """Compile and link the loops.

    Raises: UserError if that fails.
    """
    (folder / "sections.ld").write_text(SECTIONS)
    for command in (
        (*COMPILER, "-c", str(SOURCE), "-o", "loops.o"),
        (*LINKER, "-T", "sections.ld", "loops.o", "-o", "loops.elf"),
    ):
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if run.returncode:
            raise UserError(run.stderr.strip())
    return folder / "loops.elf"


def measured(program: Path, width: int) -> list[tuple[str, ...]]:
    """The rows of the table for vectors of some bits.

    Raises: UserError if the program does not end well.
    """
    core = ("-cpu", f"rv32,v=true,vlen={width}", "-kernel", str(program))
    run = subprocess.run(
        (*QEMU, *core), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    lines = [line.split() for line in (run.stdout + run.stderr).splitlines()]
    rows = [line for line in lines if len(line) == len(TITLES) - 1]
    if run.returncode or not rows:
        raise UserError(f"{QEMU[0]} ended with {run.returncode}: {run.stderr.strip()}")
    return [(*row[:5], f"{int(row[4]) / int(row[2]):.2f}", row[5]) for row in rows]


def main() -> int:
    """Print a table for each width; exit code 1 if a result is wrong."""
    for tool in (COMPILER[0], LINKER[0], QEMU[0]):
        if shutil.which(tool) is None:
            raise UserError(f"{tool} is not installed: python scripts/toolchains.py")
    right = True
    with tempfile.TemporaryDirectory() as temporary:
        program = built(Path(temporary))
        for width in WIDTHS:
            rows = measured(program, width)
            right &= all(row[-1] == "equal" for row in rows)
            print(f"vectors of {width} bits")
            print("\n".join(columns([TITLES, *rows], left=1)))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(guarded("bench/riscv_vectors.py", main))
