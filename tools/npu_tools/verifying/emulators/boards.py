"""The emulated boards: the command of QEMU, the addresses of memory, the tick of the clock.

The sizes of RAM and flash come from the machine's TOML file. The emulated board's own memory is an
upper limit for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Board:
    """A board that QEMU emulates.

    `package` is the Debian package of QEMU, `start` the start-up file. `memory_most` are the
    board's RAM and flash in bytes. `shift` is QEMU's icount option: an instruction takes 2^shift ns
    of emulated time. The board's clock ticks every `tick_ns` ns, so instructions = ticks * tick_ns
    / 2^shift, rounded.
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
    memories: tuple[tuple[str, int], ...] = ()
    """The address of each memory for arenas, by its name in the machine's file, if several."""

    def instructions(self, ticks: int) -> int:
        """The instructions that the processor executes in so many ticks of the clock."""
        return (ticks * self.tick_ns + (1 << self.shift) // 2) >> self.shift

    def command(self, program: str) -> list[str]:
        """The command that runs a program. Its output goes to stdout, its exit code is QEMU's."""
        return [
            *(self.qemu, "-M", self.machine, "-display", "none", "-monitor", "none"),
            *("-serial", "none", "-chardev", "stdio,id=console"),
            *("-semihosting-config", "enable=on,target=native,chardev=console"),
            # With sleep=off the counts do not depend on the load of the host.
            *("-icount", f"shift={self.shift},sleep=off", "-kernel", program),
        ]


def _mps2(machine: str) -> Board:
    """An Arm MPS2 board: 4 MB of memory at 0 and at 0x20000000, a 25 MHz CMSDK timer as clock.

    An instruction takes 2^8 ns. A tick of 40 ns is shorter, so the counts are exact.
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


def _mps3() -> Board:
    """An Arm MPS3 board with the image AN547, a Cortex-M55: the 64-bit counter of its subsystem.

    Vectors lie at 0, the program in the 2 MB of SRAM at 0x01000000, data in the 512 KB of DTCM. The
    counter runs at 32 MHz, and the start-up code makes nanoseconds of its ticks. A tick of 31.25 ns
    is shorter than the 2^8 ns of an instruction, so the counts are exact.
    """
    return Board(
        machine="mps3-an547",
        qemu="qemu-system-arm",
        package="qemu-system-arm",
        start="cortexm55.c",
        flash_start=0x0100_0000,
        ram_start=0x2000_0000,
        memory_most=(512 << 10, 2 << 20),
        shift=8,
        tick_ns=1,
        link_flags=("--specs=nano.specs", "-Wl,--section-start=.vectors=0", "-Wl,-u,vectors"),
    )


def _mps3_memories() -> Board:
    """The same board with an arena at the start of DTCM and one at the start of the SRAM behind it.

    What else the program keeps lies in the last 32 KB of DTCM.
    """
    return replace(
        _mps3(),
        ram_start=0x2007_8000,
        memory_most=(32 << 10, 2 << 20),
        memories=(("dtcm", 0x2000_0000), ("sram", 0x2100_0000)),
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
    # A Cortex-M3 stands for the M0: it executes every instruction of Armv6-M, and has more memory
    # than the 16 KB of QEMU's board with an M0. The start-up code lets unaligned accesses fault, as
    # on an M0.
    "cortex-m0": _mps2("mps2-an385"),
    "cortex-m4": _mps2("mps2-an386"),
    "cortex-m7": _mps2("mps2-an500"),
    "cortex-m55": _mps3(),
    # QEMU has no Cortex-M85. A Cortex-M55 stands for it: both have Armv8.1-M with Helium.
    "cortex-m85": _mps3(),
    "mps3-an547": _mps3_memories(),
}
"""The board of each machine, by the machine's name."""
