"""How much on-chip memory is left for tile buffers at a program point.

What lives at a point and what is in use there are two things: a buffer that is filled slice by
slice lends what no slice has reached yet. The sum of the sizes says how much is free for certain;
where that is not enough, a plan of the whole function shows the largest gap at that point:

    |---- %all, one half in use ----|          size 100, in use 50: the sum says 0 of 100 bytes
    |--- slice 0 ---|.... free .....|          are left, the plan says 50
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
    """Bytes that are free at some program points, given the least that is needed there.

    Zero or less where `capacity` is not enough.
    """
    free = {point: capacity - occupied(lived, point, alignment) for point in least}
    if any(free[point] < need for point, need in least.items()):
        gaps = gaps_of_plan(lived, least, capacity, alignment)
        return {point: max(size, gaps[point]) for point, size in free.items()}
    return free


def occupied(lived: Occupancy, point: int, alignment: int) -> int:
    """Bytes of the buffers that live at a point, each one up to its alignment."""
    return sum(
        align(buffer.size, max(alignment, buffer.alignment))
        for buffer in lived.buffers
        if buffer.first <= point <= buffer.last
    )


def gaps_of_plan(
    lived: Occupancy, least: Mapping[int, int], capacity: int, alignment: int
) -> dict[int, int]:
    """The largest gap at some points, in a plan for all buffers and the least that is needed.

    Zero where the plan takes more than `capacity`.
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
    """The most bytes one behind the other that no buffer uses at a point."""
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
