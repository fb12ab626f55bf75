"""Strategy `ping-pong`: layers write to two regions in turn (paper 002, section 3.2).

One region is as large as the largest map and starts at offset 0. The other is as large as the
second largest map, wherever in the chain that is. The arena is the sum of the two. For a chain of
maps of 1000, 100, 900 and 50 bytes that is 1900 bytes. The largest adjacent pair needs 1100 bytes,
which is what `greedy` finds.
"""

from __future__ import annotations

from npu_plans.arena.problem import PlanError, Problem, Solution, align, pinned


def solve(problem: Problem) -> Solution:
    """Alternate two regions along a chain of buffers.

    Raises: PlanError if the buffers are no chain (a buffer lives together with one that is neither
    directly before nor directly after it), or if a buffer is pinned at an offset that is not the
    start of its region.
    """
    buffers = problem.buffers
    pins = pinned(problem)
    order = sorted(range(len(buffers)), key=lambda index: (buffers[index].first, index))
    place = {index: position for position, index in enumerate(order)}
    for one, two in problem.live_pairs():
        if abs(place[one] - place[two]) > 1:
            raise PlanError(
                "expected a chain of buffers, each live together with its neighbours only, but "
                f"{buffers[one].name!r} still lives when {buffers[two].name!r} is written, "
                f"{abs(place[one] - place[two])} buffers later; use strategy=greedy"
            )
    if not order:
        return Solution((), 0)
    largest = max(order, key=lambda index: (buffers[index].size, -place[index]))
    sizes = sorted((buffer.size for buffer in buffers), reverse=True)
    second = {index for index in order if (place[index] - place[largest]) % 2}
    start = align(sizes[0], max((buffers[index].alignment for index in second), default=1))
    offsets = tuple(start if index in second else 0 for index in range(len(buffers)))
    for index, at in pins.items():
        if offsets[index] != at:
            raise PlanError(
                f"expected {buffers[index].name!r} at offset {offsets[index]}, its region, "
                f"got it pinned at {at}; use strategy=greedy"
            )
    return Solution(offsets, start + sizes[1] if second else sizes[0])
