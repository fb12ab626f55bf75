"""How long a loop nest over tiles takes, with what of its transfers nothing hides. No IR in here.

load | load    load    load              The transfers of the innermost loop run while it
     | tile 0  tile 1  tile 2  tile 3    computes, but for the first load and the last store
                                 | store each time that the loop begins anew.

A tile that is loaded into a buffer of two parts, and stored from there, is stored before the next
step begins: with three parts, it is stored while that step computes.

Loads that start two steps ahead, in one part more, are prepared while others have the bus.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from npu_plans.prefetch.groups import GROUPS


@dataclass(frozen=True)
class Moved:
    """Some transfers, and the bytes and contiguous runs of bytes that they move, all together."""

    transfers: int = 0
    bytes: int = 0
    runs: int = 0

    def times(self, count: int) -> Moved:
        """As many of them."""
        return Moved(count * self.transfers, count * self.bytes, count * self.runs)

    def but(self, other: Moved) -> Moved:
        """What is left without some of them."""
        return Moved(
            self.transfers - other.transfers, self.bytes - other.bytes, self.runs - other.runs
        )

    def first(self, other: Moved) -> Moved:
        """As many of them as `other` has, which may have more."""
        return Moved(
            min(self.transfers, other.transfers),
            min(self.bytes, other.bytes),
            min(self.runs, other.runs),
        )


@dataclass(frozen=True)
class Rates:
    """What transfers take.

    `setup` and `jump`: cycles of the start of a transfer, and of a jump to its next run, on one of
    `channels` channels. `bytes`: what crosses the bus in a cycle, which all channels share.
    """

    setup: int
    jump: int
    bytes: Fraction
    channels: int = 1

    def latency(self, moved: Moved) -> int:
        """How long some transfers take before their data cross the bus, one after the other."""
        return moved.transfers * self.setup + (moved.runs - moved.transfers) * self.jump

    def data(self, moved: Moved) -> Fraction:
        """How long the data of some transfers cross the bus."""
        return moved.bytes / self.bytes

    def cycles(self, moved: Moved) -> Fraction:
        """How long some transfers take, one after the other."""
        return self.latency(moved) + self.data(moved)


@dataclass(frozen=True)
class Through:
    """What is moved through a tile buffer in one direction.

    `beside`: while layers compute. `behind`: in a step of its own, once it has computed. `alone`:
    while nothing computes. `ahead`: whether what is beside has two steps to move in.
    """

    beside: Moved = Moved()
    behind: Moved = Moved()
    alone: Moved = Moved()
    ahead: bool = False


def through(
    moved: Moved, tile: Moved, copies: int, entries: int, at_once: int = 0, *, ahead: bool = False
) -> Through:
    """What hides of some transfers through a tile buffer; `tile` is one of them.

    `copies`: of the buffer; with one copy, nothing hides. `entries`: how often a loop over
    innermost tiles begins. `at_once`: how many of the transfers are waited for in their own step,
    as those that store a tile from the part into which it was loaded. `ahead`: whether the others
    start two steps ahead.
    """
    if copies == 1:
        return Through(alone=moved)
    behind = moved.first(tile.times(at_once))
    left = moved.but(behind)
    alone = left.first(tile.times(entries))
    return Through(left.but(alone), behind, alone, ahead)


def nest_cycles(compute: Fraction, steps: int, parts: Sequence[Through], rates: Rates) -> Fraction:
    """The cycles of a nest whose layers compute for `compute` cycles in all, in `steps` steps.

    `parts`: what is moved through each tile buffer, in the order in which a step starts it. Nothing
    is loaded while the last step computes.
    """
    last = compute / steps
    core = compute - last + sum(rates.latency(each.behind) for each in parts)
    waited = sum((rates.data(each.behind) + rates.cycles(each.alone) for each in parts), Fraction())
    ahead = beside_cycles((each.beside for each in parts if each.ahead), rates) / 2
    within = beside_cycles((each.beside for each in parts if not each.ahead), rates)
    data = sum((rates.data(each.beside) for each in parts), Fraction())
    channels = sum((rates.cycles(each.beside) for each in parts), Fraction()) / rates.channels
    return max(core, ahead, within, data, channels) + waited + last


def beside_cycles(parts: Iterable[Moved], rates: Rates) -> Fraction:
    """How long transfers take of which each step starts one of each part.

    Those of a step prepare at the same time, each on a channel; then they have the bus in turn.
    """
    bus = Fraction()
    for moved in parts:
        bus = max(bus, Fraction(rates.latency(moved))) + rates.data(moved)
    return bus


def hidden_by_groups(store: Fraction, last: Fraction, rates: Rates) -> Fraction:
    """The cycles of a store that run beside its own layer if it computes in groups of its outputs.

    `store`: the cycles of the data; `last`: those that the layer computes in front of the store.
    The outputs of a group leave while the next one is computed (`npu_plans/prefetch/groups.py`).
    Nothing hides if either takes no longer than the starts of the parts.
    """
    least, groups = min(store, last), GROUPS[-1]
    return least * Fraction(groups - 1, groups) if least > groups * rates.setup else Fraction()
