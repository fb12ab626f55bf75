"""Every step of a program as an event, for pictures, and to check the simulation against.

It takes time for each iteration of each loop; `simulate.py` skips what repeats itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from npu_plans.time.clock import Clock
from npu_plans.time.program import Body, Loop, Rename, Start, Wait, Work
from npu_plans.time.rates import Rates


@dataclass(frozen=True)
class Event:
    """What something does from a cycle to another one.

    `kind`: "work" or "wait" of the core, or "transfer" on a `channel`. `bytes`: of the transfer.
    """

    kind: str
    owner: str
    begin: int
    end: int
    channel: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Started:
    """A transfer in flight: its end, and whose it is."""

    end: int
    owner: str


@dataclass
class Stepper:
    """Runs programs one after the other, step by step."""

    rates: Rates
    clock: Clock
    flights: dict[int, Started] = field(default_factory=dict[int, Started])

    @staticmethod
    def at_start(rates: Rates) -> Stepper:
        """A machine that has done nothing yet."""
        return Stepper(rates, Clock([0] * rates.channels))

    def run(self, program: Body) -> Iterator[Event]:
        """The events of a program in the order of its steps; waits of no cycles are left out.

        Raises: KeyError if it waits for no transfer.
        """
        for step in steps(program):
            begin = self.clock.now
            match step:
                case Work():
                    self.clock.work(step.cycles)
                    yield Event("work", step.owner, begin, self.clock.now)
                case Start():
                    yield self.start(step)
                case Wait():
                    started = self.flights.pop(step.token)
                    if self.clock.wait(started.end):
                        yield Event("wait", started.owner, begin, self.clock.now)
                case Rename():
                    self.flights |= {new: self.flights.pop(old) for old, new in step.pairs}

    def start(self, step: Start) -> Event:
        """Start a transfer."""
        latency, data = self.rates.latency(step.runs), self.rates.data(step.bytes)
        flight = self.clock.start(latency, data)
        self.flights[step.token] = Started(flight.end, step.owner)
        return Event("transfer", step.owner, flight.begin, flight.end, flight.channel, step.bytes)


def events(program: Body, rates: Rates) -> Iterator[Event]:
    """The events of a program; see `Stepper.run`."""
    return Stepper.at_start(rates).run(program)


def steps(program: Body) -> Iterator[Work | Start | Wait | Rename]:
    """The steps of a program with its loops unrolled."""
    for step in program:
        if not isinstance(step, Loop):
            yield step
            continue
        for count, body in step.stretches():
            for _ in range(count):
                yield from steps(body)
