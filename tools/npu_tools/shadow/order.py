"""Checks the accesses of a nest against the owners of bytes, and makes the writers owners.

Most bytes need no order: those that one buffer alone writes and reads, and those that are only
read. For the others, the first and last tick at which each buffer uses a byte are compared. If two
buffers use a byte in turns, the nest is too coarse to decide, and has to be taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from npu_tools.shadow.faults import Fault, Faults, place_of
from npu_tools.shadow.memory import Buffer, Bytes, Memory
from npu_tools.shadow.nest import Access, Nest

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Place:
    """A buffer, and the byte of it at which a view starts."""

    buffer: Buffer
    start: int

    @property
    def address(self) -> int:
        """The byte of the memory at which the view starts."""
        return self.buffer.base + self.start


@dataclass
class World:
    """All that a check knows: the faults, and the names of buffers and statements by number.

    `indexed`: the numbers of buffers that are the index of a map of which a part has been stored.
    """

    faults: Faults
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    writers: list[str] = field(default_factory=lambda: ["the caller"])
    transfers: list[str] = field(default_factory=lambda: [""])
    indexed: set[int] = field(default_factory=set[int])

    def buffer(
        self,
        name: str,
        memory: Memory | None,
        base: int,
        size: int,
        data: NDArray[np.generic] | None = None,
    ) -> Buffer:
        """A new buffer."""
        self.buffers.append(Buffer(name, len(self.buffers) + 1, memory, base, size, data))
        return self.buffers[-1]

    def writer(self, text: str) -> int:
        """The number of a statement that writes; that of the last one if it is the same."""
        if self.writers[-1] != text:
            self.writers.append(text)
        return len(self.writers) - 1

    def lost(self, memory: Memory, byte: int) -> str:
        """Why a byte is not that of the buffer that reads it."""
        owner = int(memory.owner[byte])
        if not owner:
            return "never written"
        buffer, writer = self.buffers[owner - 1], self.writers[int(memory.writer[byte])]
        return f"overwritten by {buffer.name} in {writer}"


@dataclass(frozen=True)
class Use:
    """The bytes of a memory that one buffer reads or writes, and the ports by which it does."""

    buffer: Buffer
    writes: bool
    bytes: Bytes
    ports: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Step:
    """A nest with the places of its ports, and where it stands in the program."""

    nest: Nest
    places: Mapping[SSAValue, Place]
    context: str

    def uses(self) -> Sequence[Use]:
        """What each buffer reads and writes; of constants only what is written."""
        parts: dict[tuple[Buffer, bool], list[tuple[SSAValue, Bytes]]] = {}
        for (port, writes), found in self.nest.touched.items():
            place = self.places[port]
            parts.setdefault((place.buffer, writes), []).append((port, found + place.address))
        return [
            Use(
                buffer,
                writes,
                np.unique(np.concatenate([each for _, each in found]))
                if len(found) > 1
                else found[0][1],
                tuple(port for port, _ in found),
            )
            for (buffer, writes), found in parts.items()
        ]

    def culprit(self, use: Use, byte: int) -> Operation:
        """An op that uses a byte."""
        for access in self.nest.accesses:
            if access.port in use.ports and access.writes == use.writes:
                if byte - self.places[access.port].address in access.bytes():
                    return access.op
        raise AssertionError("one of the accesses has touched the byte")

    def fault(self, use: Use, byte: int, what: str) -> Fault:
        """A fault at a byte of the memory."""
        verb = "write" if use.writes else "read"
        where = f"{verb} by {place_of(self.culprit(use, byte))}{self.context}"
        return Fault(where, use.buffer.name, byte - use.buffer.base, what)


def settle(world: World, step: Step, writer: str, *, is_single: bool) -> bool:
    """Check a step and apply its writes; False, without an effect, if it must be taken apart.

    `is_single` says that this is not possible. `writer` names the step. Faults go to the world.
    """
    uses = [inside(world, step, use) for use in step.uses()]
    memories = dict.fromkeys(use.buffer.memory for use in uses if use.buffer.memory is not None)
    plans = [Plan(memory, [u for u in uses if u.buffer.memory is memory]) for memory in memories]
    if not is_single and not all(plan.is_decided(step) for plan in plans):
        return False
    for plan in plans:
        plan.apply(world, step, writer)
    return True


def inside(world: World, step: Step, use: Use) -> Use:
    """The use without bytes that lie outside of the buffer, which are faults."""
    buffer = use.buffer
    if buffer.memory is None:
        world.faults.add(step.fault(use, int(use.bytes[0]), "a write to a constant"))
        return use
    if not use.bytes.size:
        return use
    high = min(buffer.base + buffer.size, buffer.memory.size)
    wrong = (use.bytes < max(buffer.base, 0)) | (use.bytes >= high)
    if not wrong.any():
        return use
    what = f"outside of the buffer of {buffer.size} bytes in {buffer.memory.name}"
    world.faults.add(step.fault(use, int(use.bytes[wrong][0]), what))
    return Use(buffer, use.writes, use.bytes[~wrong], use.ports)


class Plan:
    """What a step does to one memory."""

    def __init__(self, memory: Memory, uses: Sequence[Use]) -> None:
        """Find the bytes that need no order."""
        self.memory = memory
        self.known: Order | None = None
        self.reads = [use for use in uses if not use.writes and use.bytes.size]
        self.writes = [use for use in uses if use.writes and use.bytes.size]
        ends = [(use.bytes[0], use.bytes[-1]) for use in (*self.reads, *self.writes)]
        self.low = int(min((low for low, _ in ends), default=0))
        size = int(max((high for _, high in ends), default=-1)) + 1 - self.low
        self.who = np.zeros(size, np.int32)
        """The buffer that becomes the owner, or 0."""
        self.open = np.zeros(size, np.bool_)
        """The bytes that need an order."""
        for use in self.writes:
            at = use.bytes - self.low
            self.open[at] |= self.who[at] > 0
            self.who[at] = use.buffer.number
        for use in self.reads:
            at, owner = use.bytes - self.low, memory.owner[use.bytes]
            here = self.who[at]
            is_own = owner == use.buffer.number
            fine = (here == 0) | (is_own & (here == use.buffer.number))
            self.open[at] |= ~fine

    def is_decided(self, step: Step) -> bool:
        """Whether no two buffers use a byte in turns."""
        order = self.order(step)
        return order is None or bool(order.is_fine.all())

    def order(self, step: Step) -> Order | None:
        """The order of the bytes that need one."""
        if self.known is None and self.open.any():
            self.known = Order(self, step)
        return self.known

    def apply(self, world: World, step: Step, writer: str) -> None:
        """Note the faults, and apply the writes."""
        memory, order = self.memory, self.order(step)
        for use in self.reads:
            at = use.bytes
            wrong = (memory.owner[at] != use.buffer.number) & ~self.open[at - self.low]
            self.report(world, step, use, at[wrong], lambda byte: world.lost(memory, byte))
            self.report(
                world, step, use, at[memory.target[at] > 0], lambda byte: self.busy(world, byte)
            )
            if order is not None:
                broken = np.zeros(self.open.size, np.bool_)
                broken[order.wanted] = ~order.is_fine
                self.report(
                    world,
                    step,
                    use,
                    at[broken[at - self.low]],
                    lambda byte: self.turns(world, use, byte),
                )
        for use in self.writes:
            at = use.bytes
            self.report(
                world, step, use, at[memory.target[at] > 0], lambda byte: self.busy(world, byte)
            )
            self.report(
                world,
                step,
                use,
                at[memory.sources[at] > 0],
                lambda _: "the source of a running transfer",
            )
        if order is not None:
            self.who[order.wanted] = order.owners
        changed = np.flatnonzero(self.who)
        memory.owner[changed + self.low] = self.who[changed]
        memory.writer[changed + self.low] = world.writer(writer)

    def report(
        self, world: World, step: Step, use: Use, wrong: Bytes, what: Callable[[int], str]
    ) -> None:
        """Note the first of some wrong bytes."""
        if wrong.size:
            world.faults.add(step.fault(use, int(wrong[0]), what(int(wrong[0]))))

    def busy(self, world: World, byte: int) -> str:
        """What a byte is that a running transfer writes."""
        transfer = world.transfers[int(self.memory.target[byte])]
        return f"the target of a transfer that nobody has waited for: {transfer}"

    def turns(self, world: World, use: Use, byte: int) -> str:
        """Why a byte whose accesses have a wrong order is not that of the buffer that reads it."""
        others = [
            other.buffer.name
            for other in self.writes
            if other.buffer is not use.buffer and byte in other.bytes
        ]
        if others:
            return f"overwritten by {' and '.join(others)} in the same op"
        return world.lost(self.memory, byte)


@dataclass
class Interval:
    """When a buffer uses each open byte: the ticks of its first use, last use, and first write."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    written: NDArray[np.int64]


