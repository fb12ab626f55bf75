"""Running a program of the PL-330 on what matters for `pl330-check`, round by round.

    State(ccr, request, held, sar, dar, dirty)

What may go wrong depends on the state only: bytes in the MFIFO, addresses within a page, CCR. So
a loop whose state has come back stops there: its further rounds are those that were seen. The loops
of a program of copies take few rounds until then, and none takes more than MOST_STEPS in all.

Bytes of a burst at an address that is not aligned to its beat: the first beat is shorter
(as QEMU's model moves them: `tests/passes/pl330/test_check.py` compares).
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
    """More than MOST_STEPS instructions."""


@dataclass(frozen=True)
class Address:
    """An address within its page; not `exact`: only its place on the bus is known."""

    offset: int
    exact: bool = True

    def plus(self, distance: int) -> Address:
        """The address further on."""
        return replace(self, offset=(self.offset + distance) % PAGE)


@dataclass(frozen=True)
class State:
    """What a program has done so far, as far as it matters for what it may do next."""

    ccr: Ccr | None = None
    request: str | None = None
    """What the last DMAWFP waited for."""
    held: int = 0
    """Bytes in the MFIFO."""
    sar: Address | None = None
    dar: Address | None = None
    dirty: bool = False
    """Stores since the last DMAWMB."""
    over: bool = False
    """The program has ended, or never gets further."""


def condition(op: InstructionOp) -> str | None:
    """The request that an instruction depends on."""
    if isinstance(op, LdpOp | StpOp):
        return op.request.data
    return CONDITIONS.get(type(op))


@dataclass
class Runner:
    """One run of a program; `periph` is what comes where DMAWFP takes either request."""

    controller: Controller
    periph: str
    report: Report
    steps: int = 0
    loops: dict[tuple[AnyLoopOp, State], State] = field(
        default_factory=dict[tuple[AnyLoopOp, State], State]
    )
    """What is known of whole loops."""
    bodies: dict[tuple[AnyLoopOp, State], State] = field(
        default_factory=dict[tuple[AnyLoopOp, State], State]
    )
    """What is known of one round of a loop."""

    def run(self, ops: Sequence[InstructionOp], state: State) -> State:
        """The state behind some instructions.

        Raises: TooLong.
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
        """The state behind a loop."""
        key = (op, state)
        if key not in self.loops:
            if op.while_request is not None and state.request is None and not waits(op):
                self.report(op, "expected a DMAWFP before what depends on its request")
            rounds = op.count.value.data if isinstance(op, LoopOp) else None
            self.loops[key] = self.rounds(op, rounds, state)
        return self.loops[key]

    def rounds(self, op: AnyLoopOp, rounds: int | None, state: State) -> State:
        """The state behind so many rounds, or behind rounds without end."""
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
        """The state behind one instruction."""
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
        """The state behind an instruction that waits, signals or ends."""
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
        """Nobody waits or ends with data in the MFIFO."""
        if state.held:
            self.report(op, f"expected no {what} with data in the MFIFO, got {state.held} bytes")

    def loaded(self, op: InstructionOp, state: State) -> State:
        """One burst into the MFIFO."""
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
        """One burst out of the MFIFO, or one of zeros."""
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
        """Bytes of a burst."""
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
    """The state behind DMAMOV."""
    if isinstance(op.value, CcrAttr):
        return replace(state, ccr=op.value.ccr())
    address = Address(op.word % PAGE, exact=op.patched is None)
    return replace(state, **{op.register.data: address})


def added(op: AddOp, state: State) -> State:
    """The state behind DMAADDH and DMAADNH."""
    address = state.sar if op.register.data == "sar" else state.dar
    if address is None:
        return state
    return replace(state, **{op.register.data: address.plus(op.amount.value.data)})


def never_ends(op: InstructionOp) -> bool:
    """Whether a loop goes on for ever without waiting for anything."""
    return isinstance(op, LoopForeverOp) and not waits(op)
