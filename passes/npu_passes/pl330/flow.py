"""Runs a PL-330 program on an abstract state, for `pl330-check`.

    State(ccr, request, held, sar, dar, dirty)

All errors that are checked here depend on this state only: the CCR, the bytes in the MFIFO, the
addresses within a page. If a loop reaches a state for the second time, its further rounds repeat
what was seen, and it need not be run on. The loops of programs that copy repeat after a few rounds.
A run of more than MOST_STEPS instructions is given up.

If a burst begins at an address that is not aligned to its beat, the first beat is shorter. QEMU's
model does the same; `tests/passes/pl330/test_check.py` compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from npu_passes.pl330.controller import PAGE, Controller

MOST_STEPS = 2_000_000
"""Instructions that are run before the checker gives up."""

LOADS = (LdOp, LdsOp, LdbOp, LdpOp)
STORES = (StOp, StsOp, StbOp, StpOp)
CONDITIONS: dict[type[InstructionOp], str] = {
    LdsOp: "single",
    LdbOp: "burst",
    StsOp: "single",
    StbOp: "burst",
}

Report = Callable[[InstructionOp, str], None]


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


@dataclass(frozen=True)
class State:
    """The state of a program between two instructions, as far as `pl330-check` needs it."""

    ccr: Ccr | None = None
    request: str | None = None
    """The kind of request that the last DMAWFP waited for: "single" or "burst"."""
    held: int = 0
    """Bytes in the MFIFO."""
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


@dataclass
class Runner:
    """One run of a program.

    `periph`: the kind of request that arrives at a DMAWFP that waits for either kind. `report`: is
    called with each error.
    """

    controller: Controller
    periph: str
    report: Report
    steps: int = 0
    loops: dict[tuple[AnyLoopOp, State], State] = field(
        default_factory=dict[tuple[AnyLoopOp, State], State]
    )
    """A loop and the state in front of it, to the state behind it."""
    bodies: dict[tuple[AnyLoopOp, State], State] = field(
        default_factory=dict[tuple[AnyLoopOp, State], State]
    )
    """A loop and the state before one round of it, to the state after that round."""

    def run(self, ops: Sequence[InstructionOp], state: State) -> State:
        """The state after some instructions.

        Raises: TooLong if the run has more than MOST_STEPS instructions.
        """
        for op in ops:
            if state.over:
                self.report(op, "expected nothing behind a loop that never ends")
                break
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise TooLong
            state = self.loop(op, state) if isinstance(op, AnyLoopOp) else self.step(op, state)
        return state

    def loop(self, op: AnyLoopOp, state: State) -> State:
        """The state after a loop."""
        key = (op, state)
        if key not in self.loops:
            if op.while_request is not None and state.request is None and not waits(op):
                self.report(op, "expected a DMAWFP before what depends on its request")
            rounds = op.count.value.data if isinstance(op, LoopOp) else None
            self.loops[key] = self.rounds(op, rounds, state)
        return self.loops[key]

    def rounds(self, op: AnyLoopOp, rounds: int | None, state: State) -> State:
        """The state after `rounds` rounds of a loop; None: after a loop forever."""
        body = op.instructions()
        before: dict[State, int] = {}
        history: list[State] = []
        done = 0
        while rounds is None or done < rounds:
            if state in before:
                if rounds is None:
                    return replace(state, over=True)
                period = done - before[state]
                return history[before[state] + (rounds - done) % period]
            before[state] = done
            history.append(state)
            if (op, state) not in self.bodies:
                self.bodies[op, state] = self.run(body, state)
            state = self.bodies[op, state]
            done += 1
            if state.over:
                return state
            if op.while_request is not None and state.request != op.while_request.data:
                return state
        return state

    def step(self, op: InstructionOp, state: State) -> State:
        """The state after one instruction that is no loop."""
        if (kind := condition(op)) is not None:
            if state.request is None:
                self.report(op, "expected a DMAWFP before what depends on its request")
            elif state.request != kind:
                return state
        if isinstance(op, LOADS):
            return self.loaded(op, state)
        if isinstance(op, STORES):
            return self.stored(op, state)
        match op:
            case StzOp():
                return self.stored(op, state, zeros=True)
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
        size = self.burst(op, state.ccr.src, state.sar)
        held = state.held + size
        if held > (most := self.controller.mfifo_bytes):
            self.report(op, f"expected at most {most} bytes in the MFIFO, got {held}")
            held = state.held
        sar = state.sar.plus(size) if state.ccr.src.inc else state.sar
        return replace(state, held=held, sar=sar)

    def stored(self, op: InstructionOp, state: State, *, zeros: bool = False) -> State:
        """The state after a store: one burst out of the MFIFO, or one of `zeros`."""
        if state.ccr is None or state.dar is None:
            register = "CCR" if state.ccr is None else "DAR"
            self.report(op, f"expected a DMAMOV to {register} before a store")
            return state
        size = self.burst(op, state.ccr.dst, state.dar)
        held = state.held if zeros else state.held - size
        if held < 0:
            self.report(op, f"expected {size} bytes in the MFIFO, got {state.held}")
            held = 0
        dar = state.dar.plus(size) if state.ccr.dst.inc else state.dar
        return replace(state, held=held, dar=dar, dirty=True)

    def burst(self, op: InstructionOp, side: Side, address: Address) -> int:
        """Bytes of a burst from or to `address`."""
        beats = 1 if condition(op) == "single" else side.beats
        missing = address.offset % side.beat
        if not side.inc:
            return beats * (side.beat - missing)
        size = beats * side.beat - missing
        if address.exact and address.offset + size > PAGE:
            self.report(
                op,
                f"expected a burst within {PAGE} bytes, got {size} bytes at {address.offset} "
                "of a page",
            )
        return size


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
