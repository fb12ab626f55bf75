"""The offset problem as plain data: no IR in here.

Buffers with sizes, alignments, lifetimes and pins get byte offsets in one arena. Two buffers that
live at the same time share no byte, unless an overlay allows it:

    Buffer("input", 4096, 4, first=0, last=1)
    Buffer("conv1", 4704, 4, first=1, last=2)       // live together at point 1: disjoint
    Overlay(below=1, above=0, distance=128)         // or offset(input) - offset(conv1) >= 128
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

LARGEST_GROUP = 16
"""The most buffers of a group whose pairs are looked at for a bound."""


class PlanError(Exception):
    """A problem has no plan, or the strategy finds none; the message says why."""


@dataclass(frozen=True)
class Buffer:
    """A block of bytes that is live from program point `first` to `last`, both included.

    `size` and `alignment` are in bytes; `pin` is the offset that the buffer must have, if any.
    """

    name: str
    size: int
    alignment: int = 1
    first: int = 0
    last: int = 0
    pin: int | None = None


@dataclass(frozen=True)
class Overlay:
    """Two buffers that may share memory if offset(above) - offset(below) >= distance.

    `below` and `above` are positions in `Problem.buffers`; the distance is in bytes and may be
    negative. An output that grows upwards over its dying input is such a pair. If `exact` is set,
    they may share memory only at exactly this distance, as when output rows overwrite input rows.
    """

    below: int
    above: int
    distance: int
    exact: bool = False


@dataclass(frozen=True)
class Neighbour:
    """A buffer (`index`) that lives together with another one, seen from that other buffer.

    If the neighbour lies at offset o, the other buffer must not start in the open interval
    (o - back, o + ahead), except at o + d for a distance d in `exact`. All are in bytes.
    """

    index: int
    back: int
    ahead: int
    exact: tuple[int, ...] = ()

    def blocked(self, at: int) -> list[tuple[int, int]]:
        """Open intervals in which the other buffer must not start if this one lies at `at`."""
        if not self.exact:
            return [(at - self.back, at + self.ahead)]
        borders = (-self.back, *self.exact, self.ahead)
        return [(at + low, at + high) for low, high in pairwise(borders)]


@dataclass(frozen=True)
class Bound:
    """A lower bound on the arena: `bytes` that the `live` buffers need at a program point."""

    bytes: int
    point: int
    live: tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """Buffers and the pairs among them that may overlap.

    `floor`: bytes that every plan needs, counted more exactly than from whole buffers.
    """

    buffers: tuple[Buffer, ...]
    overlays: tuple[Overlay, ...] = ()
    floor: int = 0

    @cached_property
    def distances(self) -> Mapping[tuple[int, int], int]:
        """For each pair (below, above) with an overlay: the smallest distance allowed, in bytes."""
        found: dict[tuple[int, int], int] = {}
        for overlay in self.overlays:
            if not overlay.exact:
                key = (overlay.below, overlay.above)
                found[key] = min(overlay.distance, found.get(key, self.buffers[overlay.below].size))
        return found

    @cached_property
    def overlaid(self) -> Mapping[int, Sequence[int]]:
        """For each buffer with overlays: the others that it may overlap."""
        found: dict[int, dict[int, None]] = {}
        for each in self.overlays:
            found.setdefault(each.below, {})[each.above] = None
            found.setdefault(each.above, {})[each.below] = None
        return {index: tuple(others) for index, others in found.items()}

    @cached_property
    def exact_distances(self) -> Mapping[tuple[int, int], tuple[int, ...]]:
        """For each pair (one, two): the values of offset(one) - offset(two) that may overlap."""
        found: dict[tuple[int, int], list[int]] = {}
        for overlay in self.overlays:
            if overlay.exact:
                found.setdefault((overlay.above, overlay.below), []).append(overlay.distance)
                found.setdefault((overlay.below, overlay.above), []).append(-overlay.distance)
        return {pair: tuple(sorted(each)) for pair, each in found.items()}

    @cached_property
    def neighbours(self) -> tuple[tuple[Neighbour, ...], ...]:
        """For each buffer, those that live together with it and that it may collide with.

        Empty buffers are left out.
        """
        found: list[list[Neighbour]] = [[] for _ in self.buffers]
        sizes, distances = [buffer.size for buffer in self.buffers], self.distances
        for one, two in self.live_pairs():
            up, down = distances.get((one, two), sizes[one]), distances.get((two, one), sizes[two])
            if up + down > 0:
                found[one].append(self.neighbour(one, two, up, down))
                found[two].append(self.neighbour(two, one, down, up))
        return tuple(map(tuple, found))

    def neighbour(self, one: int, two: int, back: int, ahead: int) -> Neighbour:
        """Buffer `two` as a neighbour of buffer `one`."""
        exact = self.exact_distances.get((one, two), ())
        return Neighbour(two, back, ahead, tuple(d for d in exact if -back < d < ahead))

    def live_pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs of non-empty buffers that live at the same time, in order of first use."""
        order = sorted(
            (index for index, buffer in enumerate(self.buffers) if buffer.size),
            key=lambda index: (self.buffers[index].first, index),
        )
        active: list[int] = []
        for index in order:
            first = self.buffers[index].first
            active = [other for other in active if self.buffers[other].last >= first]
            yield from ((other, index) for other in active)
            active.append(index)

    def live_at(self, point: int) -> tuple[int, ...]:
        """Positions of the buffers that live at a program point."""
        return tuple(
            index
            for index, buffer in enumerate(self.buffers)
            if buffer.first <= point <= buffer.last
        )


