"""How many values of straight-line code do not fit into the registers.

The model: a value that has no register left goes to the stack, the one whose next use is farthest
first. That needs the fewest loads and stores for a given order (Belady, 1966).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple, TypeAlias

Value: TypeAlias = Hashable

NEVER = 10**9
"""The place of a use that does not come."""


class Line(NamedTuple):
    """One instruction: the values that it reads, and the one that it makes, if any."""

    reads: tuple[Value, ...]
    makes: Value | None


class Spills(NamedTuple):
    """Stores to the stack, and loads from it; `entries` are stores in front of the code."""

    stores: int
    loads: int
    entries: int = 0


def spills(
    lines: Sequence[Line],
    registers: int,
    before: Collection[Value],
    after: Collection[Value],
    constant: Collection[Value] = (),
) -> Spills:
    """The stores and loads of code that runs with so many registers.

    `before` are the values that exist before it, `after` those that are needed behind it. Those of
    `before` that are `constant` stay the same while the code runs again and again: the ones that
    find no register are stored once, in front of all runs.
    """
    return Simulation(lines, registers, after, constant).run(before)


class Simulation:
    """One run over the lines."""

    def __init__(
        self,
        lines: Sequence[Line],
        registers: int,
        after: Collection[Value],
        constant: Collection[Value],
    ) -> None:
        self.lines, self.registers, self.constant = lines, registers, constant
        self.uses: defaultdict[Value, list[int]] = defaultdict(list)
        for value in after:
            self.uses[value].append(len(lines))
        for place, line in reversed(list(enumerate(lines))):
            for value in line.reads:
                self.uses[value].append(place)
        self.held: dict[Value, None] = {}
        self.stored: set[Value] = set(constant)
        self.entered: set[Value] = set()
        self.stores = self.loads = 0

    def next_use(self, value: Value) -> int:
        """The place of the next line that reads a value."""
        uses = self.uses.get(value)
        return uses[-1] if uses else NEVER

    def run(self, before: Collection[Value]) -> Spills:
        """Count over all lines."""
        first = sorted(before, key=self.next_use)
        self.held = dict.fromkeys(first[: self.registers])
        self.stored.update(first[self.registers :])
        for place, line in enumerate(self.lines):
            for value in line.reads:
                if value not in self.held:
                    self.make_room(line.reads)
                    self.held[value] = None
                    self.loads += 1
                    if value in self.constant:
                        self.entered.add(value)
            for value in line.reads:
                while self.uses[value] and self.uses[value][-1] <= place:
                    self.uses[value].pop()
                if not self.uses[value]:
                    self.held.pop(value, None)
            if line.makes is not None and self.next_use(line.makes) < NEVER:
                self.make_room(())
                self.held[line.makes] = None
        return Spills(self.stores, self.loads, len(self.entered))

    def make_room(self, kept: Collection[Value]) -> None:
        """Free one register, but none that holds a value of `kept`."""
        while len(self.held) >= self.registers:
            others = [value for value in self.held if value not in kept]
            if not others:
                return
            value = max(others, key=self.next_use)
            del self.held[value]
            if self.next_use(value) < NEVER and value not in self.stored:
                self.stored.add(value)
                self.stores += 1
