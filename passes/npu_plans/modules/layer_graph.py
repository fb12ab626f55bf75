"""The layers of a function as steps over buffers, as plain data, and the peak memory of an order.

A step reads some buffers and writes bytes of one. A buffer lives from the first step that writes it
to the last one that uses it, or to the end. A buffer that no step writes is there from the start.
While a step runs, memory holds all buffers that live then:

    steps: 0 reads x, writes a;  1 reads x, writes b;  2 reads a and b, writes y in the place of one
    bytes: x + a (then x, a live)       x + a + b (then a, b live)       a + b

Several steps may write one buffer, such as the parts of a concatenation. Of such a buffer, the
bytes from the first written one to the last written one are in use (`arena/fillings.py`).

A step may overwrite a buffer that dies there. If several are named, it takes the first one that
dies. Then both are one buffer: one that a part of a concatenation overwrites lies in the
concatenation's buffer from its first step on.

Sets of steps are bit masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]
"""First byte of a part of a buffer and its end (excluded); equal ends are no bytes."""


@dataclass(frozen=True)
class LayerStep:
    """A step: `before` is the set of steps that must run earlier.

    It reads the buffers `reads` and writes the bytes `span` of the buffer `writes`. `overwrites`
    are buffers of the same size as the span. `extra` are further bytes that it needs.
    """

    before: int
    reads: tuple[int, ...]
    writes: int
    span: Span
    overwrites: tuple[int, ...] = ()
    extra: int = 0


class Cost(NamedTuple):
    """What a step does to memory.

    `bit` is the set of this step. `growth` are the bytes that it writes, if it is the only writer
    of its buffer. `alone` and `overwrites` are the users and the size of each buffer that it uses
    or may overwrite; `shared` are the buffers with several writers. `spoils` are buffers
    that this step uses, each with a part of a concatenation that may overwrite it, and its other
    users: if all of them run before that part, it will overwrite the buffer.
    """

    bit: int
    growth: int | None
    alone: tuple[tuple[int, int], ...]
    shared: tuple[int, ...]
    overwrites: tuple[tuple[int, int], ...]
    extra: int
    spoils: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class LayerGraph:
    """Steps over buffers of `sizes` bytes; the buffers `kept` live to the end.

    The steps stand in an order in which they can run.
    """

    sizes: tuple[int, ...]
    steps: tuple[LayerStep, ...]
    kept: frozenset[int] = frozenset()

    @cached_property
    def writers(self) -> tuple[int, ...]:
        """For each buffer the set of steps that write it."""
        return sets(len(self.sizes), ((step.writes,) for step in self.steps))

    @cached_property
    def users(self) -> tuple[int, ...]:
        """For each buffer the set of steps that use it; a kept one has one more, which never runs.

        A buffer is dead once all of them have run.
        """
        found = sets(len(self.sizes), ((*step.reads, step.writes) for step in self.steps))
        never = 1 << len(self.steps)
        return tuple(each | never * (i in self.kept) for i, each in enumerate(found))

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """For each step the steps that name it in `before`."""
        found: list[list[int]] = [[] for _ in self.steps]
        for number, step in enumerate(self.steps):
            for earlier in members(step.before):
                found[earlier].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def touched(self) -> tuple[tuple[int, ...], ...]:
        """For each step the buffers that it uses, each once."""
        return tuple(tuple(dict.fromkeys((*step.reads, step.writes))) for step in self.steps)

    @cached_property
    def single(self) -> tuple[bool, ...]:
        """For each buffer whether no more than one step writes it."""
        return tuple(each.bit_count() <= 1 for each in self.writers)

    @cached_property
    def hulls(self) -> tuple[dict[int, int], ...]:
        """For each buffer the bytes in use by the set of its writers that have run, once asked."""
        return tuple({} for _ in self.sizes)

    def hull(self, buffer: int, done: int) -> int:
        """Bytes of a buffer in use, dead or not, once the steps in `done` have run."""
        writers = self.writers[buffer]
        if self.single[buffer]:
            return self.sizes[buffer] if not writers or writers & done else 0
        known = self.hulls[buffer]
        if (used := known.get(writers & done)) is None:
            spans = (self.steps[each].span for each in members(writers & done))
            filled = [span for span in spans if span[0] < span[1]]
            ends = max((end for _, end in filled), default=0)
            used = known[writers & done] = ends - min((at for at, _ in filled), default=0)
        return used

    @cached_property
    def widened(self) -> LayerGraph:
        """The graph in which every part of a buffer takes all of it; itself if there is no part."""
        steps = tuple(replace(step, span=(0, self.sizes[step.writes])) for step in self.steps)
        return self if steps == self.steps else replace(self, steps=steps)

    @cached_property
    def scattered(self) -> LayerGraph:
        """A graph in which no part of a concatenation overwrites a map, and no order needs more.

        Where parts that may overwrite maps have bytes of their own, each part of the concatenation
        lies in a buffer of its own: parts that are written and maps that will be overwritten lie
        apart here, too. `run` counts such a map beside the bytes between two parts, in which it may
        lie. Where a part takes all of the buffer, as of bytes with channels last, the map has no
        bytes: it may lie in the concatenation's. Neither has what overwrites a concatenation that
        lies in parts, as it takes their place. Nor what a map without bytes overwrites.
        """
        claimants = {each for claims in self.claims.values() for each in claims}
        claims = [self.steps[each] for each in claimants]
        whole = {each for step in claims if self.is_whole(step) for each in step.overwrites}
        for step in reversed(self.steps):
            if step.writes in whole:
                whole.update(step.overwrites)
        torn = {step.writes for step in claims if not self.is_whole(step)}
        over = {step.writes for step in self.steps if torn.intersection(step.overwrites)}
        sizes, parts, names = list(self.sizes), dict[int, list[int]](), dict[int, int]()
        for number, step in enumerate(self.steps):
            if step.writes in torn and not self.is_whole(step):
                start, end = step.span
                names[number] = len(sizes)
                parts.setdefault(step.writes, []).append(len(sizes))
                sizes.append(0 if step.writes in whole | over else end - start)
        for buffer in whole | over | set(parts):
            sizes[buffer] = 0
        steps: list[LayerStep] = []
        for number, step in enumerate(self.steps):
            home, all_ = names.get(number, step.writes), parts.get(step.writes, [])
            read = [part for each in step.reads for part in (each, *parts.get(each, ()))]
            read += all_ if number not in names else []
            drops = self.is_whole(step) and number in claimants
            over_ = () if drops else step.overwrites
            span = step.span if sizes[home] == self.sizes[step.writes] else (0, sizes[home])
            steps.append(LayerStep(step.before, tuple(read), home, span, over_, step.extra))
        kept = {part for home in self.kept for part in parts.get(home, ())}
        return LayerGraph(tuple(sizes), tuple(steps), self.kept | kept)

    def is_whole(self, step: LayerStep) -> bool:
        """Whether a step writes all of its buffer."""
        return step.span == (0, self.sizes[step.writes])

    def live_at_start(self) -> int:
        """Bytes that are live before the first step: buffers that no step writes."""
        return sum(
            size
            for size, writers, users in zip(self.sizes, self.writers, self.users, strict=True)
            if not writers and users
        )

    @cached_property
    def costs(self) -> tuple[Cost, ...]:
        """What `run` needs of each step."""
        return tuple(map(self.cost, range(len(self.steps))))

    def cost(self, number: int) -> Cost:
        """The cost of a step."""
        step = self.steps[number]
        alone = [each for each in self.touched[number] if self.single[each]]
        return Cost(
            1 << number,
            self.sizes[step.writes] if self.single[step.writes] else None,
            tuple((self.users[each], self.sizes[each]) for each in alone),
            tuple(each for each in self.touched[number] if not self.single[each]),
            tuple((self.users[each], self.sizes[each]) for each in step.overwrites),
            step.extra,
            tuple(
                (each, 1 << claimant, self.users[each] & ~(1 << claimant))
                for each in self.touched[number]
                for claimant in self.claims.get(each, ())
                if claimant != number
            ),
        )

    @cached_property
    def claims(self) -> Mapping[int, tuple[int, ...]]:
        """The steps that may overwrite a buffer with a part of a concatenation, by the buffer."""
        found: dict[int, tuple[int, ...]] = {}
        for number, step in enumerate(self.steps):
            for each in step.overwrites:
                if not self.single[step.writes]:
                    found[each] = (*found.get(each, ()), number)
        return found

    def spoils(self, number: int, done: int, apart: frozenset[int]) -> bool:
        """Whether a part of a concatenation must overwrite one of some buffers after a step."""
        after = done | 1 << number
        return any(
            buffer in apart and not after & claimant and others & after == others
            for buffer, claimant, others in self.costs[number].spoils
        )

    def run(self, number: int, done: int, live: int) -> tuple[int, int]:
        """Bytes in use while a step runs, and those live after it.

        The steps in `done` have run, and `live` bytes are live. What the step overwrites counts
        from now on as a part of the buffer that it writes.
        """
        bit, growth, alone, shared, overwrites, extra, _ = self.costs[number]
        after = done | bit
        if growth is None:
            home = self.steps[number].writes
            growth = self.hull(home, after) - self.hull(home, done)
        room = 0
        for users, size in overwrites:
            if users & after == users:
                room = size
                break
        left = live + growth
        for users, size in alone:
            if users & after == users:
                left -= size
        for each in shared:
            if not self.users[each] & ~after:
                left -= self.hull(each, after)
        return live + growth - room + extra, left

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes in use at a time if the steps run in an order."""
        return max(self.profile(order), default=0)

    def profile(self, order: Sequence[int]) -> list[int]:
        """The bytes in use while each step runs, in an order."""
        place = {number: at for at, number in enumerate(order)}
        begins: list[list[tuple[int, Span]]] = [[] for _ in order]
        last: dict[int, int] = {}
        for buffer, (home, within) in enumerate(self.homes(order)):
            for at, span in self.fills(buffer, place):
                begins[at].append((home, span if within is None else within))
            ends = [place.get(each, len(order)) for each in members(self.users[buffer])]
            last[home] = max([last.get(home, -1), *ends])
        hulls: dict[int, Span] = {}
        found: list[int] = []
        for at, number in enumerate(order):
            for home, (start, end) in begins[at]:
                old = hulls.get(home, (start, end))
                hulls[home] = min(old[0], start), max(old[1], end)
            used = sum(end - start for start, end in hulls.values())
            found.append(used + self.steps[number].extra)
            hulls = {home: hull for home, hull in hulls.items() if last[home] > at}
        return found

    def begun_early(self, order: Sequence[int], limit: int) -> frozenset[int]:
        """Buffers that a part of a concatenation overwrites, and so begin the concatenation's.

        Only those that live while more than `limit` bytes are in use.
        """
        place = {number: at for at, number in enumerate(order)}
        high = [at for at, used in enumerate(self.profile(order)) if used > limit]
        return frozenset(
            buffer
            for buffer, (_, within) in enumerate(self.homes(order))
            if within is not None
            and any(
                min(map(place.__getitem__, members(self.writers[buffer])), default=0) <= at
                and at < max(place.get(each, 0) for each in members(self.users[buffer]))
                for at in high
            )
        )

    def fills(self, buffer: int, place: Mapping[int, int]) -> Iterator[tuple[int, Span]]:
        """When which bytes of a buffer come into use; `place` is that of each step in the order."""
        if not self.writers[buffer] and self.users[buffer]:
            yield 0, (0, self.sizes[buffer])
        for writer in members(self.writers[buffer]):
            start, end = self.steps[writer].span
            if start < end:
                yield place[writer], (start, end)

    def homes(self, order: Sequence[int]) -> list[tuple[int, Span | None]]:
        """The buffer in which each buffer lies in the end, and where; None: in its own bytes."""
        place = {number: at for at, number in enumerate(order)}
        found: list[tuple[int, Span | None]] = [(each, None) for each in range(len(self.sizes))]
        for number in reversed(order):
            self.put_over(found, number, place)
        return found

    def put_over(
        self, found: list[tuple[int, Span | None]], number: int, place: Mapping[int, int]
    ) -> None:
        """Put the map that a step overwrites where the step writes; see `homes`.

        That is the first one with no reader behind the step. `place` is that of each step.
        """
        step = self.steps[number]
        for buffer in step.overwrites:
            readers = members(self.users[buffer])
            if max((place.get(each, len(place)) for each in readers), default=-1) <= place[number]:
                home, span = found[step.writes]
                if span is None and not self.single[step.writes]:
                    span = step.span
                found[buffer] = home, span
                break


def sets(count: int, used: Iterable[Iterable[int]]) -> tuple[int, ...]:
    """For each of `count` things the set of the places in `used` that name it."""
    found = [0] * count
    for place, things in enumerate(used):
        for each in things:
            found[each] |= 1 << place
    return tuple(found)


def members(numbers: int) -> Iterator[int]:
    """The numbers in a set, ascending."""
    while numbers:
        low = numbers & -numbers
        yield low.bit_length() - 1
        numbers ^= low
