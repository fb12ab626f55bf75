"""The question which maps leave the chip, as plain data: no IR in here.

A map lies on chip as long as it lives, or off chip, where each layer that uses it moves it through
tile buffers. While an op runs, three things share the memory: buffers that cannot leave, maps that
stay, and the op's tile buffers for what it has off chip.

    Buffer("a", 600, first=1, last=2)        // its cost: 1200, written once and read once
    Step(point=2, live=((0, 600), (1, 500)), needs=(TileNeed((0, 1), (64, 96, 80, 112)),))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

from npu_plans.arena.greedy import solve
from npu_plans.arena.problem import Buffer, Overlay, Problem


class Misfit(Exception):
    """An op that needs more memory than there is, whatever leaves the chip; in bytes."""

    def __init__(self, point: int, needed: int) -> None:
        super().__init__(f"{needed} bytes needed at point {point}")
        self.point = point
        self.needed = needed


@dataclass(frozen=True)
class TileNeed:
    """Bytes of tile buffers by which of some maps are off chip.

    `sizes[mask]` is for those `maps[i]` off chip whose bit i is in the mask: 2 to the power of
    `len(maps)` numbers.
    """

    maps: tuple[int, ...]
    sizes: tuple[int, ...]

    def of(self, spilled: AbstractSet[int]) -> int:
        """Bytes with these buffers off chip."""
        return self.sizes[sum(1 << bit for bit, each in enumerate(self.maps) if each in spilled)]

    def least(self, on_chip: Mapping[int, int]) -> int:
        """The fewest bytes for tile buffers and those maps that stay, given what each one takes."""
        stays = (
            sum(on_chip.get(each, 0) for bit, each in enumerate(self.maps) if not mask >> bit & 1)
            for mask in range(len(self.sizes))
        )
        return min(size + rest for size, rest in zip(self.sizes, stays, strict=True))


@dataclass(frozen=True)
class Shared:
    """Bytes that two buffers may have in common while both are on chip."""

    one: int
    two: int
    bytes: int

    def of(self, spilled: AbstractSet[int]) -> int:
        """Bytes in common with these buffers off chip."""
        return 0 if self.one in spilled or self.two in spilled else self.bytes


@dataclass(frozen=True)
class OpMemory:
    """One op: what memory holds while it runs, in bytes.

    `live` are the buffers that live then, with the bytes of each that are in use: a buffer that is
    filled slice by slice grows. `needs` are the op's tile buffers; each map is in one at most.
    `shared` are the pairs of buffers of which one dies row by row while the other is written;
    `partly` says where in a buffer the bytes in use are, if they are not all: (buffer, start, end).
    """

    point: int
    live: tuple[tuple[int, int], ...]
    needs: tuple[TileNeed, ...] = ()
    shared: tuple[Shared, ...] = ()
    partly: tuple[tuple[int, int, int], ...] = ()

    def bytes(self, spilled: AbstractSet[int]) -> int:
        """Bytes that the step needs at least with these buffers off chip."""
        stays = sum(size for each, size in self.live if each not in spilled)
        return stays + self.tiles(spilled) - sum(pair.of(spilled) for pair in self.shared)

    def tiles(self, spilled: AbstractSet[int]) -> int:
        """Bytes of the tile buffers."""
        return sum(need.of(spilled) for need in self.needs)

    def least(self, movable: AbstractSet[int]) -> int:
        """Bytes that the step needs at least, whichever of `movable` leave the chip."""
        stays = sum(size for each, size in self.live if each not in movable)
        tiles = sum(need.least(dict(self.live)) for need in self.needs)
        return stays + tiles - sum(pair.bytes for pair in self.shared)


@dataclass(frozen=True)
class SpillProblem:
    """Buffers, what each one costs off chip in bytes moved (None: it cannot leave), and the steps.

    `alignment` is what tile buffers ask for.
    """

    buffers: tuple[Buffer, ...]
    costs: tuple[int | None, ...]
    steps: tuple[OpMemory, ...]
    overlays: tuple[Overlay, ...] = ()
    alignment: int = 1

    @cached_property
    def movable(self) -> frozenset[int]:
        """The buffers that can leave the chip."""
        return frozenset(index for index, cost in enumerate(self.costs) if cost is not None)

    def cost(self, spilled: AbstractSet[int]) -> int:
        """Bytes that are moved to and from these buffers if they are off chip."""
        return sum(self.costs[index] or 0 for index in spilled)

    def worst(self, spilled: AbstractSet[int]) -> tuple[int, int]:
        """The most bytes that a step needs at least, and its program point: the first such."""
        each = [(step.bytes(spilled), -step.point) for step in self.steps]
        needed, point = max(each, default=(0, 0))
        return needed, -point

    def arena(self, spilled: AbstractSet[int], enough: int) -> int:
        """Bytes of an arena for what stays and for tile buffers; the search ends at `enough`.

        Raises: PlanError for pins that cannot be.
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
        """Whether what stays on chip has a plan in so many bytes."""
        return self.worst(spilled)[0] <= capacity and self.arena(spilled, capacity) <= capacity


def lent(
    buffer: int, size: int, start: int, end: int, tiles: int, tile_bytes: int
) -> Iterator[Overlay]:
    """The ways in which tile buffers may lie where a buffer is not in use yet.

    Of the buffer's `size` bytes, those from `start` to `end` are in use; `buffer` and `tiles` are
    positions.
    """
    if end < size:
        yield Overlay(buffer, tiles, end)
    if start > 0:
        yield Overlay(tiles, buffer, tile_bytes - start)
