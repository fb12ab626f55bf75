"""The numbers of a PL-330 in silicon, such as its channels and events, for `pl330-check`."""

from __future__ import annotations

from dataclasses import dataclass

from npu_dialect.machine import Machine
from npu_passes.support.refuse import Refusal


@dataclass(frozen=True)
class Controller:
    """The numbers of a PL-330; the defaults are those of a Zynq-7020.

    MFIFO of 128 lines of 64 bits: Xilinx UG585 v1.11. Channels, events and peripherals: register
    CR0 (0x001E3071) of QEMU's xilinx-zynq-a9. The bus is AXI3, with bursts of up to 16 beats.
    """

    channels: int = 8
    events: int = 16
    peripherals: int = 4
    mfifo_bytes: int = 1024
    bus_bytes: int = 8
    burst: int = 16

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises: PassFailedException if a number is less than 1 (peripherals: less than 0).
        """
        numbers = vars(self).items()
        for name, value in numbers:
            least = 0 if name == "peripherals" else 1
            if value < least:
                raise Refusal(f"expected {name.replace('_', '-')} of at least {least}, got {value}")

    @property
    def mfifo_lines(self) -> int:
        """The lines of the MFIFO, which are as wide as the bus."""
        return self.mfifo_bytes // self.bus_bytes

    @staticmethod
    def of(machine: Machine | None) -> Controller:
        """The PL-330 of a machine; that of a Zynq-7020 if there is no machine, or it has none."""
        if machine is None or not machine.dma_fifo_bytes:
            return Controller()
        return Controller(
            machine.dma_channels,
            machine.dma_events,
            machine.dma_peripherals,
            machine.dma_fifo_bytes,
            machine.dma_beat_bytes,
            machine.dma_burst,
        )
