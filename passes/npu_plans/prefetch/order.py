"""Starts loads earlier, and waits for stores later, as far as the memory allows. No IR in here.

    conv 1              start w2            A load starts in front of a step that computes, so that
    start w2       =>   conv 1              it runs meanwhile. A store is waited for behind the step
    wait w2             wait w2             that computes next. Both make buffers live longer.
    conv 2              conv 2

Loads keep their order: the one that is needed first starts first, since all share one bus.
"""

from __future__ import annotations

from dataclasses import dataclass

from npu_plans.prefetch.plan import Plan
from npu_plans.prefetch.problem import Block, Transfer
from npu_plans.prefetch.shorter_waits import shorten_waits


@dataclass(frozen=True)
class Order:
    """The order in which the steps of a block are to run, and the offsets of its buffers."""

    steps: tuple[int, ...]
    offsets: tuple[int, ...]


def ordered(block: Block, capacity: int) -> Order:
    """The steps of a block in the order in which they are to run.

    `capacity`: the bytes on chip. In a first round each transfer gets one step that computes beside
    it, in a second one as many as it takes to hide it. Then loads that are waited for one after the
    other start together. If the channels are known, the virtual clock then says where the core
    still waits, and whether it waits less in other orders; first with buffers that are in use as a
    whole, and then with their parts. What starts early in a part takes room that others may need
    more.
    """
    plan = Plan(block, capacity)
    loads = [each for each in block.transfers if each.load]
    stores = [each for each in block.transfers if not each.load]
    for deep in (False, True):
        for each in loads:
            start_earlier(plan, each, deep=deep)
        for each in stores:
            wait_later(plan, each, deep=deep)
    for each in loads:
        start_together(plan, each)
    if block.channels:
        shorten_waits(plan)
        plan.fine = True
        shorten_waits(plan)
    return Order(tuple(plan.order), tuple(plan.offsets))


def start_earlier(plan: Plan, transfer: Transfer, *, deep: bool) -> None:
    """Start a load before a step that computes, if that is possible.

    With `deep`, before as many steps as take as long as the load.
    """
    beside = plan.work(plan.place[transfer.start], plan.place[transfer.wait], spare=deep)
    cycles = transfer.cycles if deep else 1
    group, taken, to = [transfer.start], 0, plan.place[transfer.start]
    for step, place in plan.before(transfer, group):
        if beside >= cycles:
            break
        if step.work:
            places = range(place, plan.place[transfer.start])
            if not plan.can_live(transfer, places):
                break
            beside += step.spare if deep else step.work
            taken, to = len(group), place
    if taken:
        plan.move(group[:taken][::-1], to)


def start_together(plan: Plan, transfer: Transfer) -> None:
    """Start a load before the waits in front of it, up to the last step that computes."""
    group, taken, to = [transfer.start], 0, plan.place[transfer.start]
    for step, place in plan.before(transfer, group):
        if step.work:
            break
        if plan.order[place] in plan.waits:
            places = range(place, plan.place[transfer.start])
            if not plan.can_live(transfer, places):
                break
            taken, to = len(group), place
    if taken:
        plan.move(group[:taken][::-1], to)


def wait_later(plan: Plan, transfer: Transfer, *, deep: bool) -> None:
    """Wait for a store behind a step that computes, if that is possible.

    With `deep`, behind as many steps as take as long as the store.
    """
    last = plan.place[transfer.wait]
    beside = plan.work(plan.place[transfer.start], last, spare=deep)
    cycles, to = transfer.cycles if deep else 1, last
    for step, place in plan.behind(transfer):
        if beside >= cycles:
            break
        if step.work:
            if not plan.can_live(transfer, range(last + 1, place + 1)):
                break
            beside += step.spare if deep else step.work
            to = place
    if to != last:
        plan.move([transfer.wait], to + 1)
