"""The order with the least peak is compared with all orders; peaks with sums written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from npu_plans.modules.layer_graph import LayerGraph, LayerStep, members
from npu_plans.modules.layer_orders import Ordered, least_peak, parts_of


def step(
    makes: int, size: int, *before: int, reads: tuple[int, ...] = (), over: tuple[int, ...] = ()
) -> LayerStep:
    """A step that writes a whole buffer."""
    return LayerStep(sum(1 << each for each in before), reads, makes, (0, size), over)


@st.composite
def graphs(draw: st.DrawFn, most: int = 7, *, claims: bool = True) -> LayerGraph:
    """Layers of maps of 1 to 9 bytes; some run in place, and some are parts of a concatenation."""
    count = draw(st.integers(1, most))
    sizes = [draw(st.integers(1, 9)) for _ in range(count + 1)]
    parts = draw(st.lists(st.integers(0, count - 1), unique=True, max_size=3))
    whole, place = len(sizes), 0
    homes = {number: (number + 1, (0, sizes[number + 1])) for number in range(count)}
    for number in sorted(parts):
        homes[number] = whole, (place, place + sizes[number + 1])
        place += sizes[number + 1]
    steps: list[LayerStep] = []
    for number in range(count):
        sources = draw(st.lists(st.integers(-1, number - 1), min_size=1, max_size=3, unique=True))
        buffer, span = homes[number]
        read = [homes[each][0] if each >= 0 else 0 for each in sources]
        alone = [each for each in sources if each not in parts and (claims or number not in parts)]
        over = [
            each + 1
            for each in alone
            if sizes[each + 1] == sizes[number + 1] and draw(st.booleans())
        ]
        before = sum(1 << each for each in sources if each >= 0)
        reads = tuple(dict.fromkeys(each for each in read if each != buffer))
        steps.append(LayerStep(before, reads, buffer, span, tuple(over), draw(st.integers(0, 2))))
    ends = [number for number in range(count) if draw(st.booleans())]
    if parts:
        before = sum(1 << each for each in parts)
        steps.append(LayerStep(before, (), whole, (0, place)))
    kept = {homes[each][0] for each in ends if each not in parts}
    return LayerGraph((*sizes, place), tuple(steps), frozenset(kept))


def all_orders(graph: LayerGraph) -> Iterator[tuple[int, ...]]:
    """Every order in which each step runs after those before it."""

    def more(order: tuple[int, ...], done: int) -> Iterator[tuple[int, ...]]:
        if len(order) == len(graph.steps):
            yield order
        for number, each in enumerate(graph.steps):
            if not done >> number & 1 and not each.before & ~done:
                yield from more((*order, number), done | 1 << number)

    return more((), 0)


def check(graph: LayerGraph, found: Ordered) -> None:
    """Check what holds for any result."""
    given = tuple(range(len(graph.steps)))
    assert found.given == graph.peak(given)
    assert found.bound <= found.peak == graph.peak(found.order) <= found.given
    assert found.gains or found.order == given
    assert sorted(found.order) == list(given)
    done = 0
    for number in found.order:
        assert not graph.steps[number].before & ~done
        done |= 1 << number


@settings(max_examples=150, deadline=None)
@given(graphs(claims=False))
def test_no_order_is_better(graph: LayerGraph) -> None:
    found = least_peak(graph)
    check(graph, found)
    assert found.peak == found.bound == min(map(graph.peak, all_orders(graph)))
    assert least_peak(graph) == found


BETWEEN = LayerGraph(
    (2, 1, 2, 1, 4),
    (
        LayerStep(0, (0,), 4, (0, 1)),
        LayerStep(0, (0,), 4, (1, 3), (0,)),
        LayerStep(0b1, (0,), 4, (3, 4)),
        LayerStep(0b111, (), 4, (0, 4)),
    ),
)
"""The map that the second part overwrites lies between the first and the third one."""

NESTED = LayerGraph(
    (3, 3, 8, 2),
    (
        LayerStep(0, (0,), 3, (0, 2)),
        LayerStep(0b1, (3, 0), 2, (0, 2), (3,)),
        LayerStep(0b1, (3,), 1, (0, 2), (3,)),
        LayerStep(0, (0,), 1, (2, 3)),
        LayerStep(0b1100, (), 1, (0, 3)),
        LayerStep(0b10000, (1,), 2, (2, 5), (1,)),
        LayerStep(0b10000, (1,), 2, (5, 8)),
        LayerStep(0b1100010, (), 2, (0, 8)),
    ),
)
"""A part of a concatenation overwrites another concatenation, of which a part overwrites a map."""


@settings(max_examples=100, deadline=None)
@given(graphs(), st.booleans(), st.integers(0, 60))
@example(BETWEEN, False, 0)
@example(NESTED, False, 9999)
def test_the_bound_holds_with_any_budget(graph: LayerGraph, whole: bool, budget: int) -> None:
    """A step tries each step of its part once more after the budget is used up, at most.

    `whole`: each part takes all of its buffer, as bytes with channels last do.
    """
    graph = graph.widened if whole else graph
    found = least_peak(graph, budget)
    check(graph, found)
    assert found.bound <= min(map(graph.peak, all_orders(graph)))
    assert found.work <= budget + len(graph.steps) ** 3


def test_a_map_may_lie_between_two_parts() -> None:
    found = least_peak(BETWEEN)
    assert (found.given, found.peak, found.bound) == (6, 4, 4)
    assert found.order == (0, 2, 1, 3)


def test_parts_apart_live_as_long_as_the_whole() -> None:
    read = LayerStep(0b1111, (4,), 5, (0, 1))
    graph = LayerGraph((*BETWEEN.sizes, 1), (*BETWEEN.steps, read))
    assert graph.scattered.profile((0, 2, 1, 3, 4)) == [3, 4, 4, 4, 5]


def test_what_lies_in_a_concatenation_from_its_start_needs_no_bytes_of_its_own() -> None:
    """A map, one that overwrites it, and a part that overwrites that and takes the whole buffer."""
    graph = LayerGraph(
        (4, 2, 2, 6),
        (
            LayerStep(0, (0,), 1, (0, 2)),
            LayerStep(0b1, (1,), 2, (0, 2), (1,)),
            LayerStep(0b1, (1, 0), 3, (0, 6)),
            LayerStep(0b110, (2,), 3, (0, 6), (2,)),
        ),
    )
    assert graph.profile((0, 2, 1, 3))[-1] == 6
    assert graph.scattered.sizes[1:3] == (0, 0)


@settings(max_examples=150, deadline=None)
@given(graphs(), st.booleans())
@example(BETWEEN, False)
@example(NESTED, False)
@example(NESTED, True)
def test_parts_apart_need_no_more(graph: LayerGraph, whole: bool) -> None:
    graph = graph.widened if whole else graph
    apart = graph.scattered
    assert not apart.claims
    for order in all_orders(graph):
        assert apart.peak(order) <= graph.peak(order)


@settings(max_examples=100, deadline=None)
@given(graphs(most=12))
def test_live_bytes_are_those_of_the_order(graph: LayerGraph) -> None:
    """Without parts that overwrite, the sums of `run` are those of lifetimes."""
    done, live = 0, graph.live_at_start()
    order = range(len(graph.steps))
    for number, used in zip(order, graph.profile(order), strict=True):
        needed, live = graph.run(number, done, live)
        done |= 1 << number
        assert needed <= used
        assert needed == used or graph.claims


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30))
def test_chains_keep_their_order(sizes: list[int]) -> None:
    """There is nothing to search, so not one step is tried."""
    steps = (step(0, sizes[0]), *(chained(n, size) for n, size in enumerate(sizes[1:], 1)))
    graph = LayerGraph(tuple(sizes), steps, frozenset({len(sizes) - 1}))
    assert parts_of(graph) == [(number,) for number in range(len(sizes))]
    found = least_peak(graph)
    pairs = [one + two for one, two in pairwise(sizes)]
    assert (found.gains, found.work) == (False, 0)
    assert found.peak == max(pairs, default=sizes[0])


def chained(number: int, size: int) -> LayerStep:
    """Step `number` of a chain."""
    return step(number, size, number - 1, reads=(number - 1,))


def branches(inner: Sequence[int], outer: int) -> LayerGraph:
    """From buffer 0 of 10 bytes, branches of two layers: `inner` bytes, then `outer`; joined."""
    steps: list[LayerStep] = []
    sizes = [10]
    for size in inner:
        steps.append(step(len(sizes), size, reads=(0,)))
        steps.append(step(len(sizes) + 1, outer, len(steps) - 1, reads=(len(sizes),)))
        sizes += [size, outer]
    ends = range(2, len(sizes), 2)
    reads = tuple(ends)
    steps.append(step(len(sizes), 1, *(end - 1 for end in ends), reads=reads))
    return LayerGraph((*sizes, 1), tuple(steps), frozenset({len(sizes)}))


def test_small_maps_before_the_large_one() -> None:
    # In the given order, x and two results live beside the map of 20 bytes. Better: the first maps
    # of both other branches, which are small.
    graph = branches([1, 1, 20], 4)
    assert graph.peak(range(7)) == 10 + 4 + 4 + 20
    found = least_peak(graph)
    assert set(found.order[:2]) == {0, 2}
    assert (found.peak, found.bound) == (10 + 1 + 1 + 20, 32)


def test_only_an_order_that_fits_counts() -> None:
    graph = branches([1, 1, 20], 4)
    assert not least_peak(graph, fits=38).gains
    assert 32 <= least_peak(graph, fits=37).peak <= 37
    found = least_peak(graph, fits=31)
    assert (found.gains, found.bound) == (False, 32)


def test_no_budget_no_change() -> None:
    found = least_peak(branches([1, 1, 20], 4), budget=0)
    assert (found.gains, found.work) == (False, 0)
    assert found.bound <= 32


def test_too_many_sets_leave_a_gap_to_the_bound() -> None:
    """23 branches have 2^23 sets; the order is improved all the same."""
    found = least_peak(branches([*range(1, 24)], 1), budget=30_000)
    assert found.bound < found.peak < found.given
    assert found.work < 31_000


def test_a_concatenation_begins_with_what_a_part_overwrites() -> None:
    """The map of 4 bytes is read twice; its last reader is a part of a buffer of 24 bytes."""
    steps = (
        step(1, 4, reads=(0,)),
        step(2, 9, 0, reads=(1,)),
        step(3, 1, 1, reads=(2,)),
        LayerStep(0b101, (3, 1), 4, (0, 4), (1,)),
        LayerStep(0b1000, (), 4, (4, 24)),
    )
    graph = LayerGraph((2, 4, 9, 1, 24), steps, frozenset({4}))
    assert graph.homes(range(5))[1] == (4, (0, 4))
    assert graph.profile(range(5)) == [2 + 4, 4 + 9, 4 + 9 + 1, 4 + 1, 24]
    wide = graph.widened
    assert wide.profile(range(5))[:3] == [26, 33, 34]
    assert wide.begun_early(range(5), 33) == {1}
    assert list(members(0b1010)) == [1, 3]
