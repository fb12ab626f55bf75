"""Problems like another one, but a buffer lies inside another one, or farther away. No IR."""

from __future__ import annotations

from dataclasses import replace

from npu_plans.arena.problem import Overlay, Problem


def joined(problem: Problem, whole: int, part: int) -> Problem:
    """The problem if a buffer lies inside another one, which then lives as long as both.

    What may share memory with one of them may share it with the whole, as far as an overlay says.
    """
    buffers = list(problem.buffers)
    outer, inner = buffers[whole], buffers[part]
    first, last = min(outer.first, inner.first), max(outer.last, inner.last)
    buffers[whole] = replace(outer, first=first, last=last)
    buffers[part] = replace(inner, size=0)
    pairs: list[Overlay] = []
    for each in problem.overlays:
        below, above = (whole if end == part else end for end in (each.below, each.above))
        if below != above:
            pairs.append(replace(each, below=below, above=above))
    return replace(problem, buffers=tuple(buffers), overlays=tuple(pairs))


def farther(problem: Problem, below: int, above: int, distance: int) -> Problem:
    """The problem if two buffers that may share memory have to lie at least so far apart."""
    pairs = tuple(
        replace(each, distance=max(each.distance, distance))
        if (each.below, each.above) == (below, above) and not each.exact
        else each
        for each in problem.overlays
    )
    return replace(problem, overlays=pairs)
