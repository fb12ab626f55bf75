"""Runs a PL-330 program on an abstract state, for `pl330-check`.

    State(ccr, request, held, locked, sar, dar, dirty)

All errors but one depend on little of this state: the CCR, the bytes in the MFIFO, where addresses
lie within a beat. If a loop reaches such a state for the second time, its further rounds repeat
what was seen, with other addresses, and they are not run. What depends on whole addresses is
whether a burst crosses a page: each burst is noted with the loops around it (`BurstSeries`), and in
the end all rounds are checked at once. A run of more than MOST_STEPS instructions is given up.

If a burst begins at an address that is not aligned to its beat, the first beat is shorter. QEMU's
model does the same; `tests/passes/pl330/test_check.py` compares.

The MFIFO has lines as wide as the bus. The bytes of a channel lie in them as they will lie on the
bus when they are stored; so bytes for an address within a line take one line more, and beats for
one fixed address take a line each. A channel that loads holds a lock until it stores, waits or
ends, and only the channel with the lock loads. So each channel needs room for what it holds when it
takes the lock (`static_lines`), and one of them for the most that it ever holds (recalled from
Arm's manual DDI 0424, not checked).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from npu_dialect.pl330 import (
    AddOp,
    AnyLoopOp,
    Ccr,
    CcrAttr,
    EndOp,
    InstructionOp,
    KillOp,
    LdbOp,
    LdOp,
    LdpOp,
    LdsOp,
    LoopForeverOp,
    LoopOp,
    MovOp,
    RmbOp,
    SevOp,
    Side,
    StbOp,
    StOp,
    StpOp,
    StsOp,
    StzOp,
    WfeOp,
    WfpOp,
    WmbOp,
)
from npu_passes.pl330.controller import Controller
from npu_plans.transfers.pages import PAGE, BurstSeries, Repeat, first_crossing

MOST_STEPS = 2_000_000
"""Instructions that are run before the checker gives up."""

LOADS = (LdOp, LdsOp, LdbOp, LdpOp)
STORES = (StOp, StsOp, StbOp, StpOp, StzOp)
UNLOCKING = (*STORES, RmbOp, WmbOp, WfeOp, WfpOp, EndOp, KillOp)
"""The instructions with which a channel gives up the right to load."""
CONDITIONS: dict[type[InstructionOp], str] = {
    LdsOp: "single",
    LdbOp: "burst",
    StsOp: "single",
    StbOp: "burst",
}


class TooLong(Exception):
    """A program has run more than MOST_STEPS instructions."""


@dataclass(frozen=True)
class Address:
    """An address as an offset within its page, in bytes.

    If it is not `exact`, because it is patched at run time, only the offset within a beat is right.
    """

    offset: int
    exact: bool = True

    def plus(self, distance: int) -> Address:
        """The address `distance` bytes further on."""
        return replace(self, offset=(self.offset + distance) % PAGE)

    def within(self, unit: int) -> Address:
        """What is left of it if only the place within `unit` bytes matters."""
        return replace(self, offset=self.offset % unit)


@dataclass(frozen=True)
class State:
    """The state of a program between two instructions, as far as `pl330-check` needs it."""

    ccr: Ccr | None = None
    request: str | None = None
    """The kind of request that the last DMAWFP waited for: "single" or "burst"."""
    held: int = 0
    """Bytes in the MFIFO."""
    locked: bool = False
    """Whether the channel has the right to load."""
    sar: Address | None = None
    dar: Address | None = None
    dirty: bool = False
    """Whether there were stores since the last DMAWMB."""
    over: bool = False
    """Whether the program has ended, or is in a loop that never ends."""


def condition(op: InstructionOp) -> str | None:
    """The kind of request without which an instruction does nothing; None if there is none."""
    if isinstance(op, LdpOp | StpOp):
        return op.request.data
    return CONDITIONS.get(type(op))


@dataclass(frozen=True)
class Error:
    """What is wrong with an instruction, and how many were executed before it was found."""

    op: InstructionOp
    step: int
    message: str


@dataclass
class Runner:
    """One run of a program.

    `periph`: the kind of request that arrives at a DMAWFP that waits for either kind. `unit`: where
    addresses lie within so many bytes decides what bursts do.
    """

    controller: Controller
    periph: str
    unit: int
    steps: int = 0
    """Instructions that were run."""
    now: int = 0
    """Instructions that would have been executed, with those of rounds that were not run."""
    found: list[Error] = field(default_factory=list[Error])
    bursts: list[tuple[InstructionOp, str, BurstSeries]] = field(
        default_factory=list[tuple[InstructionOp, str, BurstSeries]]
    )
    """Each burst with its address register, if the address is known."""
    peak_lines: int = 0
    static_lines: int = 0

    def report(self, op: InstructionOp, message: str) -> None:
        """Note an error."""
        self.found.append(Error(op, self.now, message))

    def errors(self) -> list[Error]:
        """All errors of the run, the earliest one first."""
        crossings = (
            Error(
                op,
                crossing[0],
                f"expected a burst within {PAGE} bytes, got {series.size} bytes at {crossing[1]} "
                "of a page",
            )
            for op, _, series in self.bursts
            if (crossing := first_crossing(series)) is not None
        )
        return sorted((*crossings, *self.found), key=lambda error: error.step)

    def run(self, ops: Sequence[InstructionOp], state: State) -> State:
        """The state after some instructions.

        Raises: TooLong if the run has more than MOST_STEPS instructions.
        """
        for op in ops:
            if state.over:
                self.report(op, "expected nothing behind a loop that never ends")
                break
            self.steps += 1
            self.now += 1
            if self.steps > MOST_STEPS:
                raise TooLong
            state = self.loop(op, state) if isinstance(op, AnyLoopOp) else self.step(op, state)
        return state

    def loop(self, op: AnyLoopOp, state: State) -> State:
        """The state after a loop."""
        if op.while_request is not None and state.request is None and not waits(op):
            self.report(op, "expected a DMAWFP before what depends on its request")
        return self.rounds(op, op.count.value.data if isinstance(op, LoopOp) else None, state)

    def rounds(self, op: AnyLoopOp, rounds: int | None, state: State) -> State:
        """The state after `rounds` rounds of a loop; None: after a loop forever."""
        body, set_ = op.instructions(), set(registers_set(op))
        known: dict[State, int] = {}
        marks: list[tuple[State, int, int]] = []
        done, looks = 0, True
        while rounds is None or done < rounds:
            key = self.essence(state, set_)
            if looks and key in known:
                period = done - known[key]
                more = PAGE if rounds is None else (rounds - done) // period
                state = self.repeated(marks[known[key]], more, state) if more else state
                if rounds is None:
                    return replace(state, over=True)
                done, looks = done + more * period, False
                continue
            known[key] = done
            marks.append((state, self.now, len(self.bursts)))
            state = self.run(body, state)
            done += 1
            if state.over:
                return state
            if op.while_request is not None and state.request != op.while_request.data:
                return state
        return state

    def essence(self, state: State, set_: set[str]) -> State:
        """What of a state decides what a round does; `set_`: the registers that a round sets."""
        ends = {
            name: address if address is None or name in set_ else address.within(self.unit)
            for name, address in (("sar", state.sar), ("dar", state.dar))
        }
        return replace(state, **ends)

    def repeated(self, mark: tuple[State, int, int], more: int, state: State) -> State:
        """The state after `more` times the rounds since a mark, whose bursts are repeated."""
        before, then, first = mark
        took = self.now - then
        ends = {"sar": (before.sar, state.sar), "dar": (before.dar, state.dar)}
        strides = {
            name: (end.offset - start.offset) % PAGE if start and end else 0
            for name, (start, end) in ends.items()
        }
        for number, (op, register, series) in enumerate(self.bursts[first:], first):
            repeat = Repeat(more + 1, strides[register], took)
            series = replace(series, repeats=(repeat, *series.repeats))
            self.bursts[number] = (op, register, series)
        self.now += more * took
        moved_ = {
            name: end.plus(more * strides[name]) if end else None for name, (_, end) in ends.items()
        }
        return replace(state, **moved_)

    def step(self, op: InstructionOp, state: State) -> State:
        """The state after one instruction that is no loop."""
        if (kind := condition(op)) is not None:
            if state.request is None:
                self.report(op, "expected a DMAWFP before what depends on its request")
            elif state.request != kind:
                return state
        if isinstance(op, UNLOCKING) and state.locked:
            state = replace(state, locked=False)
        match op:
            case _ if isinstance(op, LOADS):
                return self.loaded(op, state)
            case _ if isinstance(op, STORES):
                return self.stored(op, state)
            case MovOp():
                return moved(op, state)
            case AddOp():
                return added(op, state)
            case _:
                return self.synchronised(op, state)

    def synchronised(self, op: InstructionOp, state: State) -> State:
        """The state after an instruction that waits, signals or ends."""
        match op:
            case WmbOp():
                return replace(state, dirty=False)
            case SevOp() if state.dirty:
                self.report(op, "expected a DMAWMB between the stores and DMASEV")
            case WfeOp():
                self.empty(op, state, "wait")
            case WfpOp():
                self.empty(op, state, "wait")
                kind = op.request.data
                return replace(state, request=self.periph if kind == "periph" else kind)
            case EndOp() | KillOp():
                self.empty(op, state, "end")
                return replace(state, over=True)
            case _:
                pass
        return state

    def empty(self, op: InstructionOp, state: State, what: str) -> None:
        """Report an instruction that waits or ends (`what`) while there are bytes in the MFIFO."""
        if state.held:
            self.report(op, f"expected no {what} with data in the MFIFO, got {state.held} bytes")

    def loaded(self, op: InstructionOp, state: State) -> State:
        """The state after a load: one burst into the MFIFO."""
        if state.ccr is None or state.sar is None:
            register = "CCR" if state.ccr is None else "SAR"
            self.report(op, f"expected a DMAMOV to {register} before a load")
            return state
        size = self.burst(op, "sar", state.ccr.src, state.sar)
        if not state.locked:
            self.static_lines = max(self.static_lines, self.lines(state, state.held))
        held = state.held + size
        lines = self.lines(state, held)
        if held > (most := self.controller.mfifo_bytes):
            self.report(op, f"expected at most {most} bytes in the MFIFO, got {held}")
            held = state.held
        elif lines > (room := self.controller.mfifo_lines):
            self.report(op, f"expected at most {room} lines of the MFIFO, got {lines}")
            held = state.held
        else:
            self.peak_lines = max(self.peak_lines, lines)
        sar = state.sar.plus(size) if state.ccr.src.inc else state.sar
        return replace(state, held=held, locked=True, sar=sar)

    def lines(self, state: State, held: int) -> int:
        """The lines of the MFIFO that `held` bytes take."""
        bus, side = self.controller.bus_bytes, state.ccr.dst if state.ccr else Side(1, 1)
        if not side.inc:
            return -(-held // min(side.beat, bus))
        start = bus - min(side.beat, bus)
        if state.dar is not None and state.dar.exact:
            start = state.dar.offset % bus
        return -(-(start + held) // bus) if held else 0

    def stored(self, op: InstructionOp, state: State) -> State:
        """The state after a store: one burst out of the MFIFO; DMASTZ: one of zeros."""
        if state.ccr is None or state.dar is None:
            register = "CCR" if state.ccr is None else "DAR"
            self.report(op, f"expected a DMAMOV to {register} before a store")
            return state
        size = self.burst(op, "dar", state.ccr.dst, state.dar)
        held = state.held if isinstance(op, StzOp) else state.held - size
        if held < 0:
            self.report(op, f"expected {size} bytes in the MFIFO, got {state.held}")
            held = 0
        dar = state.dar.plus(size) if state.ccr.dst.inc else state.dar
        return replace(state, held=held, dar=dar, dirty=True)

    def burst(self, op: InstructionOp, register: str, side: Side, address: Address) -> int:
        """Bytes of a burst from or to `address`, which is noted."""
        beats = 1 if condition(op) == "single" else side.beats
        missing = address.offset % side.beat
        if not side.inc:
            return beats * (side.beat - missing)
        size = beats * side.beat - missing
        if address.exact:
            self.bursts.append((op, register, BurstSeries(address.offset, size, self.now)))
        return size


def registers_set(op: AnyLoopOp) -> Iterator[str]:
    """The registers that DMAMOV sets in a loop."""
    return (inner.register.data for inner in op.body.walk() if isinstance(inner, MovOp))


def waits(op: AnyLoopOp) -> bool:
    """Whether a loop has an instruction that can block it."""
    return any(isinstance(inner, WfeOp | WfpOp) for inner in op.body.walk())


def moved(op: MovOp, state: State) -> State:
    """The state after DMAMOV."""
    if isinstance(op.value, CcrAttr):
        return replace(state, ccr=op.value.ccr())
    address = Address(op.word % PAGE, exact=op.patched is None)
    return replace(state, **{op.register.data: address})


def added(op: AddOp, state: State) -> State:
    """The state after DMAADDH or DMAADNH."""
    address = state.sar if op.register.data == "sar" else state.dar
    if address is None:
        return state
    return replace(state, **{op.register.data: address.plus(op.amount.value.data)})


def never_ends(op: InstructionOp) -> bool:
    """Whether an instruction is a loop forever that never waits for anything."""
    return isinstance(op, LoopForeverOp) and not waits(op)
