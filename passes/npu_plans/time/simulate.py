"""The cycles of a program: an event simulation that skips what repeats itself.

The future of a program depends on the times when channels, the bus and transfers in flight are
free, as seen from now, and on nothing else. So a body that starts in a state that it has started in
before takes as long as it did then, and a loop whose state returns repeats its cycles. Both are
exact: `stepping.py` runs every step, and gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from npu_plans.time.clock import Clock
from npu_plans.time.program import Body, Loop, Rename, Start, Wait, Work
from npu_plans.time.rates import Rates


class ProgramError(ValueError):
    """A program waits for no transfer, or never for one; the message says which."""


@dataclass(frozen=True)
class Cycles:
    """What a layer, or a whole program, takes.

    `compute`: cycles of the core. `transfer`: cycles of all transfers, each alone: start, jumps and
    data. `bus`: cycles of their data. `exposed`: cycles for which the core waits. `bytes` are
    moved in `transfers`. Of a transfer that the core waits for during a share of its own cycles,
    that share of its bytes counts as `exposed_bytes`, rounded down. The bytes of transfers between
    whose start and wait no layer runs are `bare_bytes`. The core does `macs` multiply-accumulates,
    and reads and writes `on_chip_bytes`. For `stall` of its cycles slower memories keep it waiting.
    """

    compute: int = 0
    transfer: int = 0
    bus: int = 0
    exposed: int = 0
    bytes: int = 0
    transfers: int = 0
    exposed_bytes: int = 0
    bare_bytes: int = 0
    macs: int = 0
    on_chip_bytes: int = 0
    stall: int = 0

    @property
    def total(self) -> int:
        """The cycles from the start to the end."""
        return self.compute + self.exposed

    def __add__(self, other: Cycles) -> Cycles:
        return Cycles(*(getattr(self, key) + getattr(other, key) for key in NUMBERS))

    def times(self, count: int) -> Cycles:
        """The cycles of as many repetitions."""
        return Cycles(*(getattr(self, key) * count for key in NUMBERS))


NUMBERS = tuple(each.name for each in fields(Cycles))

Ledger: TypeAlias = dict[str, Cycles]
"""The cycles of each owner."""


def total_of(ledger: Ledger) -> Cycles:
    """The cycles of all owners."""
    return sum(ledger.values(), Cycles())


@dataclass(frozen=True)
class InFlight:
    """A transfer that has been started. `end` is seen from now, 0 if it is done."""

    end: int
    own: int
    bytes: int
    owner: str
    covered: bool = False


@dataclass(frozen=True)
class State:
    """The state of the machine, seen from now.

    `free`: for each channel, in how many cycles it is free; in ascending order, as no channel is
    better than another one. `bus`: the same for the bus.
    """

    free: tuple[int, ...]
    bus: int = 0
    flights: tuple[tuple[int, InFlight], ...] = ()


@dataclass
class Core:
    """A clock and the transfers in flight, whose ends are times of the clock."""

    rates: Rates
    clock: Clock
    flights: dict[int, InFlight] = field(default_factory=dict[int, InFlight])
    ledger: Ledger = field(default_factory=dict[str, Cycles])

    @staticmethod
    def at(rates: Rates, state: State) -> Core:
        """A core in a state, at time 0."""
        core = Core(rates, Clock([]))
        core.enter(state)
        return core

    def enter(self, state: State) -> None:
        """Go to a state, seen from now."""
        now = self.clock.now
        self.clock.free = [now + free for free in state.free]
        self.clock.bus = now + state.bus
        self.flights = {
            token: InFlight(now + each.end, each.own, each.bytes, each.owner, each.covered)
            for token, each in state.flights
        }

    def state(self) -> State:
        """The state, seen from now."""
        now = self.clock.now
        flights = (
            (token, InFlight(max(0, e.end - now), e.own, e.bytes, e.owner, e.covered))
            for token, e in sorted(self.flights.items(), key=lambda item: item[0])
        )
        free = sorted(max(0, free - now) for free in self.clock.free)
        return State(tuple(free), max(0, self.clock.bus - now), tuple(flights))

    def work(self, step: Work) -> None:
        """Compute."""
        self.clock.work(step.cycles)
        done = Cycles(
            compute=step.cycles, macs=step.macs, on_chip_bytes=step.bytes, stall=step.stall
        )
        add(self.ledger, step.owner, done)
        if step.is_layer:
            self.flights = {
                token: each if each.covered else covered(each)
                for token, each in self.flights.items()
            }

    def start(self, step: Start) -> None:
        """Start a transfer.

        Raises: ProgramError if its token is in flight.
        """
        if step.token in self.flights:
            raise ProgramError("a transfer starts again before its wait")
        latency, data = self.rates.latency(step.runs), self.rates.data(step.bytes)
        flight = self.clock.start(latency, data)
        own = latency + data
        self.flights[step.token] = InFlight(flight.end, own, step.bytes, step.owner)
        cycles = Cycles(transfer=own, bus=data, bytes=step.bytes, transfers=1)
        add(self.ledger, step.owner, cycles)

    def wait(self, step: Wait) -> None:
        """Wait for a transfer.

        Raises: ProgramError if its token is not in flight.
        """
        if (flight := self.flights.pop(step.token, None)) is None:
            raise ProgramError("a wait has no transfer")
        waited = self.clock.wait(flight.end)
        exposed = min(waited, flight.own) * flight.bytes // flight.own if flight.own else 0
        bare = 0 if flight.covered else flight.bytes
        cycles = Cycles(exposed=waited, exposed_bytes=exposed, bare_bytes=bare)
        add(self.ledger, flight.owner, cycles)

    def rename(self, step: Rename) -> None:
        """Give transfers other tokens.

        Raises: ProgramError if an old token is not in flight, or a new one is.
        """
        missing = [old for old, _ in step.pairs if old not in self.flights]
        if missing:
            raise ProgramError("a loop carries a token without a transfer")
        moved = [(new, self.flights.pop(old)) for old, new in step.pairs]
        if any(new in self.flights for new, _ in moved):
            raise ProgramError("a transfer starts again before its wait")
        self.flights.update(moved)


def covered(flight: InFlight) -> InFlight:
    """A transfer that a layer runs beside."""
    return InFlight(flight.end, flight.own, flight.bytes, flight.owner, covered=True)


def add(ledger: Ledger, owner: str, cycles: Cycles) -> None:
    """Add the cycles of an owner."""
    ledger[owner] = ledger[owner] + cycles if owner in ledger else cycles


def merge(ledger: Ledger, others: Iterable[Ledger], count: int = 1) -> None:
    """Add the cycles of other ledgers, `count` times."""
    for other in others:
        for owner, cycles in other.items():
            add(ledger, owner, cycles if count == 1 else cycles.times(count))


@dataclass
class Simulation:
    """Runs bodies, and remembers how they ran."""

    rates: Rates
    known: dict[tuple[int, State], tuple[State, Ledger]] = field(
        default_factory=dict[tuple[int, State], tuple[State, Ledger]]
    )

    def run(self, body: Body, state: State) -> tuple[State, Ledger]:
        """Run a body, and return the state at its end and its cycles."""
        key = (id(body), state)
        if key not in self.known:
            core = Core.at(self.rates, state)
            for step in body:
                self.do(step, core)
            self.known[key] = core.state(), core.ledger
        return self.known[key]

    def do(self, step: Work | Start | Wait | Rename | Loop, core: Core) -> None:
        """Run a step."""
        match step:
            case Work():
                core.work(step)
            case Start():
                core.start(step)
            case Wait():
                core.wait(step)
            case Rename():
                core.rename(step)
            case Loop():
                state = core.state()
                for count, body in step.stretches():
                    state, ledger = self.repeat(body, count, state)
                    merge(core.ledger, (ledger,))
                    core.clock.now += total_of(ledger).total
                core.enter(state)

    def repeat(self, body: Body, count: int, state: State) -> tuple[State, Ledger]:
        """Run a body several times, and return the state at the end and the cycles of all runs."""
        seen: dict[State, int] = {}
        runs: list[Ledger] = []
        while len(runs) < count and state not in seen:
            seen[state] = len(runs)
            state, ledger = self.run(body, state)
            runs.append(ledger)
        done: Ledger = {}
        merge(done, runs)
        if (left := count - len(runs)) > 0:
            cycle = runs[seen[state] :]
            merge(done, cycle, left // len(cycle))
            for ledger in cycle[: left % len(cycle)]:
                merge(done, (ledger,))
                state, _ = self.run(body, state)
        return state, done


def simulate(program: Body, rates: Rates) -> Ledger:
    """The cycles of each owner of a program.

    Raises: ProgramError if it waits for no transfer, starts one twice, or never waits for one;
        UnknownRate if it has transfers and the machine has no DMA engine.
    """
    state, ledger = Simulation(rates).run(program, State((0,) * rates.channels))
    if state.flights:
        raise ProgramError("a transfer has no wait")
    return ledger
