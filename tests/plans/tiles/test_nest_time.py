"""The predicted cycles of a loop over tiles, against the simulation of the loop."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npu_plans.prefetch.groups import GROUPS
from npu_plans.tiles.nest_time import (
    Moved,
    Rates,
    Through,
    hidden_by_groups,
    nest_cycles,
    through,
)
from npu_plans.time import rates as simulated
from npu_plans.time.program import Loop, Rename, Start, Step, Wait, Work
from npu_plans.time.simulate import simulate, total_of

RATES = Rates(100, 4, Fraction(16), 4)
KERNELS, SUMS, STORE = range(3)


def program(steps: int, work: int, tiles: tuple[Moved, ...], *, late: bool) -> list[Step]:
    """A double-buffered loop: two tiles are loaded in a step, the second one is stored again."""

    kernels = Start(KERNELS, tiles[KERNELS].bytes, tiles[KERNELS].runs)
    sums = Start(SUMS, tiles[SUMS].bytes, tiles[SUMS].runs)
    store = Start(STORE, tiles[SUMS].bytes, tiles[SUMS].runs)
    loads, waits, done = (kernels, sums), (Wait(KERNELS), Wait(SUMS)), Wait(STORE)
    head = (kernels, Wait(KERNELS), sums, Wait(SUMS))
    if not late:
        steady = (*loads, Work(work), store, done, *waits)
        return [*head, Loop(steps - 1, steady), Work(work), store, done]
    first, last = (*loads, Work(work), *waits), (store, Work(work), done)
    steady = (*loads, store, Work(work), *waits, done)
    return [*head, *first, Loop(steps - 2, steady), *last, store, done]


def cycles(steps: int, work: int, tiles: tuple[Moved, ...], *, late: bool) -> tuple[float, float]:
    """The cycles of the loop: predicted, and simulated."""
    copies, at_once = (3, 0) if late else (2, steps)
    parts = [through(tile.times(steps), tile, copies, 1) for tile in tiles]
    parts += [through(tiles[SUMS].times(steps), tiles[SUMS], copies, 1, at_once)]
    rates = simulated.Rates({}, Fraction(1), RATES.bytes, RATES.setup, RATES.jump, RATES.channels)
    found = total_of(simulate(tuple(program(steps, work, tiles, late=late)), rates)).total
    return float(nest_cycles(Fraction(work * steps), steps, parts, RATES)), found


MOVED = st.builds(Moved, st.just(1), st.integers(1, 40).map(lambda n: n * 512), st.integers(1, 400))


@settings(max_examples=60, deadline=None)
@given(
    steps=st.integers(4, 40),
    work=st.integers(1, 6000),
    kernels=MOVED,
    sums=MOVED,
    late=st.booleans(),
)
@example(steps=16, work=3136, kernels=Moved(1, 16384, 1), sums=Moved(1, 12544, 896), late=True)
def test_the_prediction_is_close(
    steps: int, work: int, kernels: Moved, sums: Moved, *, late: bool
) -> None:
    predicted, simulated_cycles = cycles(steps, work, (kernels, sums), late=late)
    assert predicted == pytest.approx(simulated_cycles, rel=0.15)


@pytest.mark.parametrize(("work", "gains"), [(5000, True), (100, False)])
def test_a_third_part_helps_where_something_is_idle(work: int, *, gains: bool) -> None:
    """Where the bus never rests, stores that are waited for cost nothing."""
    tiles = (Moved(1, 512, 1), Moved(1, 32768, 1))
    (now, now_simulated), (late, late_simulated) = (
        cycles(32, work, tiles, late=each) for each in (False, True)
    )
    assert (late < 0.9 * now) == (late_simulated < 0.9 * now_simulated) == gains


def test_jumps_of_two_transfers_run_at_the_same_time() -> None:
    tiles = (Moved(1, 512, 1), Moved(1, 1600, 1001))
    predicted, found = cycles(20, 10, tiles, late=True)
    assert predicted == pytest.approx(found, rel=0.05)
    one = Rates(RATES.setup, RATES.jump, RATES.bytes, channels=1)
    parts = [through(tile.times(20), tile, 3, 1) for tile in (*tiles, tiles[1])]
    assert nest_cycles(Fraction(200), 20, parts, one) > 1.5 * predicted


def ahead_cycles(steps: int, work: int, load: Moved, store: Moved) -> tuple[float, float]:
    """The cycles of a loop that loads two steps ahead and stores a step later."""
    loads, stores = (Start(at, each.bytes, each.runs) for at, each in enumerate((load, store)))
    carried = Rename(((0, 2),))
    steady = (stores, loads, Work(work), Wait(2), Wait(1), carried)
    program = (
        *(loads, Rename(((0, 3),)), loads, carried, Wait(3), loads, Work(work), Wait(2), carried),
        Loop(steps - 3, steady),
        *(stores, Work(work), Wait(2), Wait(1), stores, Work(work), Wait(1), stores, Wait(1)),
    )
    rates = simulated.Rates({}, Fraction(1), RATES.bytes, RATES.setup, RATES.jump, RATES.channels)
    parts = [through(load.times(steps), load, 3, 1, ahead=True)]
    parts.append(through(store.times(steps), store, 2, 1))
    found = total_of(simulate(program, rates)).total
    return float(nest_cycles(Fraction(work * steps), steps, parts, RATES)), found


@settings(max_examples=60, deadline=None)
@given(steps=st.integers(6, 40), work=st.integers(1, 6000), load=MOVED, store=MOVED)
@example(steps=40, work=1, load=Moved(1, 2048, 1), store=Moved(1, 2048, 1))
def test_loads_two_steps_ahead(steps: int, work: int, load: Moved, store: Moved) -> None:
    predicted, found = ahead_cycles(steps, work, load, store)
    assert predicted == pytest.approx(found, rel=0.25)


def test_starts_hide_behind_other_transfers() -> None:
    """A transfer of 128 cycles needs a start of 100 cycles: with two under way, the bus is busy."""
    tile = Moved(1, 2048, 1)
    near = nest_cycles(Fraction(40), 40, [through(tile.times(40), tile, 2, 1)], RATES)
    far = nest_cycles(Fraction(40), 40, [through(tile.times(40), tile, 3, 1, ahead=True)], RATES)
    assert near > 1.7 * far > 1.7 * 40 * 128
    wide = Moved(1, 2048, 51)
    few = nest_cycles(Fraction(40), 40, [through(wide.times(40), wide, 3, 1, ahead=True)], RATES)
    assert few == pytest.approx(40 * (300 + 128) / 2, rel=0.06)


def test_one_copy_hides_nothing() -> None:
    tile = Moved(1, 160, 1)
    part = through(tile.times(5), tile, 1, 1)
    assert part == Through(alone=tile.times(5))
    assert nest_cycles(Fraction(1000), 5, [part], RATES) == 1000 + 5 * (100 + 10)


def test_what_is_stored_in_its_step_is_no_more_than_all() -> None:
    """The last tiles of a loop may be smaller than the others."""
    tile, moved = Moved(1, 160, 4), Moved(5, 700, 20)
    part = through(moved, tile, 2, 2, at_once=5)
    assert part == Through(behind=moved)
    assert through(moved, tile, 3, 2) == Through(Moved(3, 380, 12), alone=Moved(2, 320, 8))


@pytest.mark.parametrize(
    ("store", "last", "hidden"),
    [(8000, 10_000, 8000), (8000, 3000, 3000), (8000, 100 * GROUPS[-1], 0), (90, 10_000, 0)],
)
def test_stores_hide_behind_groups_of_their_layer(store: int, last: int, hidden: int) -> None:
    """All parts but the last leave beside computing, if that takes longer than their starts."""
    found = hidden_by_groups(Fraction(store), Fraction(last), RATES)
    assert found == Fraction(hidden * (GROUPS[-1] - 1), GROUPS[-1])
