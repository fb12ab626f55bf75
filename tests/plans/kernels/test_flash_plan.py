from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.kernels.flash_plan import Offer, taken


def best_saving(offers: Sequence[Offer], budget: int) -> float:
    """The most that any set of offers within a budget saves, by trying all sets."""
    free = [each for each in offers if each.saved > 0 and each.extra <= 0]
    dear = [each for each in offers if each.saved > 0 and each.extra > 0]
    budget -= sum(each.extra for each in free)
    found = 0.0
    for count in range(len(dear) + 1):
        for some in combinations(dear, count):
            if sum(each.extra for each in some) <= budget:
                found = max(found, sum(each.saved for each in some))
    return found + sum(each.saved for each in free)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.builds(Offer, st.integers(-20, 100), st.integers(-50, 1000).map(float)), max_size=8
    ),
    st.integers(-50, 400),
)
def test_saves_the_most(offers: list[Offer], budget: int) -> None:
    chosen = taken(offers, budget)
    assert all(offers[index].saved > 0 for index in chosen)
    assert sum(offers[index].saved for index in chosen) == pytest.approx(
        best_saving(offers, budget)
    )
    free = sum(min(0, each.extra) for each in offers if each.saved > 0)
    assert sum(offers[index].extra for index in chosen) <= max(budget, free)


def test_a_byte_goes_where_it_saves_most() -> None:
    offers = [Offer(100, 900.0), Offer(60, 500.0), Offer(50, 450.0)]
    assert taken(offers, 110) == {1, 2}
    assert taken(offers, 109) == {0}
    assert taken(offers, 49) == set()
    assert taken(offers, -1) == set()