@dataclass(frozen=True)
class Solution:
    """One byte offset per buffer, and the bytes of the arena that holds them."""

    offsets: tuple[int, ...]
    arena: int


def align(offset: int, alignment: int) -> int:
    """The offset, rounded up to a multiple of the alignment."""
    return -(-offset // alignment) * alignment


def arena_of(problem: Problem, offsets: Sequence[int]) -> int:
    """The size of the arena in bytes: the highest end of a buffer."""
    ends = (at + buffer.size for at, buffer in zip(offsets, problem.buffers, strict=True))
    return max(ends, default=0)


def live_bound(problem: Problem) -> Bound:
    """The live-set bound: the largest `live_bytes` of a program point, at least `problem.floor`.

    Of several such points it names the earliest.
    """
    best = Bound(0, 0, ())
    for point in sorted({buffer.first for buffer in problem.buffers}):
        live = problem.live_at(point)
        if (needed := live_bytes(problem, live)) > best.bytes:
            best = Bound(needed, point, live)
    return replace(best, bytes=max(best.bytes, problem.floor))


def live_bytes(problem: Problem, live: Sequence[int]) -> int:
    """A lower bound on the bytes that buffers which live together can take.

    Of a group of buffers that overlays connect, it is the most that two of them take side by side
    or as close as their overlays allow. So it is exact for groups of two.
    """
    return sum(bytes_of_group(problem, group) for group in groups_of(problem, live))


def bytes_of_group(problem: Problem, group: Sequence[int]) -> int:
    """The most bytes that one or two buffers of a group that overlays connect need."""
    sizes = sorted((problem.buffers[index].size for index in group), reverse=True)
    if len(group) > LARGEST_GROUP:
        return sizes[0]
    return max((pair_bytes(problem, *pair) for pair in combinations(group, 2)), default=sizes[0])


def pair_bytes(problem: Problem, one: int, two: int) -> int:
    """The fewest bytes between the start and the end of two buffers that live together."""
    sizes = {index: problem.buffers[index].size for index in (one, two)}
    spans = [sum(sizes.values())]
    for below, above in ((one, two), (two, one)):
        if (distance := problem.distances.get((below, above))) is not None:
            spans.append(max(sizes[below], max(0, distance) + sizes[above]))
    for distance in problem.exact_distances.get((one, two), ()):  # offset(one) - offset(two)
        start, end = min(0, distance), max(sizes[two], distance + sizes[one])
        spans.append(end - start)
    return min(spans)


def largest_of_groups(problem: Problem, live: Sequence[int]) -> Sequence[int]:
    """Of each group of live buffers that overlays connect, the largest one; in order."""
    sizes = [buffer.size for buffer in problem.buffers]
    return sorted(
        max(group, key=lambda index: (sizes[index], -index)) for group in groups_of(problem, live)
    )


def groups_of(problem: Problem, live: Sequence[int]) -> Sequence[Sequence[int]]:
    """The live buffers in groups that overlays connect."""
    if not problem.overlays:
        return [(index,) for index in live]
    home = {index: index for index in live}
    for index in live:
        for other in problem.overlaid.get(index, ()):
            if other in home and home[other] != home[index]:
                old, new = home[other], home[index]
                home = {each: new if at == old else at for each, at in home.items()}
    groups: dict[int, list[int]] = {}
    for index, at in home.items():
        groups.setdefault(at, []).append(index)
    return list(groups.values())


def check(problem: Problem, solution: Solution) -> tuple[str, ...]:
    """The errors of a plan, one sentence each; empty if the plan is valid."""
    buffers, offsets = problem.buffers, solution.offsets
    if len(offsets) != len(buffers):
        return (f"expected {len(buffers)} offsets, got {len(offsets)}",)
    found: list[str] = []
    for buffer, at in zip(buffers, offsets, strict=True):
        end = at + buffer.size
        if at < 0 or at % buffer.alignment:
            found.append(f"{buffer.name!r} at {at}: expected a multiple of {buffer.alignment}")
        if end > solution.arena:
            found.append(f"{buffer.name!r} ends at {end}, behind the arena of {solution.arena}")
        if buffer.pin is not None and at != buffer.pin:
            found.append(f"{buffer.name!r} at {at}: expected its pin, {buffer.pin}")
    found += collisions(problem, dict(enumerate(offsets)))
    return tuple(found)


def collisions(problem: Problem, offsets: Mapping[int, int]) -> Iterator[str]:
    """Pairs of placed buffers that share memory and must not, one sentence each."""
    for one, near in enumerate(problem.neighbours):
        for other in near:
            if one >= other.index or one not in offsets or other.index not in offsets:
                continue
            spans = other.blocked(offsets[other.index])
            if any(low < offsets[one] < high for low, high in spans):
                first, second = (describe(problem, i, offsets[i]) for i in (one, other.index))
                yield f"{first} and {second} share memory while both live"


def describe(problem: Problem, index: int, offset: int) -> str:
    """The name of a buffer and its byte range, the end excluded, for messages."""
    buffer = problem.buffers[index]
    return f"{buffer.name!r} [{offset}, {offset + buffer.size})"


def pinned(problem: Problem) -> dict[int, int]:
    """The offsets of the pinned buffers, by position.

    Raises: PlanError if a pin is misaligned or two pinned buffers collide.
    """
    found = {i: buffer.pin for i, buffer in enumerate(problem.buffers) if buffer.pin is not None}
    for index, at in found.items():
        buffer = problem.buffers[index]
        if at < 0 or at % buffer.alignment:
            raise PlanError(
                f"expected {buffer.name!r} at a multiple of {buffer.alignment}, got offset {at}"
            )
    for message in collisions(problem, found):
        raise PlanError(message)
    return found
