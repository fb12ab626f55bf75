"""Random offset problems of which a plan without a gap is known, as hard as those of large nets."""

from __future__ import annotations

from random import Random

from npu_plans.arena.problem import Buffer, Problem


def tight(seed: int, cuts: int, pins: int = 0, capacity: int = 1024, points: int = 64) -> Problem:
    """A rectangle of time and bytes, cut at random into rectangles: its buffers, in random order.

    Each cut divides one of the largest pieces in time or in bytes. The arena is `capacity`. The
    first `pins` buffers are pinned.
    """
    random = Random(seed)
    pieces = [(0, points, 0, capacity)]
    for _ in range(cuts):
        pieces.sort(key=lambda piece: (piece[1] - piece[0]) * (piece[3] - piece[2]))
        first, end, low, high = pieces.pop(random.randrange(len(pieces) // 2, len(pieces)))
        if random.random() < 0.5 and end - first > 1:
            cut = random.randrange(first + 1, end)
            pieces += [(first, cut, low, high), (cut, end, low, high)]
        elif high - low > 1:
            cut = random.randrange(low + 1, high)
            pieces += [(first, end, low, cut), (first, end, cut, high)]
        else:
            pieces.append((first, end, low, high))
    random.shuffle(pieces)
    return Problem(
        tuple(
            Buffer(f"b{index}", high - low, 1, first, end - 1, pin=low if index < pins else None)
            for index, (first, end, low, high) in enumerate(pieces)
        )
    )
