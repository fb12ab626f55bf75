"""The first burst that crosses a page, against a run of every round."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from npu_plans.transfers.pages import PAGE, BurstSeries, Repeat, first_crossing


@st.composite
def series(draw: st.DrawFn) -> BurstSeries:
    """A burst in up to three loops, whose rounds come one after the other."""
    grid = draw(st.sampled_from((1, 4, 64, 128, 1000)))
    size = draw(st.one_of(st.integers(1, 128), st.just(grid)))
    repeats: list[Repeat] = []
    steps = 1
    for _ in range(draw(st.integers(0, 3))):
        count = draw(st.integers(1, 12))
        repeats.insert(0, Repeat(count, grid * draw(st.integers(-60, 60)), steps))
        steps = steps * count + draw(st.integers(0, 3))
    return BurstSeries(grid * draw(st.integers(0, 60)), size, draw(st.integers(0, 9)), (*repeats,))


@given(series())
@example(BurstSeries(PAGE - 24, 24, 0))
@example(BurstSeries(PAGE - 24 * 3, 24, 0, (Repeat(3, 24, 1),)))
def test_as_a_run_of_every_round(found: BurstSeries) -> None:
    crossings: list[tuple[int, int]] = []
    for rounds in product(*(range(each.count) for each in found.repeats)):
        pairs = list(zip(rounds, found.repeats, strict=True))
        place = (found.address + sum(number * each.stride for number, each in pairs)) % PAGE
        if place + found.size > PAGE:
            crossings.append(
                (found.step + sum(number * each.steps for number, each in pairs), place)
            )
    assert first_crossing(found) == min(crossings, default=None)
