"""The order of a block's steps as it changes, and where its buffers lie. No IR in here.

Steps move one by one, or in groups, as far as data, memory and the records of transfers allow:

    conv 1              address of w2       A start takes the steps along that compute its
    address of w2  =>   start w2            addresses. Buffers live longer then, where there is
    start w2            conv 1              room, or where others make way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from npu_plans.prefetch.problem import Block, Lived, Span, Step, Touch, Transfer

Ints = npt.NDArray[np.int64]

Part: TypeAlias = tuple[Span, range]
"""A part of a buffer, in bytes from its start, and the places at which it is in use."""

MOST_STEPS = 400
"""How many steps a start or a wait may cross; it bounds the time of planning."""
MOST_RUNNING = 16
"""How many transfers of a block may run at a time, as an engine keeps a record of each. `npu_dma.h`
has 32 records: as many are left for the transfers of loops inside."""


@dataclass(frozen=True)
class Saved:
    """A plan as it was."""

    order: tuple[int, ...]
    place: tuple[int, ...]
    offsets: tuple[int, ...]
    lives: Ints
    parts: tuple[Sequence[Part], ...]
    running: tuple[int, ...]


class Plan:
    """The order so far, and where the buffers lie."""

    def __init__(self, block: Block, capacity: int) -> None:
        """Begin with the given order."""
        self.block = block
        self.capacity = capacity
        self.fine = False
        """Whether parts of buffers are free behind their last use, and a transfer needs memory for
        its part only. Otherwise, a part that is in use once stays so, and a buffer is put as a
        whole."""
        self.order = list(range(len(block.steps)))
        self.place = list(self.order)
        self.offsets = [buffer.offset for buffer in block.buffers]
        self.starts = {each.start: each for each in block.transfers}
        self.waits = {each.wait for each in block.transfers}
        self.buffers: dict[int, list[int]] = {}
        for number, buffer in enumerate(block.buffers):
            for step in buffer.uses:
                self.buffers.setdefault(step, []).append(number)
        self.lives = np.zeros((len(block.buffers), 2), np.int64)
        """The first place at which each buffer lives, and the one behind the last."""
        self.parts: list[Sequence[Part]] = [() for _ in block.buffers]
        """The parts of buffers that are not in use as a whole; none for the others."""
        for number in range(len(block.buffers)):
            self.set_life(number, self.life(number))
        self.nested = [number for number, step in enumerate(block.steps) if step.inside]
        self.changes = [(n in self.starts) - (n in self.waits) for n in range(len(block.steps))]
        self.running = [0] * len(self.order)
        self.count(0, len(self.order))

    def saved(self) -> Saved:
        """The plan as it is now."""
        return Saved(
            tuple(self.order),
            tuple(self.place),
            tuple(self.offsets),
            self.lives.copy(),
            tuple(self.parts),
            tuple(self.running),
        )

    def restore(self, saved: Saved) -> None:
        """Go back to a plan from before."""
        self.order[:], self.place[:], self.offsets[:] = saved.order, saved.place, saved.offsets
        self.lives, self.parts[:] = saved.lives.copy(), saved.parts
        self.running[:] = saved.running

    def count(self, first: int, end: int) -> None:
        """Count the transfers that run behind each step, for the steps at some places."""
        now = self.running[first - 1] if first else 0
        for place in range(first, end):
            now += self.changes[self.order[place]]
            self.running[place] = now

    def can_live(self, transfer: Transfer, places: range) -> bool:
        """Whether a transfer may run at these places, too, and its buffers live there."""
        return self.may_run(places) and self.makes_room(transfer, places)

    def may_run(self, places: range) -> bool:
        """Whether one more transfer may run from the first of these places to the last."""
        return max(self.running[max(0, places.start - 1) : places.stop], default=0) < MOST_RUNNING

    def lived(self, buffer: int) -> range:
        """The places at which a buffer lives."""
        first, stop = self.lives[buffer].tolist()
        return range(first, stop)

    def set_life(self, buffer: int, places: range, *, whole: bool = False) -> None:
        """Let a buffer live at some places; with `whole`, all of it at each of them."""
        self.lives[buffer] = places.start, places.stop
        parts = () if whole else self.block.buffers[buffer].parts
        self.parts[buffer] = [(part, self.between(steps)) for part, steps in parts]

    def between(self, steps: Sequence[int]) -> range:
        """The places from the first to the last of some steps."""
        places = [self.place[step] for step in steps]
        return range(min(places), max(places) + 1) if places else range(0)

    def life(self, buffer: int) -> range:
        """The places between the uses of a buffer."""
        return self.between(self.block.buffers[buffer].uses)

    def before(
        self, transfer: Transfer, group: list[int], *, in_turn: bool = True
    ) -> Iterator[tuple[Step, int]]:
        """The steps that the start of a load may cross, the last one first, and their places.

        The steps that compute its addresses are not among them: they become part of `group`. With
        `in_turn` it crosses no start of a load that is needed earlier.
        """
        first, touches = self.place[transfer.start], self.touches(transfer)
        for place in range(first - 1, max(-1, first - MOST_STEPS), -1):
            number = self.order[place]
            step = self.block.steps[number]
            needed = any(number in self.block.steps[each].needs for each in group)
            if step.light and needed:
                group.append(number)
            elif needed or step.fixed or step.meets(touches):
                return
            elif in_turn and self.comes_first(number, transfer):
                return
            else:
                yield step, place

    def behind(self, transfer: Transfer) -> Iterator[tuple[Step, int]]:
        """The steps that the wait of a store may cross, the next one first, and their places."""
        first, touches = self.place[transfer.wait], self.touches(transfer)
        for place in range(first + 1, min(len(self.order), first + MOST_STEPS)):
            step = self.block.steps[self.order[place]]
            if step.fixed or step.meets(touches):
                return
            yield step, place

    def comes_first(self, number: int, transfer: Transfer) -> bool:
        """Whether a step starts a load that is needed earlier than another one."""
        other = self.starts.get(number)
        if other is None or not other.load:
            return False
        return bool(self.work(self.place[other.wait], self.place[transfer.wait]))

    def start_before(self, load: Transfer, number: int) -> bool:
        """Start a load in front of a step that it may cross; whether that is possible."""
        group, to = [load.start], self.place[number]
        for _, place in self.before(load, group, in_turn=False):
            if place == to:
                if not self.can_live(load, range(to, self.place[load.start])):
                    return False
                self.move(group[::-1], to)
                return True
        return False

    def touches(self, transfer: Transfer) -> Sequence[Touch]:
        """What a transfer reads and writes."""
        return self.block.steps[transfer.start].touches

    def work(self, first: int, last: int, *, spare: bool = False) -> int:
        """How long the steps between two places compute; with `spare`, while the bus is free."""
        between = (self.block.steps[number] for number in self.order[first + 1 : last])
        return sum(step.spare if spare else step.work for step in between)

    def makes_room(self, transfer: Transfer, places: range) -> bool:
        """Whether the buffers of a transfer can also be in use at these places.

        A buffer in whose memory something else lives there is put where nothing lives during its
        longer life, or others make way. One that shares memory with another one already stays where
        it is. What counts is the part of the buffer that the transfer loads or stores.
        """
        for number in self.buffers.get(transfer.start, ()):
            buffer, life = self.block.buffers[number], self.lived(number)
            taken = self.taken(number, places)
            if not any(meet(one, other) for one in self.moved(number, transfer) for other in taken):
                continue
            here = (self.offsets[number], self.offsets[number] + buffer.size)
            if any(meet(here, other) for other in self.taken(number, life)):
                return False
            longer = range(min(life.start, places.start), max(life.stop, places.stop))
            found = self.gap(number, self.taken(number, longer))
            if found is not None:
                self.offsets[number] = found
            elif not self.make_way(number, longer):
                return False
        return True

    def moved(self, number: int, transfer: Transfer) -> list[Span]:
        """The memory of a buffer that a transfer loads or stores: some of its parts, or all."""
        buffer, offset = self.block.buffers[number], self.offsets[number]
        parts = [part for part, steps in buffer.parts if self.fine and transfer.start in steps]
        return [(offset + first, offset + end) for first, end in parts or [(0, buffer.size)]]

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
        before = self.lived(number)
        self.set_life(number, life, whole=True)
        for moved in (largest, sorted(largest, key=lambda each: each != number)):
            if self.put(moved):
                return True
            self.offsets = list(given)
        self.set_life(number, before)
        return False

    def put(self, moved: Sequence[int]) -> bool:
        """Put buffers one by one at the lowest offset; whether there is room for all of them."""
        waiting = set(moved)
        for each in moved:
            waiting.remove(each)
            offset = self.gap(each, self.taken(each, self.lived(each), waiting))
            if offset is None:
                return False
            self.offsets[each] = offset
        return True

    def can_move(self, number: int) -> bool:
        """Whether a buffer may go elsewhere: it shares no memory, and is no argument, for one."""
        life, offset = self.lived(number), self.offsets[number]
        here = (offset, offset + self.block.buffers[number].size)
        inner = len(life) < len(self.order)
        return inner and not any(meet(here, each) for each in self.taken(number, life))

    def living(self, number: int, places: range) -> list[int]:
        """The other buffers than one that live at these places."""
        first, stop = self.lives.T
        found = np.flatnonzero((first < places.stop) & (places.start < stop))
        return [other for other in found.tolist() if other != number]

    def taken(
        self, number: int, places: range, without: AbstractSet[int] = frozenset()
    ) -> list[Span]:
        """The memory in which other buffers than some live at these places."""
        others = self.living(number, places)
        parts = (self.used(other, places) for other in others if other not in without)
        spans = set(chain.from_iterable(parts))
        for step in self.nested:
            if self.place[step] in places:
                spans.update(self.block.steps[step].inside)
        return sorted(spans)

    def used(self, number: int, places: range) -> list[Span]:
        """The memory of a buffer that is in use at some of these places: parts of it, or all."""
        offset = self.offsets[number]
        if not (parts := self.parts[number]):
            return [(offset, offset + self.block.buffers[number].size)]
        return [
            (offset + first, offset + end)
            for (first, end), lived in parts
            if lived.start < places.stop and (not self.fine or places.start < lived.stop)
        ]

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
            self.set_life(number, self.life(number))


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
