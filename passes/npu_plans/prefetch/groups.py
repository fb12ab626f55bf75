"""In how many groups a layer computes beside transfers that nothing else hides. No IR in here.

    one group      |......load......| compute |.store.|
    two groups     |..load..| compute 1 | compute 2 |
                            |..load..|  |.store.|.store.|

A layer that runs in groups of its outputs needs only a part of its weights for the first group, and
the outputs of a group leave while the next group is computed. A group overwrites a part of what was
in the output before, and waits for the store of that part only. Each part of a transfer costs a
start of its own, and each group reads the inputs again; so each choice is tried on the virtual
clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npu_plans.prefetch.parts import cut
from npu_plans.time.clock import Clock
from npu_plans.time.program import Start
from npu_plans.time.rates import Rates

GROUPS = (2, 4)
"""Numbers of groups that are tried. With more, code and time of compiling grow, and little hides in
addition: four groups leave a quarter of a load or a store beside no other group."""


@dataclass(frozen=True)
class Beside:
    """The transfers beside a layer, between the layers in front of it and behind it.

    `loads` and `stores` are those that can be cut as the layer is, `others` whole ones that it
    waits for. `behind`: the cycles that are computed behind the layer beside the stores. `earlier`
    are stores of what it overwrites, which can be cut, too, and `since` the cycles that are
    computed between their starts and the layer.
    """

    loads: tuple[Start, ...] = ()
    stores: tuple[Start, ...] = ()
    others: tuple[Start, ...] = ()
    behind: int = 0
    earlier: tuple[Start, ...] = ()
    since: int = 0


def groups_of(
    beside: Beside, slices: int, work: Callable[[int], Sequence[int]], rates: Rates, most: int
) -> int:
    """In how many groups a layer should compute; 1 if it should stay as it is.

    `slices`: of the layer, and of each of its loads and stores. `work`: the cycles of each group of
    a layer in so many groups. `most`: the most groups. A group more has to save the time of a start
    for each transfer that is cut.
    """
    chosen, least = 1, cycles_in(beside, slices, work(1), rates)
    cost = rates.setup * (len(beside.loads) + len(beside.stores) + len(beside.earlier))
    for groups in (each for each in GROUPS if each <= min(most, slices)):
        needed = cycles_in(beside, slices, work(groups), rates)
        if needed + (groups - chosen) * cost < least:
            chosen, least = groups, needed
    return chosen


def cycles_in(beside: Beside, slices: int, work: Sequence[int], rates: Rates) -> int:
    """The cycles from the first start to the end of the last transfer, for the cycles of groups.

    What the first group needs starts first, behind the stores of what was there before. The outputs
    of a group start when it is done.
    """
    clock, groups = Clock([0] * rates.channels), len(work)
    loads, stores, earlier = (
        [tuple(cut(each, slices, groups)) for each in cuts]
        for cuts in (beside.loads, beside.stores, beside.earlier)
    )

    def start(part: Start) -> int:
        return clock.start(rates.latency(max(1, part.runs)), rates.data(part.bytes)).end

    left = [max(map(start, parts)) for parts in zip(*earlier, strict=True)] or [0] * groups
    clock.work(beside.since)
    first = [start(part) for part in (*(each[0] for each in loads), *beside.others)]
    arrivals = [max(first, default=0)]
    for number in range(1, groups):
        arrivals.append(max((start(each[number]) for each in loads), default=0))
    ends = [0]
    for number, (arrival, cycles) in enumerate(zip(arrivals, work, strict=True)):
        clock.wait(max(arrival, left[number]))
        clock.work(cycles)
        ends += [start(each[number]) for each in stores]
    clock.work(beside.behind)
    clock.wait(max(ends))
    return clock.now
