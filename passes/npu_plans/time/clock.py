"""The rules of the virtual clock: when a transfer runs, and how long the core waits for it.

The core has a time `now`. Each channel of the DMA engine is free from some time on, and so is the
bus that all channels share:

    work:   now += cycles
    start:  channel = the one that is free first, the lowest of several
            begin = max(now, free[channel])
            end = max(begin + latency, bus) + data
            free[channel] = bus = end
    wait:   now = max(now, end)

A transfer that finds no free channel queues, and the core goes on. Transfers get the bus in the
order of their starts. The emitted C can follow these rules as it runs: no rule looks ahead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flight:
    """When a transfer runs: on `channel` from `begin`, on the bus from `bus_begin`, until `end`."""

    channel: int
    begin: int
    bus_begin: int
    end: int


@dataclass
class Clock:
    """The state of the machine; all times are cycles. `free` has an entry for each channel."""

    free: list[int]
    bus: int = 0
    now: int = 0

    def work(self, cycles: int) -> None:
        """The core computes."""
        self.now += cycles

    def start(self, latency: int, data: int) -> Flight:
        """Start a transfer that has the bus for `data` cycles, `latency` cycles after its begin."""
        channel = self.free.index(min(self.free))
        begin = max(self.now, self.free[channel])
        bus_begin = max(begin + latency, self.bus)
        end = bus_begin + data
        self.free[channel] = self.bus = end
        return Flight(channel, begin, bus_begin, end)

    def wait(self, end: int) -> int:
        """Wait until a time, and return for how many cycles the core has waited."""
        waited = max(0, end - self.now)
        self.now += waited
        return waited
