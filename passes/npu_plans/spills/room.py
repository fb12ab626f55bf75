"""Computes how much on-chip memory is left for tile buffers at a program point.

A live buffer that is filled slice by slice is not in use as a whole: tile buffers may use the bytes
that no slice has reached yet. The sum of the sizes of the live buffers gives the bytes that are
free for certain. If these are not enough, a plan of the whole function gives the largest gap:

    |---- %all, one half in use ----|          size 100, in use 50: by the sum, 0 of 100 bytes
    |--- slice 0 ---|.... free .....|          are free; by the plan, 50
"""

from __future__ import annotations

from collections.abc import Mapping

from npu_plans.arena.fillings import Occupancy, in_use
from npu_plans.arena.greedy import solve
from npu_plans.arena.problem import Buffer, Problem, align
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
        gaps = gaps_of_plan(lived, least, capacity, alignment)
        return {point: max(size, gaps[point]) for point, size in free.items()}
    return free


def occupied(lived: Occupancy, point: int, alignment: int) -> int:
    """The sum of the sizes of the buffers that live at a point, rounded up to their alignment."""
    return sum(
        align(buffer.size, max(alignment, buffer.alignment))
        for buffer in lived.buffers
        if buffer.first <= point <= buffer.last
    )


def gaps_of_plan(
    lived: Occupancy, least: Mapping[int, int], capacity: int, alignment: int
) -> dict[int, int]:
    """For each point in `least`: the largest gap in bytes, in a plan of all buffers.

    The plan has tile buffers of the `least` bytes at each of the points. All gaps are 0 if it takes
    more than `capacity` bytes.
    """
    buffers = [
        Buffer(
            each.name, each.size, max(each.alignment, alignment), each.first, each.last, each.pin
        )
        for each in lived.buffers
    ]
    overlays = list(lived.overlays)
    for point, need in least.items():
        for index, each in enumerate(lived.buffers):
            if need and each.first <= point <= each.last:
                start, end = in_use(each.size, lived.fillings[index], point)
                if start < end:
                    overlays += lent(index, each.size, start, end, len(buffers), need)
        buffers.append(Buffer("tiles", need, alignment, point, point))
    plan = solve(Problem(tuple(buffers), tuple(overlays)), capacity)
    if plan.arena > capacity:
        return dict.fromkeys(least, 0)
    return {point: largest_gap(lived, plan.offsets, point, capacity, alignment) for point in least}


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
