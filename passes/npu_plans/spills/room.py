"""Computes how much on-chip memory is left for tile buffers at a program point.

A live buffer that is filled slice by slice is not in use as a whole: tile buffers may use the bytes
that no slice has reached yet. The sum of the sizes of the live buffers gives the bytes that are
free for certain. If these are not enough, a plan of the whole function gives the largest gap:

    |---- %all, one half in use ----|          size 100, in use 50: by the sum, 0 of 100 bytes
    |--- slice 0 ---|.... free .....|          are free; by the plan, 50
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from npu_plans.arena.fillings import Occupancy, in_use
from npu_plans.arena.greedy import solve
from npu_plans.arena.problem import Buffer, Problem, Solution, align
from npu_plans.spills.problem import lent


def room(
    lived: Occupancy, least: Mapping[int, int], capacity: int, alignment: int
) -> dict[int, int]:
    """For each program point in `least`: the bytes that are free for tile buffers.

    `least` gives the bytes that tile buffers need there at least. The result is zero or negative if
    `capacity` is not enough.
    """
    free = {point: capacity - occupied(lived, point, alignment) for point in least}
    if any(free[point] < need for point, need in least.items()):
        found = arranged(lived, least, capacity, alignment)
        between = {} if found is None else found[0]
        return {point: max(size, between.get(point, 0)) for point, size in free.items()}
    return free


def placed(
    lived: Occupancy, taken: Mapping[int, Sequence[int]], capacity: int, alignment: int
) -> Solution | None:
    """A plan of all buffers, and then of tile buffers of `taken` bytes; None if none is found."""
    plan = planned(lived, taken, capacity, alignment)
    return plan if plan.arena <= capacity else None


def arranged(
    lived: Occupancy, least: Mapping[int, int], capacity: int, alignment: int
) -> tuple[dict[int, int], tuple[int, ...]] | None:
    """Offsets of all buffers, and for each point in `least` the largest gap between them, in bytes.

    Tiles fit into these gaps, whatever else is planned. None if no plan with the `least` bytes of
    tiles is found.
    """
    tiles = {point: (need,) for point, need in least.items()}
    plan = planned(lived, tiles, capacity, alignment)
    if plan.arena > capacity:
        return None
    offsets = plan.offsets[: len(lived.buffers)]
    return gaps(lived, offsets, least, capacity, alignment), offsets


def gaps(
    lived: Occupancy,
    offsets: tuple[int, ...],
    points: Iterable[int],
    capacity: int,
    alignment: int,
) -> dict[int, int]:
    """For each of some points, the most contiguous bytes between the buffers at these offsets."""
    return {point: largest_gap(lived, offsets, point, capacity, alignment) for point in points}


def occupied(lived: Occupancy, point: int, alignment: int) -> int:
    """The sum of the sizes of the buffers that live at a point, rounded up to their alignment."""
    return sum(
        align(buffer.size, max(alignment, buffer.alignment))
        for buffer in lived.buffers
        if buffer.first <= point <= buffer.last
    )


def planned(
    lived: Occupancy, tiles: Mapping[int, Sequence[int]], capacity: int, alignment: int
) -> Solution:
    """A plan of all buffers, and behind them of the tile buffers at each point in `tiles`.

    Their sizes are in bytes. The search stops at `capacity` bytes.
    """
    buffers = [
        Buffer(
            each.name, each.size, max(each.alignment, alignment), each.first, each.last, each.pin
        )
        for each in lived.buffers
    ]
    overlays = list(lived.overlays)
    for point, need in ((point, size) for point, sizes in tiles.items() for size in sizes):
        for index, each in enumerate(lived.buffers):
            if need and each.first <= point <= each.last:
                start, end = in_use(each.size, lived.fillings[index], point)
                if start < end:
                    overlays += lent(index, each.size, start, end, len(buffers), need)
        buffers.append(Buffer("tiles", need, alignment, point, point))
    return solve(Problem(tuple(buffers), tuple(overlays)), capacity)


def largest_gap(
    lived: Occupancy,
    offsets: tuple[int, ...],
    point: int,
    capacity: int,
    alignment: int,
) -> int:
    """The most contiguous bytes that no buffer uses at a point; the first is aligned."""
    spans: list[tuple[int, int]] = []
    for index, buffer in enumerate(lived.buffers):
        if buffer.first <= point <= buffer.last:
            start, end = in_use(buffer.size, lived.fillings[index], point)
            spans.append((offsets[index] + start, offsets[index] + end))
    most, at = 0, 0
    for start, end in sorted([*spans, (capacity, capacity)]):
        most = max(most, start - align(at, alignment))
        at = max(at, end)
    return most
