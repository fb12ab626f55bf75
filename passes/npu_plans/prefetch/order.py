"""Starts loads earlier, and waits for stores later, as far as the memory allows. No IR in here.

    conv 1              start w2            A load starts in front of a step that computes, so that
    start w2       =>   conv 1              it runs meanwhile. A store is waited for behind the step
    wait w2             wait w2             that computes next. Both make buffers live longer.
    conv 2              conv 2

Loads keep their order: the one that is needed first starts first, since all share one bus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain

from npu_plans.prefetch.problem import Block, Lived, Span, Step, Touch, Transfer

MOST_STEPS = 400
"""How many steps a start or a wait may cross; it bounds the time of planning."""
MOST_RUNNING = 16
"""How many transfers of a block may run at a time, as an engine keeps a record of each. `npu_dma.h`
has 32 records: as many are left for the transfers of loops inside."""


@dataclass(frozen=True)
class Order:
    """The order in which the steps of a block are to run, and the offsets of its buffers."""

    steps: tuple[int, ...]
    offsets: tuple[int, ...]


def ordered(block: Block, capacity: int) -> Order:
    """The steps of a block in the order in which they are to run.

    `capacity`: the bytes on chip. In a first round each transfer gets one step that computes beside
    it, in a second one as many as it takes to hide it. In the end, loads that are waited for one
    after the other start together.
    """
    plan = Plan(block, capacity)
    loads = [each for each in block.transfers if each.load]
    stores = [each for each in block.transfers if not each.load]
    for deep in (False, True):
        for each in loads:
            plan.start_earlier(each, deep=deep)
        for each in stores:
            plan.wait_later(each, deep=deep)
    for each in loads:
        plan.start_together(each)
    return Order(tuple(plan.order), tuple(plan.offsets))


class Plan:
    """The order so far, and where the buffers lie."""

    def __init__(self, block: Block, capacity: int) -> None:
        """Begin with the given order."""
        self.block = block
        self.capacity = capacity
        self.order = list(range(len(block.steps)))
        self.place = list(self.order)
        self.offsets = [buffer.offset for buffer in block.buffers]
        self.loads = {each.start: each for each in block.transfers if each.load}
        self.waits = {each.wait for each in block.transfers}
        self.buffers: dict[int, list[int]] = {}
        for number, buffer in enumerate(block.buffers):
            for step in buffer.uses:
                self.buffers.setdefault(step, []).append(number)
        self.lives = [self.life(number) for number in range(len(block.buffers))]
        starts = {each.start for each in block.transfers}
        self.changes = [(n in starts) - (n in self.waits) for n in range(len(block.steps))]
        self.running = [0] * len(self.order)
        self.count(0, len(self.order))

    def count(self, first: int, end: int) -> None:
        """Count the transfers that run behind each step, for the steps at some places."""
        now = self.running[first - 1] if first else 0
        for place in range(first, end):
            now += self.changes[self.order[place]]
            self.running[place] = now

    def may_run(self, places: range) -> bool:
        """Whether one more transfer may run from the first of these places to the last."""
        return max(self.running[max(0, places.start - 1) : places.stop], default=0) < MOST_RUNNING

    def life(self, buffer: int) -> range:
        """The places at which a buffer lives."""
        places = [self.place[step] for step in self.block.buffers[buffer].uses]
        return range(min(places), max(places) + 1) if places else range(0)

    def start_earlier(self, transfer: Transfer, *, deep: bool) -> None:
        """Start a load before a step that computes, if that is possible.

        With `deep`, before as many steps as take as long as the load.
        """
        beside = self.work(self.place[transfer.start], self.place[transfer.wait], spare=deep)
        cycles = transfer.cycles if deep else 1
        group, taken, to = [transfer.start], 0, self.place[transfer.start]
        for step, place in self.before(transfer, group):
            if beside >= cycles:
                break
            if step.work:
                places = range(place, self.place[transfer.start])
                if not (self.may_run(places) and self.makes_room(transfer.start, places)):
                    break
                beside += step.spare if deep else step.work
                taken, to = len(group), place
        if taken:
            self.move(group[:taken][::-1], to)

    def start_together(self, transfer: Transfer) -> None:
        """Start a load before the waits in front of it, up to the last step that computes."""
        group, taken, to = [transfer.start], 0, self.place[transfer.start]
        for step, place in self.before(transfer, group):
            if step.work:
                break
            if self.order[place] in self.waits:
                places = range(place, self.place[transfer.start])
                if not (self.may_run(places) and self.makes_room(transfer.start, places)):
                    break
                taken, to = len(group), place
        if taken:
            self.move(group[:taken][::-1], to)

    def before(self, transfer: Transfer, group: list[int]) -> Iterator[tuple[Step, int]]:
        """The steps that the start of a load may cross, the last one first, and their places.

        The steps that compute its addresses are not among them: they become part of `group`.
        """
        first, touches = self.place[transfer.start], self.touches(transfer)
        for place in range(first - 1, max(-1, first - MOST_STEPS), -1):
            number = self.order[place]
            step = self.block.steps[number]
            needed = any(number in self.block.steps[each].needs for each in group)
            if step.light and needed:
                group.append(number)
            elif needed or step.fixed or self.comes_first(number, transfer) or step.meets(touches):
                return
            else:
                yield step, place

    def wait_later(self, transfer: Transfer, *, deep: bool) -> None:
        """Wait for a store behind a step that computes, if that is possible.

        With `deep`, behind as many steps as take as long as the store.
        """
        last, touches = self.place[transfer.wait], self.touches(transfer)
        beside = self.work(self.place[transfer.start], last, spare=deep)
        cycles, to = transfer.cycles if deep else 1, last
        for place in range(last + 1, min(len(self.order), last + MOST_STEPS)):
            if beside >= cycles:
                break
            step = self.block.steps[self.order[place]]
            if step.fixed or step.meets(touches):
                break
            if step.work:
                places = range(last + 1, place + 1)
                if not (self.may_run(places) and self.makes_room(transfer.start, places)):
                    break
                beside += step.spare if deep else step.work
                to = place
        if to != last:
            self.move([transfer.wait], to + 1)

    def comes_first(self, number: int, transfer: Transfer) -> bool:
        """Whether a step starts a load that is needed earlier than another one."""
        other = self.loads.get(number)
        return other is not None and bool(
            self.work(self.place[other.wait], self.place[transfer.wait])
        )

    def touches(self, transfer: Transfer) -> Sequence[Touch]:
        """What a transfer reads and writes."""
        return self.block.steps[transfer.start].touches

    def work(self, first: int, last: int, *, spare: bool = False) -> int:
        """How long the steps between two places compute; with `spare`, while the bus is free."""
        between = (self.block.steps[number] for number in self.order[first + 1 : last])
        return sum(step.spare if spare else step.work for step in between)

    def makes_room(self, start: int, places: range) -> bool:
        """Whether the buffers of a transfer can also be in use at these places.

        A buffer in whose memory something else lives there is put where nothing lives during its
        longer life, or others make way. One that shares memory with another one already stays where
        it is.
        """
        for number in self.buffers.get(start, ()):
            buffer, life = self.block.buffers[number], self.lives[number]
            here = (self.offsets[number], self.offsets[number] + buffer.size)
            if not any(meet(here, other) for other in self.taken(number, places)):
                continue
            if any(meet(here, other) for other in self.taken(number, life)):
                return False
            longer = range(min(life.start, places.start), max(life.stop, places.stop))
            found = self.gap(number, self.taken(number, longer))
            if found is not None:
                self.offsets[number] = found
            elif not self.make_way(number, longer):
                return False
        return True

    def gap(self, number: int, taken: Sequence[Span]) -> int | None:
        """The lowest offset at which a buffer meets none of some spans; None without one."""
        buffer = self.block.buffers[number]
        return gap(taken, buffer, buffer.room or (0, self.capacity))

    def make_way(self, number: int, life: range) -> bool:
        """Whether a buffer can live longer if those that live then go elsewhere; they do if so.

        Large ones are put first, at the lowest offset; or the buffer itself and then large ones.
        """
        given, sizes = list(self.offsets), [each.size for each in self.block.buffers]
        others = [each for each in self.living(number, life) if self.can_move(each)]
        largest = sorted([number, *others], key=lambda each: -sizes[each])
        self.lives[number], before = life, self.lives[number]
        for moved in (largest, sorted(largest, key=lambda each: each != number)):
            if self.put(moved):
                return True
            self.offsets = list(given)
        self.lives[number] = before
        return False

    def put(self, moved: Sequence[int]) -> bool:
        """Put buffers one by one at the lowest offset; whether there is room for all of them."""
        waiting = set(moved)
        for each in moved:
            waiting.remove(each)
            offset = self.gap(each, self.taken(each, self.lives[each], waiting))
            if offset is None:
                return False
            self.offsets[each] = offset
        return True

    def can_move(self, number: int) -> bool:
        """Whether a buffer may go elsewhere: it shares no memory, and is no argument, for one."""
        life, offset = self.lives[number], self.offsets[number]
        here = (offset, offset + self.block.buffers[number].size)
        inner = len(life) < len(self.order)
        return inner and not any(meet(here, each) for each in self.taken(number, life))

    def living(self, number: int, places: range) -> list[int]:
        """The other buffers than one that live at these places."""
        return [
            other
            for other, life in enumerate(self.lives)
            if other != number and life.start < places.stop and places.start < life.stop
        ]

    def taken(
        self, number: int, places: range, without: AbstractSet[int] = frozenset()
    ) -> list[Span]:
        """The memory in which other buffers than some live at these places."""
        others = self.living(number, places)
        parts = (self.used(other, places.stop) for other in others if other not in without)
        spans = set(chain.from_iterable(parts))
        for step in self.order[places.start : places.stop]:
            spans.update(self.block.steps[step].inside)
        return sorted(spans)

    def used(self, number: int, stop: int) -> list[Span]:
        """The memory of a buffer that is in use in front of a place: its parts, or all of it."""
        buffer, offset = self.block.buffers[number], self.offsets[number]
        parts = [part for step, part in buffer.fills if self.place[step] < stop]
        return [(offset + first, offset + end) for first, end in parts or [(0, buffer.size)]]

    def move(self, group: Sequence[int], to: int) -> None:
        """Move steps, in their order, in front of the step that is now at place `to`."""
        places = [self.place[step] for step in group]
        first, end = min(to, *places), max(to, *(place + 1 for place in places))
        moved = frozenset(group)
        before = [number for number in self.order[first:to] if number not in moved]
        behind = [number for number in self.order[to:end] if number not in moved]
        self.order[first:end] = [*before, *group, *behind]
        changed: set[int] = set()
        for place in range(first, end):
            self.place[self.order[place]] = place
            changed.update(self.buffers.get(self.order[place], ()))
        self.count(first, end)
        for number in changed:
            self.lives[number] = self.life(number)


def meet(one: Span, other: Span) -> bool:
    """Whether two spans share a byte."""
    return one[0] < other[1] and other[0] < one[1]


def gap(taken: Sequence[Span], buffer: Lived, room: Span) -> int | None:
    """The lowest offset in a memory at which a buffer meets none of some spans; None without one.

    The memory begins at a multiple of the buffer's alignment.
    """
    at, last = room[0], room[1] - buffer.size
    for start, end in sorted(taken):
        if start >= at + buffer.size:
            break
        at = max(at, -(-end // buffer.alignment) * buffer.alignment)
    return at if at <= last else None
