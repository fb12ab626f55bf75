"""Chooses between which uses of maps off the chip copies of them stay on chip: no IR in here.

    writes a ..... reads a ..... reads a          Gap(part=0, size=600, first=1, last=5)
    |---- 600 -----|---- 600 -----|               Gap(part=0, size=600, first=5, last=9)

A gap saves the bytes that its second use need not load. While it lasts, the copy takes room. At a
use it takes that of the tile buffers which the use needs no more, its *relief*.

Variables of the integer program: for each gap g in {0, 1}, 1 if the part stays on chip in it; for
each use at an end of a gap u in [0, 1], with g <= u. Gaps that follow each other share a use, so
the part counts once there. All terms are in bytes:

    maximise   sum size g
    subject to sum size g (gaps around the step) + sum (size - relief) u (uses in the step)
               <= capacity - what the step takes without, each step

HiGHS, called through SciPy, solves it to the optimum. It runs in one thread and is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from npu_plans.arena.problem import Buffer
from npu_plans.spills.cheapest import Program
from npu_plans.spills.problem import SpillProblem


@dataclass(frozen=True)
class Gap:
    """A map, or a part of one, between two neighbouring uses of it at program points.

    `part`: its number; the gaps of a part follow each other. `size`: its bytes. `relief`: the bytes
    of tile buffers that each of the two uses needs less if the part is on chip.
    """

    part: int
    size: int
    first: int
    last: int
    relief: tuple[int, int] = (0, 0)

    @property
    def ends(self) -> Iterator[tuple[int, int]]:
        """The points of both uses, each with its relief."""
        return zip((self.first, self.last), self.relief, strict=True)


Tiles: TypeAlias = Callable[[Sequence[Gap]], SpillProblem]
"""The buffers of a function, with the bytes of tile buffers that its ops need with some gaps.

No buffer can leave the chip.
"""


def kept_gaps(gaps: Sequence[Gap], tiles: Tiles, capacity: int) -> tuple[Gap, ...]:
    """The gaps that save the most bytes in `capacity` bytes.

    If no offsets are found for all that the sums of bytes allow, runs of gaps are taken one by one,
    those first that save most, as long as there are offsets.

    Raises: PlanError if a pin is misaligned or two pinned buffers collide.
    """

    def fits(kept: Sequence[Gap]) -> bool:
        return with_copies(tiles(kept), kept).fits(frozenset(), capacity)

    taken = {step.point: step.bytes(frozenset()) for step in tiles(()).steps}
    chosen = most_saved(gaps, {point: max(0, capacity - each) for point, each in taken.items()})
    if not chosen or fits(chosen):
        return chosen
    found: tuple[Gap, ...] = ()
    for run in sorted(runs_of(chosen), key=lambda run: -sum(gap.size for gap in run)):
        more = tuple(gap for gap in chosen if gap in found or gap in run)
        found = more if fits(more) else found
    return found


def runs_of(gaps: Sequence[Gap]) -> list[list[Gap]]:
    """Gaps of one part that follow each other; they lie next to each other in `gaps`."""
    found: list[list[Gap]] = []
    for gap in gaps:
        if found and (found[-1][-1].part, found[-1][-1].last) == (gap.part, gap.first):
            found[-1].append(gap)
        else:
            found.append([gap])
    return found


def with_copies(problem: SpillProblem, kept: Sequence[Gap]) -> SpillProblem:
    """A problem with a buffer on chip for each run of gaps."""
    copies = [
        Buffer(f"part {run[0].part}", run[0].size, problem.alignment, run[0].first, run[-1].last)
        for run in runs_of(kept)
    ]
    numbered = list(enumerate(copies, len(problem.buffers)))

    def live(point: int) -> Iterator[tuple[int, int]]:
        return ((index, each.size) for index, each in numbered if each.first <= point <= each.last)

    steps = (replace(step, live=(*step.live, *live(step.point))) for step in problem.steps)
    return replace(
        problem,
        buffers=(*problem.buffers, *copies),
        costs=(*problem.costs, *[None] * len(copies)),
        steps=tuple(steps),
    )


def most_saved(gaps: Sequence[Gap], free: Mapping[int, int]) -> tuple[Gap, ...]:
    """The gaps that save the most bytes, with so many free bytes at each point."""
    if not gaps:
        return ()
    uses = {(gap.part, point): relief for gap in gaps for point, relief in gap.ends}
    column = {use: place for place, use in enumerate(uses, len(gaps))}
    sizes = {gap.part: gap.size for gap in gaps}
    program = Program({number: number for number in range(len(gaps))})
    program.costs = [*(-gap.size for gap in gaps), *[0] * len(uses)]
    for number, gap in enumerate(gaps):
        for point, _ in gap.ends:
            program.add_row({number: 1, column[gap.part, point]: -1}, -float("inf"), 0)
    for point, room in free.items():
        row = {number: gap.size for number, gap in enumerate(gaps) if gap.first < point < gap.last}
        for (part, at), relief in uses.items():
            if at == point:
                row[column[part, at]] = sizes[part] - relief
        if sum(max(0, size) for size in row.values()) > room:
            program.add_row(row, -float("inf"), room)
    chosen = program.solve(frozenset()) or ()
    return tuple(gap for number, gap in enumerate(gaps) if number in chosen)
