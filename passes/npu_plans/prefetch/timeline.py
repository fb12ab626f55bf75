"""How long the steps of a block take in an order, on the virtual clock. No IR in here.

    place         0        1        2        3    ...  32
    step          start    conv     wait     conv
    checkpoint    *                                    *

The clock runs over all steps once. When the order has changed between two places, it runs from the
checkpoint in front of them, and only until its state is one that it has been in before: all steps
behind it take as long as they did. A loop with transfers of its own is one step, whose data are on
the bus beside the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from npu_plans.prefetch.problem import Block
from npu_plans.time.clock import Clock

EVERY = 32
"""One place of so many has a checkpoint."""


@dataclass
class State:
    """A clock, and when the transfers in flight end, by the steps that wait for them."""

    clock: Clock
    ends: dict[int, int] = field(default_factory=dict[int, int])

    def later(self, cycles: int = 0) -> State:
        """The same state some cycles later."""
        clock = self.clock
        free = [each + cycles for each in clock.free]
        moved = Clock(free, clock.bus + cycles, clock.now + cycles)
        return State(moved, {wait: end + cycles for wait, end in self.ends.items()})

    @property
    def seen_from_now(self) -> dict[int, int]:
        """What the future depends on: when the transfers in flight end, counted from now.

        The last of these ends are those at which channels and the bus are free, too.
        """
        now = self.clock.now
        return {wait: max(0, end - now) for wait, end in self.ends.items()}


@dataclass(frozen=True)
class Rerun:
    """What the clock says of another order.

    `total`: the cycles of all steps. `first`: the number of the checkpoint from which on those in
    `checkpoints` are others; all behind them are `later` by some cycles. `waited`: the cycles for
    which the core waits at the steps that wait, as far as the clock has run.
    """

    total: int
    first: int
    checkpoints: Sequence[State]
    later: int
    waited: dict[int, int]


class Timeline:
    """The cycles of a block's steps in an order.

    `waited`: the cycles for which the core waits, by the steps that wait. `total`: all cycles.
    """

    def __init__(self, block: Block, order: Sequence[int]) -> None:
        """Run all steps in this order."""
        self.block = block
        self.starts = {each.start: each for each in block.transfers}
        self.waits = {each.wait for each in block.transfers}
        self.takes = [
            number in self.starts or number in self.waits or step.work > 0 or step.moving > 0
            for number, step in enumerate(block.steps)
        ]
        """Whether a step takes any time."""
        self.checkpoints = [State(Clock([0] * block.channels))]
        self.waited: dict[int, int] = {}
        self.total = 0
        self.take(self.rerun(order, range(len(order))))

    def rerun(self, order: Sequence[int], changed: range) -> Rerun:
        """What the clock says of an order that differs at some places from the one it knows."""
        first = changed.start // EVERY
        state = self.checkpoints[first].later()
        waited: dict[int, int] = {}
        checkpoints: list[State] = []
        for place in range(first * EVERY, len(order)):
            if place % EVERY == 0:
                if place >= changed.stop:
                    known = self.checkpoints[place // EVERY]
                    if known.seen_from_now == state.seen_from_now:
                        later = state.clock.now - known.clock.now
                        return Rerun(self.total + later, first, checkpoints, later, waited)
                checkpoints.append(state.later())
            if self.takes[order[place]]:
                self.run(order[place], state, waited)
        return Rerun(state.clock.now, first, checkpoints, 0, waited)

    def take(self, rerun: Rerun) -> None:
        """Let the order that the clock has run over be the one that it knows."""
        behind = rerun.first + len(rerun.checkpoints)
        moved = [each.later(rerun.later) for each in self.checkpoints[behind:]]
        self.checkpoints[rerun.first :] = [*rerun.checkpoints, *moved]
        self.waited.update(rerun.waited)
        self.total = rerun.total

    def run(self, number: int, state: State, waited: dict[int, int]) -> None:
        """Run a step."""
        clock, step = state.clock, self.block.steps[number]
        if (transfer := self.starts.get(number)) is not None:
            flight = clock.start(transfer.cycles - transfer.data, transfer.data)
            state.ends[transfer.wait] = flight.end
        elif number in self.waits:
            waited[number] = clock.wait(state.ends.pop(number))
        else:
            begin = clock.now
            clock.work(step.work)
            if step.moving:
                clock.bus = max(clock.bus, begin) + step.data
                clock.wait(clock.bus)
