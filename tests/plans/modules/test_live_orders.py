"""The order with the smallest peak is compared with all orders; peaks of some modules by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.modules.footprints import MapBytes
from npu_plans.modules.live_orders import (
    MOST_BRANCHES,
    Group,
    Orders,
    Work,
    WorkStep,
    best_order,
    lowest_peak,
    mask_of,
    steps_of,
)
from npu_plans.modules.liveness import live_module
from npu_plans.modules.module_data import Branch, FeatureMap, Layer, Module


def peak_of(work: Work, order: Sequence[int]) -> int:
    """The most bytes that are on chip if steps run in an order."""
    done, peak = 0, 0
    for number in order:
        peak = max(peak, work.needed(number, done))
        done |= 1 << number
    return peak


def a_map(key: int, size: int) -> FeatureMap:
    return FeatureMap(key, MapBytes(size, size, size))


X = a_map(0, 10)


def module(branches: Sequence[Branch], size: int, merge: str = "concat") -> Module:
    """A module that starts from X."""
    kind = "add" if merge == "add" else "concat"
    return Module("m", X, a_map(999, size), kind, tuple(branches))


def chain(part: int, *sizes: int, key: int) -> Branch:
    """A branch of layers, each of the map before it; its maps have the numbers from `key` on."""
    steps: list[Layer] = []
    here = X
    for index, size in enumerate(sizes):
        made = a_map(key + index, size)
        steps.append(Layer("layer", (here,), made))
        here = made
    return Branch(part, tuple(steps), here)


@st.composite
def modules(draw: st.DrawFn, depth: int = 1, source: FeatureMap = X, keys: int = 0) -> Module:
    """A module of at most three branches of at most two steps, which may be modules.

    Maps have 1 to 9 bytes.
    """
    sizes, made = st.integers(1, 9), [keys]
    merge = draw(st.sampled_from(["concat", "add"]))

    def new(size: int) -> FeatureMap:
        made[0] += 1
        return a_map(made[0], size)

    branches: list[Branch] = []
    for part in range(draw(st.integers(2, 3))):
        steps: list[Layer | Module] = []
        here = source
        for index in range(draw(st.integers(int(part == 0), 2))):
            if depth and index and draw(st.booleans()):
                inner = draw(modules(depth - 1, here, made[0]))
                made[0] = inner.result.key
                steps.append(inner)
            else:
                reads = (here,) if draw(st.booleans()) else (here, source)
                steps.append(
                    Layer(
                        "layer",
                        reads,
                        new(draw(sizes)),
                        weights=draw(st.integers(0, 3)),
                        elementwise=draw(st.booleans()),
                    )
                )
            here = steps[-1].result
        branches.append(Branch(part, tuple(steps), here))
    ordered = draw(st.permutations(branches))
    total = sum(branch.result.size.full for branch in branches)
    result = new(branches[0].result.size.full if merge == "add" else total)
    made_module = Module("m", source, result, "concat", tuple(ordered))
    return replace(made_module, merge="add") if merge == "add" else made_module


def all_orders(work: Work) -> Iterator[tuple[int, ...]]:
    """Every order in which each step has what it reads."""

    def more(order: tuple[int, ...], done: int) -> Iterator[tuple[int, ...]]:
        if len(order) == len(work.steps):
            yield order
        for number, before in enumerate(work.before):
            if not done >> number & 1 and not before & ~done:
                yield from more((*order, number), done | 1 << number)

    return more((), 0)


def branch_orders(group: Group) -> Iterator[tuple[int, ...]]:
    """Every order of the steps that finishes a branch before it begins another."""
    choices = [
        [
            sum(items, ())
            for items in product(
                *(branch_orders(item) if isinstance(item, Group) else [(item,)] for item in branch)
            )
        ]
        for branch in group.branches
    ]
    for branches in product(*choices):
        for order in permutations(branches):
            yield (*sum(order, ()), *group.tail)


def plain_peak(work: Work, order: Sequence[int]) -> int:
    """The peak of an order, from lifetimes."""
    place = {number: at for at, number in enumerate(order)}
    makers = {step.makes: number for number, step in enumerate(work.steps)}
    first = [place[makers[p]] if p in makers else -1 for p in range(len(work.sizes))]
    last = [
        len(order)
        if work.kept >> p & 1
        else max((place[n] for n, s in enumerate(work.steps) if s.reads >> p & 1), default=first[p])
        for p in range(len(work.sizes))
    ]
    peak = 0
    for at, number in enumerate(order):
        step = work.steps[number]
        live = sum(size for p, size in enumerate(work.sizes) if first[p] < at <= last[p])
        operands = [
            [p for p in range(len(work.sizes)) if operand >> p & 1] for operand in step.overwrites
        ]
        in_place = any(
            sum(work.sizes[p] for p in pieces) >= work.sizes[step.makes]
            and all(last[p] == at for p in pieces)
            for pieces in operands
        )
        for row in work.rows:
            made = [i for i, p in enumerate(row) if first[p] <= at]
            between = row[made[0] : made[-1]] if made else ()
            live += sum(work.sizes[p] for p in between if first[p] > at)
        peak = max(peak, live + step.extra + (0 if in_place else work.sizes[step.makes]))
    return peak


@settings(max_examples=50, deadline=None)
@given(modules(), st.booleans())
def test_all_orders(made: Module, outlives: bool) -> None:
    live = live_module(made, input_outlives=outlives)
    work, group = live.work, live.group
    orders = list(branch_orders(group))
    peaks = [plain_peak(work, order) for order in orders]
    assert peaks == [peak_of(work, order) for order in orders]
    best = best_order(work, group)
    assert best.peak == min(peaks)
    assert plain_peak(work, flat(group, best.orders)) == best.peak
    apart = replace(work, rows=())
    if len(work.steps) <= 7:
        assert lowest_peak(apart) == min(plain_peak(apart, order) for order in all_orders(work))
    bound = lowest_peak(apart)
    assert bound is not None
    assert bound <= best.peak


def flat(group: Group, orders: Orders) -> tuple[int, ...]:
    """The steps of a group in the order of `orders`."""
    found: list[int] = []
    for at in orders[group]:
        for item in group.branches[at]:
            found += flat(item, orders) if isinstance(item, Group) else (item,)
    return (*found, *group.tail)


def test_the_input_dies_with_its_last_reader() -> None:
    # x 10, then a 4 -> b 1; x 10, then c 6. Large branch last: x dies in it.
    two = module([chain(0, 4, 1, key=1), chain(1, 6, key=3)], 7)
    dies, lives = (live_module(two, input_outlives=each) for each in (False, True))
    # Part 0 first: x + a, x + a + b, then x + b + c. Part 1 first: x + c, x + c + a, c + a + b.
    assert [peak_of(dies.work, order) for order in ((0, 1, 2), (2, 0, 1))] == [17, 20]
    assert [peak_of(lives.work, order) for order in ((0, 1, 2), (2, 0, 1))] == [17, 21]
    assert best_order(dies.work, dies.group).orders[dies.group] == (0, 1)
    swapped = live_module(replace(two, branches=two.branches[::-1]), input_outlives=False)
    assert best_order(swapped.work, swapped.group).orders[swapped.group] == (1, 0)


def test_a_view_costs_nothing_and_a_second_one_is_a_copy() -> None:
    view = Branch(1, (), X)
    once = live_module(module([chain(0, 3, key=1), view], 13), input_outlives=False)
    assert best_order(once.work, once.group).peak == 13
    twice = module([chain(0, 3, key=1), view, replace(view, part=2)], 23)
    live = live_module(twice, input_outlives=False)
    assert best_order(live.work, live.group).peak == 23
    assert len(live.group.tail) == 1


def test_a_sum_takes_the_place_of_a_map_that_dies() -> None:
    identity = module([chain(0, 10, key=1), Branch(1, (), X)], 10, "add")
    assert live_module(identity, input_outlives=True).work.steps[-1].overwrites
    assert peak(identity, outlives=False) == peak(identity, outlives=True) == 20


def peak(made: Module, *, outlives: bool) -> int:
    live = live_module(made, input_outlives=outlives)
    return best_order(live.work, live.group).peak


def test_leaving_a_branch_can_be_better() -> None:
    # Both branches begin and end with a map of 1 byte, and have one of 9 between.
    both = module([chain(0, 1, 9, 1, key=1), chain(1, 1, 9, 1, key=4)], 2)
    live = live_module(both, input_outlives=False)
    # x lives beside the 9 bytes of the first branch, unless both branches have begun: then x dies.
    assert best_order(live.work, live.group).peak == 20
    assert lowest_peak(live.work) == 12


def test_equal_branches_keep_their_order() -> None:
    even = module([chain(part, 5, 5, key=10 * part + 1) for part in (2, 1, 0)], 15)
    live = live_module(even, input_outlives=False)
    assert best_order(live.work, live.group).orders[live.group] == (0, 1, 2)


def test_parts_side_by_side_leave_no_gap() -> None:
    apart = module([chain(part, 5, 5, key=10 * part + 1) for part in (2, 0, 1)], 15)
    live = live_module(apart, input_outlives=False)
    assert best_order(live.work, live.group).orders[live.group] == (0, 2, 1)


def test_many_branches_keep_their_order_too() -> None:
    count = MOST_BRANCHES + 1
    # The other order would be better: the large map would meet fewer results.
    branches = [chain(part, 2 + part, 1, key=10 * part + 1) for part in range(count)]
    live = live_module(module(branches, count), input_outlives=False)
    best = best_order(live.work, live.group)
    assert best.orders[live.group] == tuple(range(count))
    assert best.peak == plain_peak(live.work, flat(live.group, best.orders))
    assert lowest_peak(live.work, limit=100) is None
    assert steps_of(live.group) == mask_of(range(2 * count))


@pytest.mark.parametrize("limit", [0, 1])
def test_no_bound_if_there_are_too_many_sets(limit: int) -> None:
    assert lowest_peak(Work((1, 1, 1), (WorkStep(1, 1), WorkStep(1, 2))), limit) is None
