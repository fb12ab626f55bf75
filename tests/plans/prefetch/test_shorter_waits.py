"""Starts and waits move where the core waits; the names of steps say what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from npu_plans.prefetch.plan import Plan
from npu_plans.prefetch.problem import Block, Lived, Step, Touch, Transfer
from npu_plans.prefetch.shorter_waits import keep_best, postponed, shorten_waits
from npu_plans.prefetch.timeline import Timeline


def chip(name: str, *, writes: bool) -> Touch:
    """A buffer on chip that a step reads or writes."""
    return Touch(name, None, writes)


def layer(work: int, *reads: str, writes: str = "") -> Step:
    """A layer that reads some buffers, and maybe writes one."""
    touches = [chip(each, writes=False) for each in reads]
    return Step((*touches, *([chip(writes, writes=True)] if writes else [])), work=work)


def transfer(buffer: str, start: int, *, load: bool) -> tuple[Step, Step]:
    """The start, at a number, and the wait of a transfer."""
    touch = chip(buffer, writes=load)
    return Step((touch,)), Step((touch,), needs=(start,))


def order_of(block: Block, capacity: int = 0) -> list[int]:
    """The order in which the core waits less."""
    plan = Plan(block, capacity)
    before = Timeline(block, plan.order).total
    shorten_waits(plan)
    assert Timeline(block, plan.order).total <= before
    return plan.order


STORE, WAIT_A = transfer("a", 1, load=False)
LOAD, WAIT_W = transfer("w", 3, load=True)
GIVES_WAY = Block(
    (
        *(layer(10, writes="a"), STORE, layer(10, "b"), LOAD, WAIT_W),
        *(layer(60, "w"), WAIT_A, layer(1, writes="a")),
    ),
    (Transfer(1, 6, False, 55, 50), Transfer(3, 4, True, 25, 20)),
    channels=2,
)
"""A store of 50 cycles, in front of a load of 20 that layer 5 waits for."""


def test_a_load_starts_in_front_of_a_store() -> None:
    assert order_of(GIVES_WAY).index(3) == 0


@pytest.mark.parametrize("room", [False, True])
def test_a_store_gives_way(room: bool) -> None:
    """The load finds no room on chip earlier, as layer 2 uses all of it."""
    full = replace(GIVES_WAY.steps[2], inside=((0, 8),))
    steps = (*GIVES_WAY.steps[:2], full, *GIVES_WAY.steps[3:])
    block = replace(GIVES_WAY, steps=steps, buffers=(Lived(0, 4, (3, 4, 5)),))
    expected = [3, 0, 1, 2, 4, 5, 6, 7] if room else [0, 2, 3, 1, 4, 5, 6, 7]
    assert order_of(block, 12 if room else 8) == expected


def test_a_store_that_is_needed_soon_gives_no_way() -> None:
    """What it stores is overwritten in front of the load."""
    steps = list(GIVES_WAY.steps)
    steps[2] = replace(layer(10, writes="a"), inside=((0, 8),))
    order = (0, 1, 6, 2, 3, 4, 5, 7)
    number = {old: new for new, old in enumerate(order)}
    moved = tuple(replace(steps[old], needs=()) for old in order)
    transfers = tuple(
        replace(each, start=number[each.start], wait=number[each.wait])
        for each in GIVES_WAY.transfers
    )
    block = Block(moved, transfers, (Lived(0, 4, (4, 5, 6)),), channels=2)
    assert order_of(block, 8) == list(range(8))


def test_loads_in_the_way_start_earlier_too() -> None:
    """Layer 7 waits for the second load; the first one is needed earlier and stays in front."""
    block = Block(
        (
            *(layer(30), *apart(transfer("v", 1, load=True), layer(30)), layer(30, "v")),
            *(*transfer("w", 5, load=True), layer(5, "w")),
        ),
        (Transfer(1, 3, True, 20, 20), Transfer(5, 6, True, 100, 100)),
        channels=1,
    )
    assert order_of(block) == [1, 5, 0, 2, 3, 4, 6, 7]
    assert Timeline(block, order_of(block)).total == 20 + 100 + 5


def apart(ends: tuple[Step, Step], between: Step) -> tuple[Step, Step, Step]:
    """The start of a transfer, a step, and the wait."""
    return ends[0], between, ends[1]


STORED = Block(
    (
        *(layer(1, writes="a"), *transfer("a", 1, load=False), layer(30), layer(30)),
        replace(layer(30), inside=((0, 8),)),
    ),
    (Transfer(1, 2, False, 90, 90),),
    (Lived(0, 4, (0, 1, 2)),),
    channels=1,
)
"""A store of 90 cycles. Beside the last layer there is no room for what it stores."""


def test_a_store_is_waited_for_later() -> None:
    """Its memory is free for as long as it takes, but not beside the last layer."""
    assert order_of(STORED, 8) == [0, 1, 3, 4, 2, 5]


def test_a_wait_makes_way_for_its_start() -> None:
    """The store starts behind the load, and its wait goes behind the next step that takes time."""
    steps = (layer(1, writes="a"), *transfer("a", 1, load=False), *transfer("w", 3, load=True))
    transfers = (Transfer(1, 2, False, 90, 90), Transfer(3, 4, True, 9, 9))
    plan = Plan(Block((*steps, layer(30, "w"), layer(30)), transfers, channels=1), 8)
    orders = [(list(plan.order), changed) for changed in postponed(plan, transfers[0])]
    assert orders == [([0, 3, 1, 4, 2, 5, 6], range(1, 5))]


def test_a_plan_from_before() -> None:
    """The buffer of the load goes to byte 8 when it lives beside the first layer."""
    full = replace(layer(10), inside=((0, 8),))
    steps = (full, *transfer("w", 1, load=True), layer(1, "w"))
    block = Block(steps, (Transfer(1, 2, True),), (Lived(0, 4, (1, 2, 3)),), channels=1)
    plan = Plan(block, 16)
    saved = plan.saved()
    assert plan.start_before(block.transfers[0], 0)
    assert (plan.order, plan.offsets) == ([1, 0, 2, 3], [8])
    plan.restore(saved)
    assert (plan.order, plan.place, plan.offsets) == ([0, 1, 2, 3], [0, 1, 2, 3], [0])
    assert (plan.lived(0), plan.running) == (range(1, 4), [0, 1, 0, 0])


def test_an_order_in_which_nothing_waits_stays() -> None:
    block = replace(GIVES_WAY, transfers=(replace(GIVES_WAY.transfers[0], cycles=1, data=1),))
    assert order_of(block) == list(range(8))


def test_small_steps_are_tried_further() -> None:
    """A load that waits behind a store is one of 2 cycles; 40 layers of a cycle lie between."""
    between = [layer(1) for _ in range(40)]
    count = len(between)
    steps = (
        *(layer(1, writes="a"), *transfer("a", 1, load=False)[:1], *between),
        *transfer("w", count + 2, load=True),
        *(layer(60, "w"), transfer("a", 1, load=False)[1], layer(1, writes="a")),
    )
    transfers = (Transfer(1, count + 5, False, 90, 90), Transfer(count + 2, count + 3, True, 2, 2))
    block = Block(steps, transfers, (Lived(0, 4, (count + 2, count + 3, count + 4)),), channels=2)
    assert Timeline(block, order_of(block, 4)).total == 1 + 40 + 60 + 1


def test_moves_that_bring_nothing_are_undone() -> None:
    block = Block((layer(3), layer(3)), (), channels=1)
    plan = Plan(block, 8)

    def swapped() -> Iterator[range]:
        plan.move([1], 0)
        yield range(2)

    keep_best(plan, Timeline(block, plan.order), swapped(), 0)
    assert plan.order == [0, 1]
