"""A PL-330 in Python: it runs the bytes of transfer programs on memory.

It is stricter than silicon and QEMU. It accepts only bursts that are aligned to their beats, stay
inside memory, and are stored directly after they are loaded. A program must end with a barrier, its
event, and END.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Memory:
    """Bytes that begin at an address."""

    base: int
    data: bytearray

    def slice(self, address: int, size: int) -> slice:
        """The slice of `data` for a range of addresses."""
        first = address - self.base
        assert 0 <= first <= first + size <= len(self.data), f"{address:#x} outside of memory"
        return slice(first, first + size)


@dataclass
class Machine:
    """One channel; it reads from `source` and writes to `target`."""

    source: Memory
    target: Memory
    registers: list[int] = field(default_factory=lambda: [0, 0, 0])
    """SAR, CCR, DAR, as DMAMOV numbers them."""
    counters: list[int] = field(default_factory=lambda: [0, 0])
    fifo: bytes = b""
    dirty: bool = False
    events: list[int] = field(default_factory=list[int])
    bursts: int = 0

    def run(self, code: bytes) -> None:
        """Run a program to its end."""
        at = 0
        while code[at] != 0x00:
            at = self.step(code, at)
        assert at == len(code) - 1
        assert not self.fifo

    def step(self, code: bytes, at: int) -> int:
        """Run the instruction at an offset; returns the offset of the next one."""
        opcode, argument = code[at], code[at + 1]
        match opcode:
            case 0xBC:
                self.registers[argument] = int.from_bytes(code[at + 2 : at + 6], "little")
                return at + 6
            case 0x54 | 0x56 | 0x5C | 0x5E:
                amount = int.from_bytes(code[at + 1 : at + 3], "little")
                amount -= 0x10000 if opcode & 8 else 0
                register = opcode & 2
                self.registers[register] = (self.registers[register] + amount) % 2**32
                return at + 3
            case 0x20 | 0x22:
                self.counters[opcode >> 1 & 1] = argument
                return at + 2
            case 0x38 | 0x3C:
                counter = opcode >> 2 & 1
                again = self.counters[counter] > 0
                self.counters[counter] -= again
                return at - argument if again else at + 2
            case 0x34:
                assert not self.dirty, "an event before the barrier"
                self.events.append(argument >> 3)
                return at + 2
            case _:
                self.move(opcode)
                return at + 1

    def move(self, opcode: int) -> None:
        """Load, store, or wait for the stores."""
        sar, ccr, dar = self.registers
        if opcode == 0x13:
            self.dirty = False
            return
        bits = ccr if opcode == 0x04 else ccr >> 14
        beat, beats, inc = 1 << (bits >> 1 & 7), (bits >> 4 & 15) + 1, bits & 1
        assert inc
        assert beat <= 8
        size = beat * beats
        if opcode == 0x04:
            assert not self.fifo
            assert sar % beat == 0
            self.fifo = bytes(self.source.data[self.source.slice(sar, size)])
            self.registers[0] = (sar + size) % 2**32
            return
        assert opcode == 0x08
        assert dar % beat == 0
        assert len(self.fifo) == size
        self.target.data[self.target.slice(dar, size)] = self.fifo
        self.registers[2] = (dar + size) % 2**32
        self.fifo, self.dirty = b"", True
        self.bursts += 1
