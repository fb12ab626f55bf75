"""The spill problem, which maps leave the chip, as plain data: no IR in here.

A map is on chip during its whole lifetime, or it is off chip, and each layer that uses it moves it
through tile buffers. While an op runs, three things share the memory: buffers that cannot leave the
chip, maps that stay, and the tile buffers for the op's off-chip maps.

    Buffer("a", 600, first=1, last=2)        // its cost: 1200, written once and read once
    Step(point=2, live=((0, 600), (1, 500)), needs=(TileNeed((0, 1), (64, 96, 80, 112)),))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

from npu_plans.arena.greedy import solve
from npu_plans.arena.problem import Buffer, Overlay, Problem

SHARE = 16
"""Tile buffers for a 16th of each off-chip map are counted."""
MOST = 4
"""The tiles of one operand take at most a 4th of the on-chip memory."""


class Misfit(Exception):
    """An op (at program point `point`) needs more memory than there is, whichever maps are spilled.

    `needed` is in bytes.
    """

    def __init__(self, point: int, needed: int) -> None:
        super().__init__(f"{needed} bytes needed at point {point}")
        self.point = point
        self.needed = needed


@dataclass(frozen=True)
class TileNeed:
    """The bytes of an op's tile buffers, depending on which of `maps` are off chip.

    `sizes[mask]` holds if exactly those `maps[i]` are off chip whose bit i is set in `mask`. So
    there are 2 to the power of `len(maps)` sizes.
    """

    maps: tuple[int, ...]
    sizes: tuple[int, ...]

    def of(self, spilled: AbstractSet[int]) -> int:
        """Bytes of the tile buffers if the buffers in `spilled` are off chip."""
        return self.sizes[sum(1 << bit for bit, each in enumerate(self.maps) if each in spilled)]

    def least(self, on_chip: Mapping[int, int]) -> int:
        """The fewest bytes of tile buffers plus maps that stay, over all subsets of the maps.

        `on_chip` gives the bytes that each map takes on chip.
        """
        stays = (
            sum(on_chip.get(each, 0) for bit, each in enumerate(self.maps) if not mask >> bit & 1)
            for mask in range(len(self.sizes))
        )
        return min(size + rest for size, rest in zip(self.sizes, stays, strict=True))


@dataclass(frozen=True)
class Shared:
    """How many bytes two buffers may share while both are on chip."""

    one: int
    two: int
    bytes: int

    def of(self, spilled: AbstractSet[int]) -> int:
        """Bytes that the two share if the buffers in `spilled` are off chip."""
        return 0 if self.one in spilled or self.two in spilled else self.bytes


@dataclass(frozen=True)
class OpMemory:
    """One op, at program point `point`: the memory contents while it runs, in bytes.

    `live`: (buffer, bytes in use) of each live buffer; of a buffer that is filled slice by slice
    not all bytes are in use. `needs`: the op's tile buffers; each map is in one need at most.
    `shared`: pairs of buffers of which one dies row by row while the other is written. `partly`:
    (buffer, start, end) of the bytes in use of each buffer that is not in use as a whole.
    """

    point: int
    live: tuple[tuple[int, int], ...]
    needs: tuple[TileNeed, ...] = ()
    shared: tuple[Shared, ...] = ()
    partly: tuple[tuple[int, int, int], ...] = ()

    def bytes(self, spilled: AbstractSet[int]) -> int:
        """The fewest bytes that the step can take if the buffers in `spilled` are off chip."""
        stays = sum(size for each, size in self.live if each not in spilled)
        return stays + self.tiles(spilled) - sum(pair.of(spilled) for pair in self.shared)

    def tiles(self, spilled: AbstractSet[int]) -> int:
        """Bytes of the tile buffers if the buffers in `spilled` are off chip."""
        return sum(need.of(spilled) for need in self.needs)

    def least(self, movable: AbstractSet[int]) -> int:
        """The fewest bytes that the step can take, whichever buffers of `movable` are off chip."""
        stays = sum(size for each, size in self.live if each not in movable)
        tiles = sum(need.least(dict(self.live)) for need in self.needs)
        return stays + tiles - sum(pair.bytes for pair in self.shared)


@dataclass(frozen=True)
class SpillProblem:
    """Buffers, their costs, and the steps that use them.

    `costs`: the bytes moved if a buffer is off chip; None if it cannot leave the chip. `alignment`:
    that of tile buffers, in bytes. `moves`: pairs of buffers of which the second one takes over
    what the first one holds; it is off chip if the first one is.
    """

    buffers: tuple[Buffer, ...]
    costs: tuple[int | None, ...]
    steps: tuple[OpMemory, ...]
    overlays: tuple[Overlay, ...] = ()
    alignment: int = 1
    moves: tuple[tuple[int, int], ...] = ()

    @cached_property
    def movable(self) -> frozenset[int]:
        """The buffers that can leave the chip."""
        return frozenset(index for index, cost in enumerate(self.costs) if cost is not None)

    def cost(self, spilled: AbstractSet[int]) -> int:
        """Bytes that are moved if the buffers in `spilled` are off chip."""
        return sum(self.costs[index] or 0 for index in spilled)

    def with_later(self, spilled: AbstractSet[int]) -> frozenset[int]:
        """Some buffers, and those that are off chip if they are."""
        return reached(spilled, self.moves)

    def with_earlier(self, on_chip: AbstractSet[int]) -> frozenset[int]:
        """Some buffers, and those that are on chip if they are."""
        return reached(on_chip, [(late, early) for early, late in self.moves])

    def worst(self, spilled: AbstractSet[int]) -> tuple[int, int]:
        """The largest `Step.bytes` of all steps, and the program point of the first such step."""
        each = [(step.bytes(spilled), -step.point) for step in self.steps]
        needed, point = max(each, default=(0, 0))
        return needed, -point

    def arena(self, spilled: AbstractSet[int], enough: int) -> int:
        """Bytes of an arena for the buffers that stay and the tile buffers.

        The search for a smaller arena stops at `enough` bytes.

        Raises: PlanError if a pin is misaligned or two pinned buffers collide.
        """
        kept = [index for index in range(len(self.buffers)) if index not in spilled]
        place = {index: position for position, index in enumerate(kept)}
        overlays = [
            replace(each, below=place[each.below], above=place[each.above])
            for each in self.overlays
            if each.below in place and each.above in place
        ]
        buffers = [self.buffers[index] for index in kept]
        for step in self.steps:
            if size := step.tiles(spilled):
                for index, start, end in step.partly:
                    if index in place:
                        span = (place[index], self.buffers[index].size, start, end)
                        overlays += lent(*span, len(buffers), size)
                tiles = f"tiles of {step.point}"
                buffers.append(Buffer(tiles, size, self.alignment, step.point, step.point))
        return solve(Problem(tuple(buffers), tuple(overlays)), enough).arena

    def fits(self, spilled: AbstractSet[int], capacity: int) -> bool:
        """Whether the buffers that stay and the tile buffers fit into `capacity` bytes."""
        return self.worst(spilled)[0] <= capacity and self.arena(spilled, capacity) <= capacity


def reached(start: AbstractSet[int], steps: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Some numbers, and all that steps lead to from these."""
    found, pending = set(start), list(start)
    while pending:
        number = pending.pop()
        new = {end for begin, end in steps if begin == number} - found
        found |= new
        pending += new
    return frozenset(found)


def lent(
    buffer: int, size: int, start: int, end: int, tiles: int, tile_bytes: int
) -> Iterator[Overlay]:
    """Overlays by which tile buffers may lie in the bytes of a buffer that are not in use yet.

    Of the buffer's `size` bytes, those from `start` to `end` are in use. `buffer` and `tiles` are
    positions in `Problem.buffers`; `tile_bytes` is the size of the tile buffers.
    """
    if end < size:
        yield Overlay(buffer, tiles, end)
    if start > 0:
        yield Overlay(tiles, buffer, tile_bytes - start)
