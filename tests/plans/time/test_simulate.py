"""The virtual clock: its rules by hand, and the simulation against stepping through everything."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings

from helpers.time_programs import RANDOM_RATES, bodies
from npu_plans.time.program import Body, Loop, Rename, Start, Step, Wait, Work
from npu_plans.time.rates import Rates, UnknownRate
from npu_plans.time.simulate import Cycles, ProgramError, simulate, total_of
from npu_plans.time.stepping import events, steps

RATES = Rates({"f32": Fraction(2)}, Fraction(4), Fraction(8), setup=10, jump=3, channels=2)


def cycles(*program: Step, rates: Rates = RATES) -> Cycles:
    return total_of(simulate(program, rates))


def test_a_transfer_that_nothing_hides() -> None:
    found = cycles(Start(0, bytes=60, runs=3), Wait(0), Work(5))
    own = 10 + 2 * 3 + 8
    assert found == Cycles(5, own, 8, own, 60, 1, exposed_bytes=60, bare_bytes=60)
    assert found.total == own + 5


def test_a_transfer_that_a_layer_hides_in_part() -> None:
    found = cycles(Start(0, bytes=80), Work(15), Wait(0))
    assert (found.compute, found.exposed, found.total) == (15, 5, 20)
    assert (found.exposed_bytes, found.bare_bytes) == (80 * 5 // 20, 0)


def test_work_that_is_no_layer_hides_cycles_but_leaves_a_transfer_bare() -> None:
    found = cycles(Start(0, bytes=80), Work(20, is_layer=False), Wait(0))
    assert (found.exposed, found.exposed_bytes, found.bare_bytes) == (0, 0, 80)


def test_two_channels_share_the_bus() -> None:
    """Both begin at 0 and are ready at 10; the second one gets the bus after the first one."""
    found = cycles(Start(0, bytes=80), Start(1, bytes=80), Wait(1), Wait(0))
    assert (found.total, found.bus) == (10 + 10 + 10, 20)


def test_a_third_transfer_queues_and_the_core_goes_on() -> None:
    """The third one begins when the first channel is free, at 20, while the core works."""
    third = (Start(0, bytes=80), Start(1, bytes=80), Start(2, bytes=80))
    assert cycles(*third, Work(5), Wait(0), Wait(1), Wait(2)).total == 20 + 10 + 10
    one = replace(RATES, channels=1)
    assert cycles(*third, Wait(0), Wait(1), Wait(2), rates=one).total == 3 * 20


def test_the_bus_is_taken_in_the_order_of_starts() -> None:
    """A transfer that starts second waits for one with many jumps, though it is ready earlier."""
    found = cycles(Start(0, bytes=8, runs=11), Start(1, bytes=8), Wait(1), Wait(0))
    assert found.total == 10 + 30 + 1 + 1


def test_a_loop_whose_first_step_differs() -> None:
    body, first = (Work(3, "a"),), (Work(7, "b"),)
    ledger = simulate((Loop(10, body, {0: first, 99: first}),), RATES)
    assert {owner: each.compute for owner, each in ledger.items()} == {"b": 7, "a": 27}


def test_a_token_that_a_loop_carries() -> None:
    body = (Start(1, 80), Work(12), Wait(0), Rename(((1, 0),)))
    found = cycles(Start(0, 80), Loop(10**9, body), Wait(0), rates=replace(RATES, channels=1))
    assert found.transfers == 10**9 + 1
    assert (found.compute, found.total) == (12 * 10**9, 20 * 10**9 + 20)


@pytest.mark.parametrize("count", range(12))
def test_what_is_left_after_whole_cycles(count: int) -> None:
    """The state returns after some iterations; fewer than a whole cycle may be left then."""
    body = (Start(1, 84, 4), Work(3), Wait(0), Rename(((1, 0),)))
    program = (Start(0, 84, 4), Loop(count, body), Wait(0))
    assert simulate(program, RATES) == simulate(tuple(steps(program)), RATES)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ((Wait(0),), "a wait has no transfer"),
        ((Start(0, 1),), "a transfer has no wait"),
        ((Start(0, 1), Start(0, 1)), "a transfer starts again before its wait"),
        ((Rename(((0, 1),)),), "a loop carries a token without a transfer"),
        ((Start(0, 1), Start(1, 1), Rename(((0, 1),))), "a transfer starts again before its wait"),
    ],
)
def test_programs_that_mean_nothing(program: Body, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        simulate(program, RATES)


def test_no_transfer_without_an_engine() -> None:
    with pytest.raises(UnknownRate, match="there is no DMA engine"):
        cycles(Start(0, 1), Wait(0), rates=replace(RATES, channels=0))


@settings(max_examples=300, deadline=None)
@given(bodies(), RANDOM_RATES)
def test_skipping_is_exact(program: Body, rates: Rates) -> None:
    ledger = simulate(program, rates)
    assert ledger == simulate(tuple(steps(program)), rates)
    trace = list(events(program, rates))
    for owner, each in ledger.items():
        own = [event for event in trace if event.owner == owner]
        times = {
            kind: sum(event.end - event.begin for event in own if event.kind == kind)
            for kind in ("work", "wait")
        }
        assert times == {"work": each.compute, "wait": each.exposed}
        assert sum(event.bytes for event in own) == each.bytes


@settings(max_examples=300, deadline=None)
@given(bodies(), RANDOM_RATES)
def test_what_holds_for_all_programs(program: Body, rates: Rates) -> None:
    whole = total_of(simulate(program, rates))
    trace = list(events(program, rates))
    assert whole.total == max((event.end for event in trace), default=0)
    assert whole.total >= max(whole.compute, whole.bus)
    assert whole.total <= whole.compute + whole.transfer
    assert 0 <= whole.exposed_bytes <= whole.bytes
    assert whole.bare_bytes <= whole.bytes
    for channel in range(rates.channels):
        busy = [each for each in trace if each.kind == "transfer" and each.channel == channel]
        assert all(one.end <= other.begin for one, other in pairwise(busy))
