"""In how many parts a transfer of many runs moves, so that the core goes on earlier. No IR in here.

    one transfer of 240 runs         channel 0  ....240 jumps....|data|
    in four parts                    channel 0  .60 jumps.|data|
                                     channel 1  .60 jumps.     |data|       ... and so on

A channel prepares the runs of one transfer one after the other. Parts on idle channels prepare
theirs at the same time. If the other channels are busy, parts only cost more starts; so each choice
is tried on the virtual clock, with the steps that follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

from npu_plans.prefetch.plan import MOST_RUNNING
from npu_plans.time.clock import Clock
from npu_plans.time.program import Rename, Start, Wait, Work
from npu_plans.time.rates import Rates

PARTS = (2, 3, 4, 6, 8)
"""Numbers of parts that are tried. With more than there are channels, the first parts move while
the last ones are prepared."""

AHEAD = 40
"""How many steps, from the start of a transfer on, are run to see when the core is through them."""

WORTH = Fraction(1, 4)
"""The share of the time of a start that each part more has to save."""

Step: TypeAlias = Work | Start | Wait | Rename


@dataclass
class Course:
    """A course of steps on the virtual clock. `flights`: when the transfers in flight end."""

    rates: Rates
    clock: Clock
    flights: dict[int, int] = field(default_factory=dict[int, int])

    def copy(self) -> Course:
        """The same state, which can go on by itself."""
        clock = replace(self.clock, free=list(self.clock.free))
        return Course(self.rates, clock, dict(self.flights))

    def run(
        self, steps: Sequence[Step], slices: Mapping[int, int], parts: Mapping[int, int]
    ) -> int:
        """Run steps with transfers in parts; returns for how many cycles the core waits."""
        waited = 0
        for step in steps:
            match step:
                case Work():
                    self.clock.work(step.cycles)
                case Start():
                    for part in cut(step, slices.get(step.token, 1), parts.get(step.token, 1)):
                        latency, data = self.rates.latency(part.runs), self.rates.data(part.bytes)
                        self.flights[step.token] = self.clock.start(latency, data).end
                case Wait():
                    waited += self.clock.wait(self.flights.pop(step.token, 0))
                case Rename():
                    ends = [self.flights.pop(old, 0) for old, _ in step.pairs]
                    names = (new for _, new in step.pairs)
                    self.flights.update(zip(names, ends, strict=True))
        return waited


def parts_of(
    steps: Sequence[Step], slices: Mapping[int, int], rates: Rates, *, again: bool
) -> dict[int, int]:
    """The number of parts of each transfer that is to move in more than one.

    `steps`: those of a block, each token started once at most. `slices`: the transfers that can be
    cut, by their tokens, into as many slices of the same runs and bytes. `again`: the steps are run
    over and over. A part more has to save some of the time of a start (`WORTH`), and no more than
    `MOST_RUNNING` transfers run at a time.
    """
    found: dict[int, int] = {}
    course = Course(rates, Clock([0] * rates.channels))
    if again:
        course.run(steps, slices, found)
    running = Running(steps)
    for place, step in enumerate(steps):
        if isinstance(step, Start) and slices.get(step.token, 1) > 1 and step.runs > 1:
            ahead = tuple(islice(following(steps, place, again=again), AHEAD))
            most = min(slices[step.token], 1 + MOST_RUNNING - running.most(step.token))
            parts = best(course, ahead, slices, found, step.token, most)
            if parts > 1:
                found[step.token] = parts
                running.add(step.token, parts - 1)
        course.run((step,), slices, found)
    return found


def following(steps: Sequence[Step], place: int, *, again: bool) -> Iterator[Step]:
    """The steps from a place on; with `again`, from the beginning behind the last one."""
    yield from steps[place:]
    while again:
        yield from steps


def best(
    course: Course,
    ahead: Sequence[Step],
    slices: Mapping[int, int],
    found: Mapping[int, int],
    token: int,
    most: int,
) -> int:
    """The number of parts, `most` at most, of the transfer whose start is the first step ahead."""

    def waited(parts: int) -> int:
        return course.copy().run(ahead, slices, {**found, token: parts})

    chosen, least = 1, waited(1)
    for parts in (each for each in PARTS if each <= most):
        if not least:
            break
        needed = waited(parts)
        if needed + (parts - chosen) * course.rates.setup * WORTH < least:
            chosen, least = parts, needed
    return chosen


def cut(start: Start, slices: int, parts: int) -> Iterator[Start]:
    """The parts of a transfer, each of some of its slices."""
    for size in sizes_of(slices, min(slices, parts)):
        yield replace(start, bytes=start.bytes * size // slices, runs=start.runs * size // slices)


def sizes_of(slices: int, parts: int) -> list[int]:
    """The slices of each part: about as many, the larger parts first."""
    return [slices // parts + (number < slices % parts) for number in range(parts)]


class Running:
    """How many transfers of a block run behind each of its steps."""

    def __init__(self, steps: Sequence[Step]) -> None:
        """Count the transfers, each as one. One without a wait runs to the end."""
        ends = {step.token: place for place, step in enumerate(steps) if isinstance(step, Wait)}
        self.spans = {
            step.token: range(place, ends.get(step.token, len(steps)))
            for place, step in enumerate(steps)
            if isinstance(step, Start)
        }
        self.counts = [0] * len(steps)
        for token in self.spans:
            self.add(token, 1)

    def add(self, token: int, count: int) -> None:
        """More transfers run as long as one does."""
        for place in self.spans[token]:
            self.counts[place] += count

    def most(self, token: int) -> int:
        """The most transfers that run at a time while one does."""
        return max((self.counts[place] for place in self.spans[token]), default=0)
