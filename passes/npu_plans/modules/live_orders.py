"""Finds orders of steps with the smallest peak memory, as plain data: no IR in here.

Steps read and make pieces of memory. A piece lives from the step that makes it to the last step
that reads it, or to the end. While a step runs, memory holds all pieces that live before it, its
result, and the other bytes that it needs (`extra`). A result may overwrite an operand that dies:

    steps: 0 reads x, makes a;  1 reads x, makes b;  2 reads a and b, makes y in the place of one
    bytes: x + a (then x, a live)      x + a + b (then a, b live)      a + b

The live pieces depend on the set of steps that are done, not on their order. So an order is a path
through such sets, and its peak is the largest cost on the path. Two exact searches minimise it:

* `best_order` runs branch after branch; groups of branches may be nested. It is dynamic programming
  over the sets of branches that are done.
* `lowest_peak` allows any order in which each step runs after the steps that make what it reads,
  so it is a lower bound for `best_order`. Without `Work.rows` it bounds every layout of the pieces.
  The search expands the set with the lowest peak first.

Sets of steps and of pieces are bit masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from heapq import heappop, heappush
from typing import TypeAlias

MOST_BRANCHES = 10
"""The most branches of a group whose orders are searched; a larger group keeps its order."""
MOST_SETS = 50_000
"""`lowest_peak` gives up after this many sets of steps."""


@dataclass(frozen=True)
class WorkStep:
    """A step: the set of pieces that it reads, the piece that it makes, and `extra` bytes.

    `overwrites` are operands, each a set of pieces. If all pieces of one operand die at the step
    and the result fits there, the result takes their place, and `extra_in_place` replaces `extra`
    (None: `extra` stays).
    """

    reads: int
    makes: int
    extra: int = 0
    overwrites: tuple[int, ...] = ()
    extra_in_place: int | None = None


@dataclass(frozen=True)
class Group:
    """Branches that may run in any order, and a `tail` that runs after them.

    Each is a sequence of step numbers; a branch may also contain groups.
    """

    branches: tuple[tuple[int | Group, ...], ...]
    tail: tuple[int, ...] = ()


Orders: TypeAlias = Mapping[Group, tuple[int, ...]]
"""For each group the positions of its branches, in the order in which they run."""


@dataclass(frozen=True)
class Work:
    """Steps over pieces of `sizes` bytes; `kept` is the set of pieces that outlive all steps.

    A piece that no step makes is there from the start. Each of the `rows` is a sequence of pieces
    that lie side by side, such as the parts of a concatenation. Memory between two pieces of a row
    that exist is reserved for the pieces that belong there.
    """

    sizes: tuple[int, ...]
    steps: tuple[WorkStep, ...]
    kept: int = 0
    rows: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def makers(self) -> tuple[int, ...]:
        """For each piece the step that makes it, as a set; empty if no step makes it."""
        made = {step.makes: 1 << number for number, step in enumerate(self.steps)}
        return tuple(made.get(piece, 0) for piece in range(len(self.sizes)))

    @cached_property
    def readers(self) -> tuple[int, ...]:
        """For each piece the set of steps that read it."""
        return tuple(
            mask(number for number, step in enumerate(self.steps) if step.reads >> piece & 1)
            for piece in range(len(self.sizes))
        )

    @cached_property
    def before(self) -> tuple[int, ...]:
        """For each step the set of steps that make what it reads."""
        return tuple(
            sum(self.makers[piece] for piece in range(len(self.sizes)) if step.reads >> piece & 1)
            for step in self.steps
        )

    def dies(self, piece: int, done: int) -> bool:
        """Whether a piece is dead once the steps in `done` have run."""
        return not self.kept >> piece & 1 and not self.readers[piece] & ~done

    def live(self, done: int) -> int:
        """Bytes that are live or reserved once the steps in `done` have run."""
        return sum(
            size
            for piece, size in enumerate(self.sizes)
            if self.makers[piece] & ~done == 0 and not self.dies(piece, done)
        ) + sum(self.gaps(row, done) for row in self.rows)

    def gaps(self, row: Sequence[int], done: int) -> int:
        """Bytes of the pieces of a row that are not made yet and lie between pieces that are."""
        made = [place for place, piece in enumerate(row) if not self.makers[piece] & ~done]
        between = row[made[0] : made[-1]] if made else ()
        return sum(self.sizes[piece] for piece in between if self.makers[piece] & ~done)

    def needed(self, number: int, done: int) -> int:
        """Bytes on chip while step `number` runs, after the steps in `done` have run."""
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
        """The result for this sequence followed by the other one."""
        return Best(max(self.peak, other.peak), {**self.orders, **other.orders})


def best_order(work: Work, group: Group, done: int = 0) -> Best:
    """The orders of the branches of a group and of its nested groups with the smallest peak.

    The steps in `done` have run before. Of several orders with that peak, the result is the first
    one in lexicographic order of branch positions.
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
        """The smallest peak of the other branches once the branches in `chosen` have run."""
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
    """The peak of steps and groups that run in the given order, after the steps in `done`."""
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
    """The smallest peak of any valid order of the steps, in bytes.

    None if the search would have to look at more than `limit` sets of steps.

    Raises: AssertionError if a step reads, directly or not, what it makes.
    """
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
    """The set of some numbers, as a bit mask."""
    return sum(1 << number for number in dict.fromkeys(numbers))


def mask_of(items: Sequence[int | Group]) -> int:
    """The set of steps of a sequence, those of its groups included."""
    return sum(steps_of(item) if isinstance(item, Group) else 1 << item for item in items)


def steps_of(group: Group) -> int:
    """The set of steps of a group, its tail included."""
    return sum(map(mask_of, group.branches)) + mask(group.tail)
