"""Chooses the regions with which a function fits on chip, or nearly does: numbers only, no IR.

What a region, or a step by itself, needs at a time is known before offsets are. So a choice whose
parts all fit gets offsets, as later passes will give them. If these leave gaps that make the arena
too large, the search is repeated for a lower peak.

If not all parts fit, maps have to leave the chip. `npu-spill-maps` decides which ones, when buffers
are there. Here it is estimated what leaves for each part. The result of a region may leave it, row
by row, and the region then has one row of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import lcm
from typing import NamedTuple

from npu_plans.arena.fillings import Filling, overlays
from npu_plans.arena.greedy import solve
from npu_plans.arena.problem import Buffer, Problem
from npu_plans.modules.layer_graph import LayerGraph, Span, members
from npu_plans.rows.growing import FunctionRows
from npu_plans.rows.regions import (
    Choice,
    RowRegion,
    alone,
    best_cover,
    found_regions,
)

ROUNDS = 8
"""How often the search is repeated for a lower peak."""


class Left(NamedTuple):
    """About how many bytes leave the chip, by how many the parts exceed it, and how many bytes the
    core waits for, as sums."""

    leaves: int = 0
    excess: int = 0
    waited: int = 0

    @property
    def cost(self) -> int:
        """What moves, and what the core waits for."""
        return self.leaves + self.waited


def fitting_regions(function: FunctionRows, sram: int) -> tuple[Choice, Left]:
    """The regions with which a function fits into `sram` bytes, and that add the least work.

    If there are none, those with which the fewest bytes leave the chip, as far as `left` tells. No
    regions if each step fits by itself.
    """
    parts = list(alone(function))
    if all(part.bytes <= sram and not part.moved for part in parts):
        return Choice(()), Left()
    for part in found_regions(function, sram):
        found = part if part.bytes <= sram else leaving(function, part)
        if found is not None and found.bytes <= sram:
            parts.append(found)
            if (other := buffered(function, found)) is not None and other.bytes <= sram:
                parts.append(other)
    best, limit, smallest = Choice(()), sram, None
    for _ in range(ROUNDS):
        choice = least_excess(function, parts, limit)
        if choice is None:
            break
        if smallest is None and choice.peak > limit:  # the only one, whatever arena it needs
            best = choice
            break
        arena = arena_of(function, choice, sram)
        if smallest is None or arena < smallest:
            best, smallest = choice, arena
        if choice.peak > limit or arena <= sram:
            break
        limit = min(choice.peak, limit - (arena - sram))
    found = [left(function, part, sram) for part in best.parts]
    return best, Left(*map(sum, zip(*found, strict=True)))


def least_excess(function: FunctionRows, parts: Sequence[RowRegion], limit: int) -> Choice | None:
    """The parts that cover all steps and leave the fewest bytes.

    Of several, those with the fewest bytes that the core waits for, then those with the least work.
    """

    def cost(part: RowRegion) -> tuple[int, ...]:
        return (*left(function, part, limit), part.work)

    return best_cover(parts, len(function.steps), cost)


def waited(function: FunctionRows, part: RowRegion, *, outside: bool) -> int:
    """About how many bytes of maps and parameters move while nothing computes.

    Parameters of a region are moved in front of it. Its rows move while others are computed if they
    have buffers for it, and tiles of a step by itself do. But nothing hides the jumps to elements
    that it picks of a map off chip, if `outside` says that there is one.
    """
    steps = function.steps[part.first : part.last + 1]
    hides = sum(step.hides for step in steps)
    weights = sum(layer.weights for layer in function.layers(part.first, part.last))
    maps = part.moved + part.leaves + function.given(part.first, part.last)
    if part.schedule is None:
        jumps = sum(step.jumps for step in steps) if outside else 0
        return max(0, maps + weights - hides) + jumps
    return weights + (max(0, maps - hides) if part.buffers else maps)


def buffered(function: FunctionRows, part: RowRegion) -> RowRegion | None:
    """The region with buffers for the rows that move while others are computed, if any move.

    Rows of the input arrive in a buffer of their own. A round of the region's loop has as many
    steps as the periods of its maps have as their least common multiple.
    """
    assert part.schedule is not None
    times = part.schedule.times
    result = function.steps[part.last].layers[-1].map
    steps = lcm(*(time.period for time in times.values()))
    rows = [(each, size, 1) for each, size in part.lines.items() if each == result]
    if part.source is not None and part.source in function.fetched:
        rows.append((part.source, function.fetched[part.source].row_bytes, 0))
    if not rows or part.streamed:
        return None
    sizes = [(steps // times[each].period - there) * size for each, size, there in rows]
    return replace(part, bytes=part.bytes + sum(sizes), buffers=max(1, sum(sizes)))


def left(function: FunctionRows, part: RowRegion, limit: int) -> Left:
    """What leaves the chip for a part. Maps do so as a whole.

    It is the smallest map that lives then and is as large as what exceeds the limit.
    """
    excess, moved = part.bytes - limit, part.moved + 2 * part.leaves
    if excess <= 0:
        return Left(moved, 0, waited(function, part, outside=part.moved > 0))
    graph, before = function.graph, (1 << part.first) - 1
    sizes = [
        size
        for size, writers, users in zip(graph.sizes, graph.writers, graph.users, strict=True)
        if users & ~before and (not writers or writers & (before << 1 | 1))
    ]
    smallest = min((size for size in sizes if size >= excess), default=excess)
    return Left(moved + 2 * smallest, excess, waited(function, part, outside=True))


def leaving(function: FunctionRows, part: RowRegion) -> RowRegion | None:
    """The region if its result lies off chip, but for a row; None if it cannot leave by itself."""
    graph, result = function.graph, function.steps[part.last].layers[-1]
    home = function.homes[result.map]
    if part.in_place or part.joined or not graph.single[home]:
        return None
    size, row = graph.sizes[home], result.row_bytes
    if not size:
        return None
    lines = {**part.lines, result.map: row}
    return replace(part, bytes=part.bytes - size + row, leaves=size, lines=lines)


def arena_of(function: FunctionRows, choice: Choice, enough: int) -> int:
    """Bytes of an arena for all buffers of a choice; the search for one stops at `enough`."""
    return solve(problem_of(function, choice), enough).arena


def problem_of(function: FunctionRows, choice: Choice) -> Problem:
    """The buffers of a choice; their program points are the parts."""
    graph = function.graph
    place = [at for at, part in enumerate(choice.parts) for _ in range(part.first, part.last + 1)]
    end = len(choice.parts)
    homes = homes_of(graph, choice)
    away = {graph.steps[part.last].writes for part in choice.parts if part.leaves}
    fillings: dict[int, list[tuple[int, int, int]]] = {}
    last: dict[int, int] = {}
    for buffer, (home, within) in enumerate(homes):
        users = list(members(graph.users[buffer]))
        spans = [(place[each], graph.steps[each].span) for each in members(graph.writers[buffer])]
        if not users or is_inner(users, choice, place) or buffer in away:
            continue
        if not spans:
            spans = [(0, (0, graph.sizes[buffer]))]
        fills = [(at, *(span if within is None else within)) for at, span in spans]
        fillings.setdefault(home, []).extend(fills)
        final = max(place[each] if each < len(place) else end for each in users)
        last[home] = max(last.get(home, 0), final)
    buffers = [
        Buffer(f"map {home}", graph.sizes[home], 1, min(fills)[0], last[home])
        for home, fills in fillings.items()
    ]
    filled: list[Filling] = [sorted(fills) for fills in fillings.values()]
    pairs = tuple(overlays(buffers, filled))
    return Problem((*buffers, *local_buffers(function, choice)), pairs)


def is_inner(users: Sequence[int], choice: Choice, place: Sequence[int]) -> bool:
    """Whether a buffer is used in one region only, so that it does not exist."""
    found = {place[each] if each < len(place) else -1 for each in users}
    return len(found) == 1 and choice.parts[min(found)].fused > 1 and min(found) >= 0


def homes_of(graph: LayerGraph, choice: Choice) -> list[tuple[int, Span | None]]:
    """The buffer in which each buffer lies in the end, and where; None: in its own bytes.

    Only regions in place put their result over a map from before.
    """
    found: list[tuple[int, Span | None]] = [(each, None) for each in range(len(graph.sizes))]
    place = {number: number for number in range(len(graph.steps))}
    for part in reversed(choice.parts):
        if part.schedule is None or part.in_place:
            graph.put_over(found, part.last, place)
    return found


def local_buffers(function: FunctionRows, choice: Choice) -> Iterator[Buffer]:
    """The rings and parameters of regions, and the parameters of the other steps."""
    for at, part in enumerate(choice.parts):
        for size in local_sizes(function, part):
            if size:
                yield Buffer(f"part {at}", size, 1, at, at)


def local_sizes(function: FunctionRows, part: RowRegion) -> list[int]:
    """The bytes of the rings and parameters of a region, or of the parameters of another step."""
    if part.schedule is None:
        return [function.steps[part.first].partial]
    layers = function.layers(part.first, part.last)
    if part.source is not None and part.source in function.fetched:
        layers.insert(0, function.fetched[part.source])
    rings = part.schedule.rings
    sizes = [*part.lines.values(), part.buffers, *(layer.weights for layer in layers)]
    return [*sizes, *(rings.get(layer.map, 0) * layer.row_bytes for layer in layers)]
