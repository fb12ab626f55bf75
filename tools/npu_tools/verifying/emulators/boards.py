"""The emulated boards: how QEMU is started, where memory lies, and what one tick of the clock is.

Sizes of RAM and flash are not here: they come from the machine's TOML file, bounded by what the
emulated board has.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Board:
    """A board that QEMU emulates.

    `memory_most` bounds RAM and flash in bytes; `shift` is QEMU's icount option: an instruction
    takes 2^shift ns of the emulated time, so with `tick_ns` ns in a tick of the board's clock
    instructions = ticks * tick_ns / 2^shift, rounded.
    """

    machine: str
    qemu: str
    package: str
    start: str
    flash_start: int
    ram_start: int
    memory_most: tuple[int, int]
    shift: int
    tick_ns: int
    link_flags: tuple[str, ...] = ()

    def instructions(self, ticks: int) -> int:
        """Instructions that the processor carried out in so many ticks of the clock."""
        return (ticks * self.tick_ns + (1 << self.shift) // 2) >> self.shift

    def command(self, program: str) -> list[str]:
        """How to run a program: its text goes to stdout, its exit code is QEMU's."""
        return [
            *(self.qemu, "-M", self.machine, "-display", "none", "-monitor", "none"),
            *("-serial", "none", "-chardev", "stdio,id=console"),
            *("-semihosting-config", "enable=on,target=native,chardev=console"),
            # sleep=off: the same counts whatever else the host does.
            *("-icount", f"shift={self.shift},sleep=off", "-kernel", program),
        ]


def _mps2(machine: str) -> Board:
    """An Arm MPS2 board: 4 MB at 0 and at 0x20000000, a 25 MHz CMSDK timer as the clock.

    2^8 ns to an instruction make a tick (40 ns) shorter than one, so counts are exact.
    """
    return Board(
        machine=machine,
        qemu="qemu-system-arm",
        package="qemu-system-arm",
        start="cortexm.c",
        flash_start=0,
        ram_start=0x2000_0000,
        memory_most=(4 << 20, 4 << 20),
        shift=8,
        tick_ns=40,
        link_flags=("--specs=nano.specs",),
    )


BOARDS = {
    # SiFive HiFive1: the program starts 4 MB into the 16 MB flash; minstret counts instructions.
    "fe310": Board(
        machine="sifive_e",
        qemu="qemu-system-riscv32",
        package="qemu-system-misc",
        start="riscv.S",
        flash_start=0x2040_0000,
        ram_start=0x8000_0000,
        memory_most=(16 << 10, 12 << 20),
        shift=0,
        tick_ns=1,
    ),
    # A Cortex-M3: it carries out every instruction of Armv6-M, and has room for more than the 16 KB
    # of QEMU's board with an M0. Start-up makes unaligned accesses faults, as they are on an M0.
    "cortex-m0": _mps2("mps2-an385"),
    "cortex-m4": _mps2("mps2-an386"),
    "cortex-m7": _mps2("mps2-an500"),
}
"""The board of each machine, by the machine's name."""
