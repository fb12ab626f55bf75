"""Which read-only memory holds which constant, on a machine with several: no IR in here.

Each constant is read so many bytes in a run, at the rate of its memory. All constants live all the
time, so those of a memory fit if the sum of their bytes does. A constant is never divided:

    Room("rom", 1000)   8 bytes in a cycle      StoredConstant("taps", 800, read=6400)
    Room("xip", 9000)   0.5 bytes in a cycle    StoredConstant("table", 300, read=300)

taps in rom, table in xip: the sum of all cycles is the least one, by the program of `cheapest.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from npu_plans.arena.fillings import Occupancy
from npu_plans.arena.problem import Buffer
from npu_plans.memories.cheapest import cheapest
from npu_plans.memories.decide import Overflow, cheapest_room, excess
from npu_plans.memories.problem import MemoryProblem, Room

UNIT = 4
"""Bytes to whose multiples constants are padded, as C compilers align arrays to words."""


@dataclass(frozen=True)
class StoredConstant:
    """A constant of `size` bytes, of which the core reads `read` bytes in one run."""

    name: str
    size: int
    read: int


def stored(
    constants: Sequence[StoredConstant],
    rooms: Sequence[Room],
    rates: Sequence[Fraction],
    *,
    together: bool = False,
) -> tuple[int, ...]:
    """The room of each constant, so that all reads take the fewest cycles.

    `rates`: the bytes that the core reads in a cycle in each room. `together`: all constants lie in
    one room, as the block of a file does.

    Raises: Overflow if the constants do not fit; it has the bytes of a plan that exceeds the rooms
        least.
    """
    if not constants:
        return ()
    problem = problem_of(constants, rooms, rates, together=together)
    limits = [room.bytes for room in rooms]
    chosen = tuple(map(cheapest_room, problem.unit_costs))
    if any(excess(problem, sizes(problem, chosen))):
        chosen = cheapest(problem, limits)
    if chosen is None:
        chosen = cheapest(problem, limits, over=True)
        assert chosen is not None, "limits that may be exceeded leave a plan"
        if any(excess(problem, sizes(problem, chosen))):
            raise Overflow(chosen, sizes(problem, chosen))
    return tuple(chosen[problem.unit_of[index]] for index in range(len(constants)))


def problem_of(
    constants: Sequence[StoredConstant],
    rooms: Sequence[Room],
    rates: Sequence[Fraction],
    *,
    together: bool,
) -> MemoryProblem:
    """The constants as buffers that all live at one moment."""
    buffers = tuple(
        Buffer(each.name, max(padded(each.size, room) for room in rooms)) for each in constants
    )
    every = range(len(constants))
    return MemoryProblem(
        tuple(rooms),
        Occupancy(buffers, ((),) * len(buffers)),
        tuple(tuple(each.read / rate for rate in rates) for each in constants),
        (tuple(every),) if together else tuple((index,) for index in every),
    )


def padded(size: int, room: Room) -> int:
    """The bytes that a constant takes in a room, up to the start of the next one."""
    unit = max(UNIT, room.alignment)
    return -(-size // unit) * unit


def sizes(problem: MemoryProblem, chosen: Sequence[int]) -> tuple[int, ...]:
    """The bytes of all constants in each room."""
    found = [0] * len(problem.rooms)
    for index, buffer in enumerate(problem.lived.buffers):
        found[chosen[problem.unit_of[index]]] += buffer.size
    return tuple(found)
