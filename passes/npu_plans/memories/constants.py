"""Which constants get a copy in which memory: the program of `cheapest.py`, with constants alone.

A copy lies in what the buffers leave of a memory, from before the first run on; other constants
are read where they are stored. Each costs the cycles of its reads:

    Room("dtcm", 1000)
    Constant("taps", 800, costs=(100,), stored=400)      a copy saves 300 cycles
    Constant("table", 300, costs=(10,), stored=80)       70; both do not fit: taps

As all copies live all the time, they lie one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from npu_plans.arena.fillings import Occupancy
from npu_plans.arena.problem import Buffer
from npu_plans.memories.cheapest import cheapest
from npu_plans.memories.decide import cheapest_room
from npu_plans.memories.problem import MemoryProblem, Room

STORED = "stored"
"""The name of the room of constants without a copy."""


@dataclass(frozen=True)
class Constant:
    """A constant of `size` bytes.

    `costs`: the cycles of all reads if its copy lies in each room; `stored`: without a copy.
    """

    name: str
    size: int
    costs: tuple[Fraction, ...]
    stored: Fraction


def kept(constants: Sequence[Constant], rooms: Sequence[Room]) -> list[tuple[int, int] | None]:
    """The room of each constant's copy and its offset there; None if it has none.

    `rooms`: what is left of each memory. The offsets count from its start, and are multiples of
    its alignment. A constant that costs as much where it is stored has no copy.
    """
    places = rooms_of(constants, rooms)
    ends = [0] * len(rooms)
    found: list[tuple[int, int] | None] = []
    for constant, place in zip(constants, places, strict=True):
        if place is None:
            found.append(None)
            continue
        found.append((place, ends[place]))
        ends[place] += padded(constant.size, rooms)
    return found


def padded(size: int, rooms: Sequence[Room]) -> int:
    """The bytes that a constant takes in any of the rooms: up to the start of the next one."""
    unit = max(room.alignment for room in rooms)
    return -(-size // unit) * unit


def rooms_of(constants: Sequence[Constant], rooms: Sequence[Room]) -> list[int | None]:
    """The room of each constant's copy; None if it has none."""
    if not constants or not rooms:
        return [None] * len(constants)
    buffers = tuple(Buffer(each.name, padded(each.size, rooms)) for each in constants)
    everything = sum(each.size for each in buffers)
    limits = [everything, *(room.bytes for room in rooms)]
    problem = MemoryProblem(
        (Room(STORED, everything), *rooms),
        Occupancy(buffers, ((),) * len(buffers)),
        tuple((each.stored, *each.costs) for each in constants),
        tuple((index,) for index in range(len(constants))),
    )
    chosen: Sequence[int] = tuple(map(cheapest_room, problem.unit_costs))
    used = [0] * len(limits)
    for buffer, place in zip(buffers, chosen, strict=True):
        used[place] += buffer.size
    if any(size > limit for size, limit in zip(used, limits, strict=True)):
        chosen = cheapest(problem, limits) or (0,) * len(constants)
    return [place - 1 if place else None for place in chosen]
