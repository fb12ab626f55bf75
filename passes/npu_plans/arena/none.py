"""Strategy `none`: no two buffers share memory. The other strategies are compared with it."""

from __future__ import annotations

from npu_plans.arena.problem import Problem, Solution, align, arena_of, pinned


def solve(problem: Problem) -> Solution:
    """Stack the buffers in their order, around the pinned ones.

    Raises: PlanError if a pin is misaligned or two pinned buffers collide.
    """
    pins = pinned(problem)
    taken = sorted((at, at + problem.buffers[index].size) for index, at in pins.items())
    offsets: list[int] = []
    cursor = 0
    for index, buffer in enumerate(problem.buffers):
        if index in pins:
            offsets.append(pins[index])
            continue
        cursor = align(cursor, buffer.alignment)
        for low, high in taken:
            if cursor < high and low < cursor + buffer.size:
                cursor = align(high, buffer.alignment)
        offsets.append(cursor)
        cursor += buffer.size
    return Solution(tuple(offsets), arena_of(problem, offsets))
