"""The bound on the cycles of a plan: by hand, and against schedules that keep to the memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.time.bound import Layer, Load, Plan, Store, least_cycles
from npu_plans.time.program import Body, Start, Step, Wait, Work
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import simulate, total_of

RATES = Rates({}, Fraction(1), Fraction(8), setup=10, jump=2, channels=2)
TILE = 800
"""Bytes of a tile: 100 cycles of the bus, 110 with the start."""


def least(*layers: Layer, moved: tuple[Load | Store, ...] = (), capacity: int = 1000) -> int:
    loads = tuple(each for each in moved if isinstance(each, Load))
    stores = tuple(each for each in moved if isinstance(each, Store))
    return least_cycles(Plan(layers, loads, stores), capacity, RATES)


def test_layers_alone() -> None:
    assert least() == 0
    assert least(Layer(5), Layer(7)) == 12


def test_nothing_hides_in_front_of_the_first_layer_and_behind_the_last_one() -> None:
    assert least(Layer(5), moved=(Load(0, TILE), Store(0, TILE))) == 100 + 5 + 100


def test_a_load_that_fits_beside_a_layer() -> None:
    assert least(Layer(300, 200), Layer(5, TILE), moved=(Load(1, TILE),)) == 305
    assert least(Layer(30, 200), Layer(5, TILE), moved=(Load(1, TILE),)) == 105


def test_a_load_that_does_not_fit_beside_a_layer() -> None:
    """The layer leaves 400 bytes: at least 50 cycles of the load come when it is done."""
    assert least(Layer(300, 600), Layer(5, TILE), moved=(Load(1, TILE),)) == 300 + 50 + 5


def test_a_store_that_does_not_fit_beside_a_layer() -> None:
    layers = (Layer(5, TILE), Layer(300, 600), Layer(300, 600))
    assert least(*layers, moved=(Store(0, TILE),)) == 5 + 50 + 600
    assert least(*layers, moved=(Store(0, TILE, kept=True),)) == 605


def test_a_map_that_leaves_and_comes_back() -> None:
    """Nothing of it can be loaded before it is stored, however much memory there is."""
    layers = (Layer(5, TILE), Layer(30), Layer(5, TILE))
    moved = (Store(0, TILE, needed=2), Load(2, TILE, source=0))
    assert least(*layers, moved=moved, capacity=9999) == 5 + 200 + 5
    fresh = (Store(0, TILE), Load(2, TILE))
    assert least(*layers, moved=fresh, capacity=9999) == 200


def test_channels_that_prepare_runs() -> None:
    """101 runs of 8 bytes keep a channel for 10 + 200 + 101 cycles, and there are two channels."""
    many = (Load(0, 808, 101), Load(0, 808, 101), Load(0, 808, 101))
    assert least(Layer(5, 2424), moved=many) == 3 * 311 // 2 + 5
    after = tuple(replace(each, user=1) for each in many)
    assert least(Layer(5, 1000), Layer(5), moved=after) == 5 + 3 * 311 // 2 + 5
    # Memory for one of them takes 311 cycles off, for each byte as many as for any other.
    assert least(Layer(900, 1000 - 808), Layer(5), moved=after) == 900 + 311 + 5


@dataclass(frozen=True)
class Schedule:
    """A plan, the program of one order of its transfers, and the memory that this order needs."""

    plan: Plan
    program: Body
    capacity: int


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Random layers with stores that are waited for, and loads that start, at random places."""
    count = draw(st.integers(1, 6))
    size, runs = st.integers(0, 900), st.integers(1, 9)
    before: list[list[Step]] = [[] for _ in range(count + 1)]
    after: list[list[Step]] = [[] for _ in range(count)]
    needed: list[list[Step]] = [[] for _ in range(count + 1)]
    own = [draw(st.integers(0, 500)) for _ in range(count)]
    held = [0] * (count + 1)
    loads, stores, token = list[Load](), list[Store](), 0
    for source in range(count):
        for _ in range(draw(st.integers(0, 2))):
            moved, number, token = draw(size), draw(runs), token + 1
            done = draw(st.integers(source + 1, count))
            after[source].append(Start(token, moved, number))
            before[done].insert(0, Wait(token))
            own[source] += moved
            held[source + 1 : done] = [each + moved for each in held[source + 1 : done]]
            stores.append(Store(source, moved, number))
            if done < count and draw(st.booleans()):  # it comes back
                token += 1
                first = draw(st.integers(done, count - 1))
                user = draw(st.integers(first, count - 1))
                before[first].append(Start(token, moved, number))
                needed[user].append(Wait(token))
                own[user] += moved
                held[first:user] = [each + moved for each in held[first:user]]
                loads.append(Load(user, moved, number, source))
                stores[-1] = replace(stores[-1], needed=user)
    for user in range(count):
        for _ in range(draw(st.integers(0, 2))):
            moved, number, token = draw(size), draw(runs), token + 1
            first = draw(st.integers(0, user))
            before[first].append(Start(token, moved, number))
            needed[user].append(Wait(token))
            own[user] += moved
            held[first:user] = [each + moved for each in held[first:user]]
            loads.append(Load(user, moved, number))
    cycles = [draw(st.integers(0, 200)) for _ in range(count)]
    program: list[Step] = []
    for layer in range(count):
        program += [*before[layer], *needed[layer], Work(cycles[layer]), *after[layer]]
    program += before[count]
    layers = tuple(map(Layer, cycles, own))
    capacity = max(map(sum, zip(own, held[:count], strict=True)))
    return Schedule(Plan(layers, tuple(loads), tuple(stores)), tuple(program), capacity)


@settings(max_examples=300, deadline=None)
@given(schedule=schedules(), channels=st.integers(1, 4))
def test_no_schedule_is_faster(schedule: Schedule, channels: int) -> None:
    rates = replace(RATES, channels=channels)
    found = total_of(simulate(schedule.program, rates)).total
    bound = least_cycles(schedule.plan, schedule.capacity, rates)
    assert sum(each.cycles for each in schedule.plan.layers) <= bound <= found
    assert least_cycles(schedule.plan, 2 * schedule.capacity, rates) <= bound
