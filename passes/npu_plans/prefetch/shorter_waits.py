"""Moves starts and waits where the core waits, as long as it waits less. No IR in here.

    start store of a     start w3            The load of w3 waited for the bus. It starts earlier,
    conv 2               conv 2              with all loads that are in its way, or the store gives
    start w3        =>   start store of a    way, if its memory is needed no earlier, and is waited
    wait w3              wait w3             for later.
    conv 3               conv 3

Each change is tried on the virtual clock, and stays if all steps together take fewer cycles.
"""

from __future__ import annotations

from collections.abc import Iterator

from npu_plans.prefetch.plan import MOST_STEPS, Plan
from npu_plans.prefetch.problem import Transfer
from npu_plans.prefetch.timeline import Timeline

MOST_ROUNDS = 12
"""How often all transfers are tried, at most."""
MOST_TRIES = 16
"""How many places are tried one behind the other, for a start or a wait, that bring nothing."""
FAR = 4
"""More are tried up to so many times the cycles for which the core waits, in small steps."""
MOST_STORES = 6
"""How many stores in front of a transfer may give way to it."""
BESIDE = 250
"""How many steps in front of the start of a transfer a store may be waited for that delays it."""


def shorten_waits(plan: Plan) -> None:
    """Move the starts and waits of a plan so that the core waits less."""
    timeline = Timeline(plan.block, plan.order)
    for _ in range(MOST_ROUNDS):
        before = timeline.total
        for each in sorted(plan.block.transfers, key=lambda each: plan.place[each.wait]):
            if timeline.waited[each.wait]:
                far = FAR * (timeline.waited[each.wait] + each.cycles)
                keep_best(plan, timeline, (sooner if each.load else later)(plan, each), far)
            if timeline.waited[each.wait]:
                for store in stores_before(plan, each):
                    far = FAR * (timeline.waited[each.wait] + store.cycles)
                    keep_best(plan, timeline, postponed(plan, store), far)
        if timeline.total == before:
            return


def keep_best(plan: Plan, timeline: Timeline, moves: Iterator[range], far: int) -> None:
    """Make some moves one after the other, up to those with the fewest cycles; none if none helps.

    `moves` says after each of them at which places the order has changed. Moves over more than
    `far` cycles of layers are not tried if many in a row bring nothing.
    """
    chosen, best, tries = plan.saved(), None, 0
    for changed in moves:
        found, tries = timeline.rerun(plan.order, changed), tries + 1
        if found.total < (best or timeline).total:
            chosen, best, tries = plan.saved(), found, 0
        elif tries >= MOST_TRIES and plan.work(changed.start, changed.stop) > far:
            break
    plan.restore(chosen)
    if best is not None:
        timeline.take(best)


def sooner(plan: Plan, load: Transfer) -> Iterator[range]:
    """Start a load in front of one more step that takes time, again and again.

    The loads whose starts are in the way start earlier, too.
    """
    together, end = [load], plan.place[load.start] + 1
    while True:
        place = min(plan.place[each.start] for each in together) - 1
        while place >= 0 and not stands(plan, plan.order[place]):
            place -= 1
        if place < 0:
            return
        number = plan.order[place]
        other = plan.starts.get(number)
        if other is not None and other.load:
            together.insert(0, other)
        elif all(plan.start_before(each, number) for each in together):
            yield range(place, end)
        else:
            return


def stands(plan: Plan, number: int) -> bool:
    """Whether a step takes time, or cannot be crossed."""
    step = plan.block.steps[number]
    return step.fixed or step.work > 0 or number in plan.starts or number in plan.waits


def later(plan: Plan, store: Transfer) -> Iterator[range]:
    """Wait for a store behind one more step that takes time, again and again."""
    first = plan.place[store.wait]
    for step, place in plan.behind(store):
        if step.work or plan.order[place] in plan.waits:
            if not plan.can_live(store, range(plan.place[store.wait] + 1, place + 1)):
                return
            plan.move([store.wait], place + 1)
            yield range(first, place + 1)


def stores_before(plan: Plan, transfer: Transfer) -> list[Transfer]:
    """The last stores that start before a transfer is waited for, and could run beside it."""
    first, last = plan.place[transfer.start] - BESIDE, plan.place[transfer.wait]
    found = [
        each
        for each in plan.block.transfers
        if not each.load
        and each is not transfer
        and plan.place[each.start] < last
        and first < plan.place[each.wait]
    ]
    return sorted(found, key=lambda each: -plan.place[each.start])[:MOST_STORES]


def postponed(plan: Plan, store: Transfer) -> Iterator[range]:
    """Start a store behind one more transfer, again and again; its wait makes way.

    Behind a layer alone it would only have the bus later.
    """
    first, touches = plan.place[store.start], plan.touches(store)
    for place in range(first + 1, min(len(plan.order), first + MOST_STEPS)):
        if plan.order[place] == store.wait and next(later(plan, store), None) is None:
            return
        number = plan.order[place]
        step = plan.block.steps[number]
        if step.fixed or step.meets(touches):
            return
        if number in plan.starts:
            plan.move([store.start], place + 1)
            yield range(first, max(place, plan.place[store.wait]) + 1)
