"""How long layers and transfers take on a machine, in cycles of its core.

A layer takes as long as its arithmetic or its traffic on chip, whichever is longer, and then for as
long as memories that are slower than the first one keep the core waiting. A transfer first takes a
time for its start and for its address jumps, on its channel; then its data cross the bus, which all
channels share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from npu_dialect.machine import Machine


class UnknownRate(ValueError):
    """The machine does not say how fast it does something; the message says what."""


@dataclass(frozen=True)
class Rates:
    """The numbers of time of a machine; all rates are above 0.

    `setup` and `jump`: cycles of the start of a transfer, and of each address jump in it.
    `channels`: 0 if the machine has no DMA engine; then `dma_bytes_per_cycle` may be 0.
    """

    macs_per_cycle: Mapping[str, Fraction]
    sram_bytes_per_cycle: Fraction
    dma_bytes_per_cycle: Fraction = Fraction()
    setup: int = 0
    jump: int = 0
    channels: int = 0
    clock_hz: int = 0
    memories: Mapping[str, tuple[Fraction, Fraction]] = field(
        default_factory=dict[str, tuple[Fraction, Fraction]]
    )
    """The bytes that the core reads and writes in a cycle in each memory of the machine's file."""
    stored: str | None = None
    """The memory of constants; None if the file does not name it."""

    @staticmethod
    def of(machine: Machine) -> Rates:
        """The numbers of a machine.

        Raises: UnknownRate, with all keys that are missing in its file, unless it has all.
        """
        if missing := missing_keys(machine):
            raise UnknownRate(f"{machine.name} has no {', '.join(missing)}")
        return Rates(
            dict(machine.macs_per_cycle),
            machine.sram_bytes_per_cycle,
            machine.dma_bytes_per_cycle,
            machine.dma_setup_cycles,
            machine.dma_jump_cycles,
            machine.dma_channels,
            machine.clock_hz,
            {
                each.name: (each.read_bytes_per_cycle, each.write_bytes_per_cycle)
                for each in machine.memory
            },
            None if machine.stored is None else machine.stored.name,
        )

    def work(self, macs: int, element: str, on_chip_bytes: int) -> int:
        """Cycles of a layer, rounded up.

        `element`: the element type of the arithmetic. `on_chip_bytes`: read and written on chip.

        Raises: UnknownRate if there are multiply-accumulates, and no rate for their type.
        """
        traffic = ceil(on_chip_bytes / self.sram_bytes_per_cycle)
        if not macs:
            return traffic
        if element not in self.macs_per_cycle:
            raise UnknownRate(f"there is no macs_per_cycle for {element}")
        return max(ceil(macs / self.macs_per_cycle[element]), traffic)

    def stall(self, memory: str, read: int, written: int) -> Fraction:
        """The cycles by which bytes in a memory take longer than at `sram_bytes_per_cycle`.

        A memory that is faster, or that the machine's file does not name, takes no cycle more.
        """
        if memory not in self.memories:
            return Fraction()
        usual = 1 / self.sram_bytes_per_cycle
        each = (max(Fraction(), 1 / rate - usual) for rate in self.memories[memory])
        return sum((size * cycles for size, cycles in zip((read, written), each)), Fraction())

    def latency(self, runs: int) -> int:
        """Cycles before the first byte of a transfer of some contiguous runs."""
        return self.setup + (runs - 1) * self.jump

    def data(self, moved_bytes: int) -> int:
        """Cycles for which a transfer has the bus, rounded up.

        Raises: UnknownRate if the machine has no DMA engine.
        """
        if not self.channels or not self.dma_bytes_per_cycle:
            raise UnknownRate("there is no DMA engine")
        return ceil(moved_bytes / self.dma_bytes_per_cycle)


def missing_keys(machine: Machine) -> tuple[str, ...]:
    """The numbers that a machine's file needs for cycles, and does not have.

    Address jumps may cost nothing.
    """
    needed = ["clock_hz", "macs_per_cycle", "sram_bytes_per_cycle"]
    if machine.dma_channels:
        needed += ["dma_bytes_per_cycle", "dma_setup_cycles"]
    return tuple(key for key in needed if not getattr(machine, key))


def says_time(machine: Machine) -> bool:
    """Whether a machine's file has any number of time, so that it should have all."""
    keys = ("clock_hz", "macs_per_cycle", "sram_bytes_per_cycle", "dma_bytes_per_cycle")
    return any(getattr(machine, key) for key in (*keys, "dma_setup_cycles", "dma_jump_cycles"))
