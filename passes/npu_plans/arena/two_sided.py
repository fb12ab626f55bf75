"""Places buffers of which at most two live at a time at the bottom or at the top of the arena.

Every chain is such a problem. Each buffer gets one of two colours, and buffers that live together
get different colours. One colour starts at the bottom, the other ends at the top. The arena is as
large as the largest pair that lives together, plus padding for alignment:

    chain 1000, 100, 900, 50:   1000 at 0, 100 at 1000, 900 at 0, 50 at 1050     arena 1100
"""

from __future__ import annotations

from npu_plans.arena.problem import Problem, align


def two_sided(problem: Problem) -> dict[int, int] | None:
    """A plan that needs at most the live-set bound plus padding for one alignment.

    None if two colours are not enough, or if a buffer is pinned.
    """
    buffers = problem.buffers
    hangs = colours(problem)
    if hangs is None or any(buffer.pin is not None for buffer in buffers):
        return None
    arena = max((buffer.size for buffer in buffers), default=0)
    for index, near in enumerate(problem.neighbours):
        for other in near:
            if hangs[other.index] and not hangs[index]:
                above = buffers[other.index]
                arena = max(arena, align(buffers[index].size, above.alignment) + above.size)
    return {
        index: (arena - buffer.size) // buffer.alignment * buffer.alignment if hangs[index] else 0
        for index, buffer in enumerate(buffers)
    }


def colours(problem: Problem) -> list[bool] | None:
    """For each buffer one of two colours, different for buffers that live together.

    None if that is impossible, as when three buffers live at a time.
    """
    found: list[bool | None] = [None] * len(problem.buffers)
    for start in range(len(found)):
        if found[start] is not None:
            continue
        found[start] = False
        pending = [start]
        while pending:
            index = pending.pop()
            for other in problem.neighbours[index]:
                if found[other.index] is None:
                    found[other.index] = not found[index]
                    pending.append(other.index)
                elif found[other.index] == found[index]:
                    return None
    return [bool(colour) for colour in found]