class Order:
    """The order in which buffers use the open bytes of a plan.

    `wanted` are these bytes, from the plan's lowest byte on. `is_fine` says that buffers use a byte
    one after the other, each with a write first; only the owner may start with a read. `owners` are
    the buffers that use the bytes last, or 0 where nothing changes.
    """

    def __init__(self, plan: Plan, step: Step) -> None:
        """Compare the ticks."""
        self.plan, self.step = plan, step
        self.wanted = np.flatnonzero(plan.open)
        self.slot = np.full(plan.open.size, -1, np.int64)
        self.slot[self.wanted] = np.arange(self.wanted.size)
        intervals = self.intervals()
        size = self.wanted.size
        self.is_fine = np.ones(size, np.bool_)
        self.owners = np.zeros(size, np.int32)
        before = plan.memory.owner[self.wanted + plan.low]
        numbers = np.array([buffer.number for buffer in intervals])
        firsts = np.stack([each.first for each in intervals.values()])
        order = np.argsort(firsts, axis=0, kind="stable")
        ended = np.full(size, -1, np.int64)
        columns = np.arange(size)
        lasts = np.stack([each.last for each in intervals.values()])
        written = np.stack([each.written for each in intervals.values()])
        for row in order:
            first, last, write = firsts[row, columns], lasts[row, columns], written[row, columns]
            is_used = first < NEVER
            starts_well = (write == first) | ((ended < 0) & (before == numbers[row]))
            self.is_fine &= ~is_used | ((first > ended) & starts_well)
            self.owners = np.where(is_used & (write < NEVER), numbers[row], self.owners).astype(
                np.int32
            )
            ended = np.where(is_used, last, ended)

    def intervals(self) -> Mapping[Buffer, Interval]:
        """The interval of each buffer of the plan's memory."""
        found: dict[Buffer, Interval] = {}
        size = self.wanted.size
        for access in self.step.nest.accesses:
            place = self.step.places[access.port]
            if place.buffer.memory is not self.plan.memory:
                continue
            interval = found.get(place.buffer)
            if interval is None:
                never = np.full(size, NEVER)
                interval = found[place.buffer] = Interval(never, np.full(size, -1), never.copy())
            self.note(access, place.address - self.plan.low, interval)
        return found

    def note(self, access: Access, shift: int, interval: Interval) -> None:
        """Add the ticks of an access to the interval of its buffer."""
        positions, mask = access.positions()
        positions = positions + shift
        for byte in range(access.width):
            at = positions + byte
            slots = np.where(
                (at >= 0) & (at < self.slot.size), self.slot[np.clip(at, 0, self.slot.size - 1)], -1
            )
            lanes = slots >= 0 if mask is None else (slots >= 0) & mask
            where = np.nonzero(lanes)
            if not where[0].size:
                continue
            hit = slots[lanes]
            early, late = ticks(access, positions.shape, where)
            first, last = np.full_like(interval.first, NEVER), np.full_like(interval.last, -1)
            first[hit[::-1]] = early[::-1]
            last[hit] = late
            np.minimum(interval.first, first, out=interval.first)
            np.maximum(interval.last, last, out=interval.last)
            if access.writes:
                np.minimum(interval.written, first, out=interval.written)


def ticks(
    access: Access, shape: Sequence[int], where: Sequence[NDArray[np.intp]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and last tick of an access at some of its positions.

    Loops along which nothing changes have an axis of length 1.
    """
    size = where[0].size if where else 1
    early, late = np.full(size, access.tick), np.full(size, access.tick)
    for axis, extent, indices in zip(access.axes, shape, where, strict=True):
        early += axis.start + indices * axis.ticks
        late += axis.start + indices * axis.ticks
        if extent == 1:
            late += (axis.count - 1) * axis.ticks
    return early, late
