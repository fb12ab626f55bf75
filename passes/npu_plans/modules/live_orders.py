"""Orders of steps that keep the fewest bytes alive at one time, as plain data: no IR in here.

Steps read and make pieces of memory. A piece lives from the step that makes it to the last step
that reads it, or to the end; while a step runs, everything that lives before it is there, with its
result and what else it needs (`extra`). A result may take the place of an operand that dies:

    steps: 0 reads x, makes a;  1 reads x, makes b;  2 reads a and b, makes y in the place of one
    bytes: x + a (0 done: x, a live)   x + a + b (a and b live)   a + b

What is alive depends on the set of steps that are done and not on their order. So the smallest
possible peak is that of a path through such sets with the smallest largest cost, found exactly:

* `best_order`: branch after branch, groups of branches nested (dynamic programming over the sets of
  branches that are done);
* `lowest_peak`: any order in which every step has what it reads (the sets that are closed under
  "has to come before", no row of pieces in one place), a bound for the other. The search goes on
  from the cheapest set first.

Sets of steps and of pieces are bit masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from heapq import heappop, heappush
from typing import TypeAlias

MOST_BRANCHES = 10
"""Branches of one group whose orders are all considered; a group of more keeps its order."""
MOST_SETS = 50_000
"""Sets of steps that a search for the lowest peak looks at before it gives up."""


@dataclass(frozen=True)
class WorkStep:
    """A step: the pieces that it reads, the one that it makes, and the other bytes that it needs.

    `overwrites` are operands, each a set of pieces: if all of one die at the step, the result takes
    their place, and `extra_in_place` is what else is needed (None: the same).
    """

    reads: int
    makes: int
    extra: int = 0
    overwrites: tuple[int, ...] = ()
    extra_in_place: int | None = None


@dataclass(frozen=True)
class Group:
    """Branches that may run in any order, then the `tail`; each is a sequence of steps by number.

    A branch may have groups in it.
    """

    branches: tuple[tuple[int | Group, ...], ...]
    tail: tuple[int, ...] = ()


Orders: TypeAlias = Mapping[Group, tuple[int, ...]]
"""For each group the positions of its branches, in the order in which they run."""


@dataclass(frozen=True)
class Work:
    """Steps over pieces of so many bytes; `kept` are the pieces that outlive all steps.

    A piece that no step makes is there from the start. `rows` are pieces that lie side by side, as
    the parts of a concatenation: memory between two of them is of no use before it is filled.
    """

    sizes: tuple[int, ...]
    steps: tuple[WorkStep, ...]
    kept: int = 0
    rows: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def makers(self) -> tuple[int, ...]:
        """For each piece the step that makes it, as a set: nothing for one that is there before."""
        made = {step.makes: 1 << number for number, step in enumerate(self.steps)}
        return tuple(made.get(piece, 0) for piece in range(len(self.sizes)))

    @cached_property
    def readers(self) -> tuple[int, ...]:
        """For each piece the steps that read it."""
        return tuple(
            mask(number for number, step in enumerate(self.steps) if step.reads >> piece & 1)
            for piece in range(len(self.sizes))
        )

    @cached_property
    def before(self) -> tuple[int, ...]:
        """For each step the steps that make what it reads."""
        return tuple(
            sum(self.makers[piece] for piece in range(len(self.sizes)) if step.reads >> piece & 1)
            for step in self.steps
        )

    def dies(self, piece: int, done: int) -> bool:
        """Whether nothing reads a piece any more when some steps are done."""
        return not self.kept >> piece & 1 and not self.readers[piece] & ~done

    def live(self, done: int) -> int:
        """Bytes that live when some steps are done."""
        return sum(
            size
            for piece, size in enumerate(self.sizes)
            if self.makers[piece] & ~done == 0 and not self.dies(piece, done)
        ) + sum(self.gaps(row, done) for row in self.rows)

    def gaps(self, row: Sequence[int], done: int) -> int:
        """Bytes between pieces of a row that are there, of those that are still to be made."""
        made = [place for place, piece in enumerate(row) if not self.makers[piece] & ~done]
        between = row[made[0] : made[-1]] if made else ()
        return sum(self.sizes[piece] for piece in between if self.makers[piece] & ~done)

    def needed(self, number: int, done: int) -> int:
        """Bytes on chip while a step runs, and some are done before it."""
        step = self.steps[number]
        after = done | 1 << number
        gaps = sum(self.gaps(row, after) - self.gaps(row, done) for row in self.rows)
        size, extra = self.sizes[step.makes], step.extra
        for operand in step.overwrites:
            pieces = [piece for piece in range(len(self.sizes)) if operand >> piece & 1]
            room = sum(self.sizes[piece] for piece in pieces)
            if room >= self.sizes[step.makes] and all(self.dies(piece, after) for piece in pieces):
                size = 0
                extra = step.extra if step.extra_in_place is None else step.extra_in_place
        return self.live(done) + size + gaps + extra


@dataclass(frozen=True)
class Best:
    """The smallest peak of a group, in bytes, and the orders of it and of the groups in it."""

    peak: int
    orders: Orders = field(default_factory=dict[Group, tuple[int, ...]])

    def then(self, other: Best) -> Best:
        """One after the other."""
        return Best(max(self.peak, other.peak), {**self.orders, **other.orders})


def best_order(work: Work, group: Group, done: int = 0) -> Best:
    """The orders of the branches of a group, and of those in it, with the smallest peak.

    Of orders with the same peak, the one is taken that keeps most of the beginning as it is.
    """
    whole = steps_of(group) | done
    members = [mask_of(branch) for branch in group.branches]
    count = len(members)

    def done_with(chosen: int) -> int:
        return done | sum(each for index, each in enumerate(members) if chosen >> index & 1)

    @cache
    def run(index: int, chosen: int) -> Best:
        return run_sequence(work, group.branches[index], done_with(chosen))

    @cache
    def ahead(chosen: int) -> int:
        """The smallest peak of what is left when some branches are done."""
        return min(
            (
                max(run(index, chosen).peak, ahead(chosen | 1 << index))
                for index in candidates(chosen)
            ),
            default=0,
        )

    def candidates(chosen: int) -> list[int]:
        left = [index for index in range(count) if not chosen >> index & 1]
        return left if count <= MOST_BRANCHES else left[:1]

    found = run_sequence(work, group.tail, whole & ~mask(group.tail))
    limit, order, chosen = max(found.peak, ahead(0)), list[int](), 0
    for _ in members:
        index = next(
            index
            for index in candidates(chosen)
            if max(run(index, chosen).peak, ahead(chosen | 1 << index)) <= limit
        )
        found = found.then(run(index, chosen))
        order.append(index)
        chosen |= 1 << index
    return found.then(Best(0, {group: tuple(order)}))


def run_sequence(work: Work, items: Sequence[int | Group], done: int) -> Best:
    """Steps and groups in the order of a sequence, when some steps are done."""
    found = Best(0)
    for item in items:
        if isinstance(item, Group):
            found = found.then(best_order(work, item, done))
            done |= steps_of(item)
        else:
            found = found.then(Best(work.needed(item, done)))
            done |= 1 << item
    return found


def lowest_peak(work: Work, limit: int = MOST_SETS) -> int | None:
    """The smallest peak of any order of the steps; None if that takes more than `limit` sets."""
    everything = (1 << len(work.steps)) - 1
    waiting, settled = [(0, 0)], set[int]()
    while waiting:
        peak, done = heappop(waiting)
        if done == everything:
            return peak
        if done in settled:
            continue
        if len(settled) == limit:
            return None
        settled.add(done)
        for number, before in enumerate(work.before):
            after = done | 1 << number
            if after != done and not before & ~done and after not in settled:
                heappush(waiting, (max(peak, work.needed(number, done)), after))
    raise AssertionError("steps that read what they make")


def mask(numbers: Iterator[int] | Sequence[int]) -> int:
    """A set of numbers."""
    return sum(1 << number for number in dict.fromkeys(numbers))


def mask_of(items: Sequence[int | Group]) -> int:
    """The steps of a sequence."""
    return sum(steps_of(item) if isinstance(item, Group) else 1 << item for item in items)


def steps_of(group: Group) -> int:
    """The steps of a group."""
    return sum(map(mask_of, group.branches)) + mask(group.tail)
