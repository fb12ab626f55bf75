"""The cycles of a block in an order are those of the simulation, where steps are skipped, too."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.prefetch.problem import Block, Step, Transfer
from npu_plans.prefetch.timeline import EVERY, Timeline
from npu_plans.time.program import Body, Start, Wait, Work
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import simulate, total_of

CHANNELS = 2
RATES = Rates({}, Fraction(1), Fraction(1), setup=7, channels=CHANNELS)
"""A transfer takes 7 cycles and one for each byte."""


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """A block of steps that compute, with transfers that start and end anywhere."""
    steps = [Step(work=each) for each in draw(st.lists(st.integers(0, 40), min_size=3 * EVERY))]
    sizes = draw(st.lists(st.integers(1, 60), max_size=20))
    places = st.lists(
        st.integers(0, len(steps) - 1),
        unique=True,
        min_size=2 * len(sizes),
        max_size=2 * len(sizes),
    )
    ends = draw(places)
    transfers: list[Transfer] = []
    for size, *pair in zip(sizes, ends[::2], ends[1::2], strict=True):
        start, wait = sorted(pair)
        steps[start] = steps[wait] = Step()
        transfers.append(Transfer(start, wait, load=True, cycles=7 + size, data=size))
    return Block(tuple(steps), tuple(transfers), channels=CHANNELS)


def body_of(block: Block, order: list[int]) -> Body:
    """The same for the simulation."""
    starts = {each.start: each for each in block.transfers}
    tokens = {each.wait: each.start for each in block.transfers}
    return tuple(
        Start(number, starts[number].data)
        if number in starts
        else Wait(tokens[number])
        if number in tokens
        else Work(block.steps[number].work)
        for number in order
    )


@settings(deadline=None, max_examples=100)
@given(blocks(), st.data())
def test_moves(block: Block, data: st.DataObject) -> None:
    """Steps move, and the clock is told between which places."""
    order = list(range(len(block.steps)))
    starts = {each.start: each.wait for each in block.transfers}
    waits = {wait: start for start, wait in starts.items()}
    timeline = Timeline(block, order)
    for _ in range(4):
        place = data.draw(st.integers(0, len(order) - 1))
        number = order[place]
        last = order.index(starts[number]) - 1 if number in starts else len(order) - 1
        first = order.index(waits[number]) + 1 if number in waits else 0
        to = data.draw(st.integers(first, last))
        order.insert(to, order.pop(place))
        found = timeline.rerun(order, range(min(place, to), max(place, to) + 1))
        fresh = Timeline(block, order)
        assert found.total == fresh.total
        assert found.total == total_of(simulate(body_of(block, order), RATES)).total
        timeline.take(found)
        assert timeline.waited == fresh.waited
        assert [each.seen_from_now for each in timeline.checkpoints] == [
            each.seen_from_now for each in fresh.checkpoints
        ]


def test_it_stops_where_nothing_changes_any_more() -> None:
    """Only the first checkpoint has another state."""
    steps = (Step(work=3), *(Step(work=1) for _ in range(5 * EVERY)))
    timeline = Timeline(Block(steps, (), channels=1), range(len(steps)))
    found = timeline.rerun([1, 0, *range(2, len(steps))], range(2))
    assert (found.total, found.first, len(found.checkpoints)) == (3 + 5 * EVERY, 0, 1)


@pytest.mark.parametrize(
    ("work", "moving", "data", "total"),
    [(9, 0, 0, 9), (9, 8, 5, 15), (20, 8, 5, 20), (9, 8, 2, 12)],
)
def test_a_loop_with_transfers(work: int, moving: int, data: int, total: int) -> None:
    """Its data come behind those of a transfer that has the bus until cycle 10."""
    steps = (Step(), Step(work=work, moving=moving, data=data), Step())
    block = Block(steps, (Transfer(0, 2, load=False, cycles=10, data=10),), channels=1)
    timeline = Timeline(block, range(3))
    assert timeline.total == max(10, total)
    assert timeline.waited[2] == max(0, 10 - total)
