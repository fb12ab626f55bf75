"""What copies by the core take, and when tiles are taken, counted by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_plans.tiles.core_copies import GAIN, Way, best_way, copy_cycles
from npu_plans.time.rates import Rates

RATES = Rates(
    {"f32": Fraction(1, 4), "i8": Fraction(4)},
    Fraction(4),
    memories={
        "fast": (Fraction(4), Fraction(4)),
        "slow": (Fraction(1, 2), Fraction(1, 4)),
    },
)


def test_a_copy_waits_for_slow_memory() -> None:
    """100 floats: 4 cycles each for the core, and 400 bytes at 0.5 in a cycle instead of 4."""
    assert copy_cycles(100, 4, "f32", RATES, "slow", "fast") == 400 + 400 * (2 - Fraction(1, 4))
    assert copy_cycles(100, 4, "f32", RATES, "fast", "slow") == 400 + 400 * (4 - Fraction(1, 4))
    assert copy_cycles(100, 4, "f32", RATES, "fast", "fast") == 400


@pytest.mark.parametrize("element", ["i8", "i32"])
def test_a_copy_moves_each_byte_twice(element: str) -> None:
    """16 products in a cycle of bytes, or an unknown number: 800 bytes at 4 in a cycle."""
    assert copy_cycles(400, 1, element, RATES, "fast", "fast") == 200


def test_the_first_room_in_which_tiles_pay() -> None:
    small, large = Way("small", 10, Fraction(60)), Way("large", 100, Fraction(50))
    assert best_way([small, large], Fraction(100), 100) is large
    assert best_way([small, large], Fraction(100), 99) is small
    assert best_way([small, large], Fraction(100), 10, 100) is small
    assert best_way([small, large], Fraction(60), 10, 100) is large
    assert best_way([small, large], Fraction(100), 9) is None
    assert best_way([small, large], Fraction(50), 100) is None


def test_of_equal_ways_the_smallest() -> None:
    ways = [Way(size, size, Fraction(10)) for size in (30, 20, 25)]
    found = best_way(ways, Fraction(100), 100)
    assert found is ways[1]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 200)), max_size=6),
    st.integers(0, 200),
    st.lists(st.integers(0, 9), max_size=3),
)
def test_no_better_way_is_left(
    sizes: list[tuple[int, int]], in_place: int, rooms: list[int]
) -> None:
    ways = [Way(None, size, Fraction(cycles)) for size, cycles in sizes]
    found = best_way(ways, Fraction(in_place), *rooms)
    pays = [each for each in ways if each.cycles < GAIN * in_place]
    first = next((room for room in rooms if any(each.footprint <= room for each in pays)), None)
    assert (found is None) == (first is None)
    if found is not None and first is not None:
        assert found.footprint <= first
        assert all(found.cycles <= each.cycles for each in pays if each.footprint <= first)
