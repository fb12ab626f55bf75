"""The problem of several memories, as plain data: no IR in here.

Each buffer lies in one memory. It costs the cycles that the core takes for its accesses there. At
each program point, the buffers in a memory take at most its bytes:

    Room("dtcm", 1024)  Room("axi", 4096)
    Buffer("a", 800, first=1, last=2)    costs: 10 in dtcm, 20 in axi
    Buffer("b", 600, first=2, last=3)    costs: 30 in dtcm, 60 in axi: b in dtcm, a in axi
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from npu_plans.arena.fillings import Occupancy, in_use
from npu_plans.arena.greedy import solve
from npu_plans.arena.problem import Overlay, Problem


@dataclass(frozen=True)
class Room:
    """A memory of `bytes` bytes in which each buffer is aligned to at least `alignment` bytes."""

    name: str
    bytes: int
    alignment: int = 1


@dataclass(frozen=True)
class Moment:
    """What lives at one program point: the bytes in use of each unit, and what pairs may share.

    `used`: bytes by unit. `shared`: (unit, unit, bytes) of buffers of which one overwrites the
    other while that dies.
    """

    point: int
    used: Mapping[int, int]
    shared: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class MemoryProblem:
    """Buffers, memories, and what each buffer costs in each memory.

    `rooms` are in the order of preference among equals. `costs[buffer][room]` are cycles, or None
    if the buffer may not lie there. `lived` has the buffers, with their fillings and all pairs that
    may overlap; `rows` are those of the pairs in which one overwrites the other row by row.
    `units`: groups of buffers that lie in the same memory; each buffer is in one.
    """

    rooms: tuple[Room, ...]
    lived: Occupancy
    costs: tuple[tuple[Fraction | None, ...], ...]
    units: tuple[tuple[int, ...], ...]
    rows: tuple[Overlay, ...] = ()

    @cached_property
    def unit_costs(self) -> tuple[tuple[Fraction | None, ...], ...]:
        """The cycles of each unit in each memory; None if one of its buffers may not lie there."""
        found: list[tuple[Fraction | None, ...]] = []
        for unit in self.units:
            columns = zip(*(self.costs[index] for index in unit), strict=True)
            found.append(tuple(total(column) for column in columns))
        return tuple(found)

    @cached_property
    def unit_of(self) -> Mapping[int, int]:
        """The unit of each buffer."""
        return {index: number for number, unit in enumerate(self.units) for index in unit}

    def cycles(self, places: Sequence[int]) -> Fraction:
        """The cycles of all accesses if each unit lies in the room that `places` names."""
        return sum(
            (cost[at] or Fraction() for cost, at in zip(self.unit_costs, places)), Fraction()
        )

    def moments(self) -> Iterator[Moment]:
        """What lives at each point at which buffers begin to live, or are filled."""
        buffers, fillings = self.lived.buffers, self.lived.fillings
        points = {each.first for each in buffers} | {at for some in fillings for at, _, _ in some}
        for point in sorted(points):
            sizes: dict[int, int] = {}
            for index, buffer in enumerate(buffers):
                if buffer.first <= point <= buffer.last:
                    start, end = in_use(buffer.size, fillings[index], point)
                    sizes[index] = end - start
            used: dict[int, int] = {}
            for index, size in sizes.items():
                unit = self.unit_of[index]
                used[unit] = used.get(unit, 0) + size
            shared = tuple(
                (self.unit_of[each.below], self.unit_of[each.above], both)
                for each in self.rows
                if (both := min(sizes.get(each.below, 0), sizes.get(each.above, 0)))
            )
            yield Moment(point, used, shared)

    def problem_of(self, room: int, places: Sequence[int]) -> Problem:
        """The offset problem of one memory."""
        kept = [
            index for index in range(len(self.lived.buffers)) if places[self.unit_of[index]] == room
        ]
        number = {index: position for position, index in enumerate(kept)}
        least = self.rooms[room].alignment
        buffers = tuple(
            replace(each, alignment=max(each.alignment, least))
            for each in (self.lived.buffers[index] for index in kept)
        )
        pairs = tuple(
            replace(each, below=number[each.below], above=number[each.above])
            for each in self.lived.overlays
            if each.below in number and each.above in number
        )
        return Problem(buffers, pairs)

    def arenas(self, places: Sequence[int]) -> tuple[int, ...]:
        """Bytes of the arena in each memory; the search for less stops where the memory is enough.

        Raises: PlanError if a pin is misaligned or two pinned buffers collide.
        """
        return tuple(
            solve(self.problem_of(room, places), self.rooms[room].bytes).arena
            for room in range(len(self.rooms))
        )

    def fits(self, places: Sequence[int]) -> bool:
        """Whether offsets are found in all memories. Raises: PlanError as `arenas` does."""
        sizes = zip(self.arenas(places), self.rooms, strict=True)
        return all(size <= room.bytes for size, room in sizes)


def total(costs: Sequence[Fraction | None]) -> Fraction | None:
    """The sum of the costs; None if one is None."""
    known = [each for each in costs if each is not None]
    return sum(known, Fraction()) if len(known) == len(costs) else None
