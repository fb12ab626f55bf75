"""The chosen read-only memories take the fewest cycles of all that hold the constants."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.memories.decide import Overflow
from npu_plans.memories.problem import Room
from npu_plans.memories.stored import StoredConstant, stored

RATES = (Fraction(4), Fraction(1, 2), Fraction(1))


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[StoredConstant], list[Room]]:
    """A few constants and rooms; reads are whole thousands, so that rooms in use do not matter."""
    rooms = [Room(f"m{index}", 4 * draw(st.integers(0, 12))) for index in range(3)]
    reads = st.integers(0, 30).map(lambda thousands: 4000 * thousands)
    constants = [
        StoredConstant(f"c{index}", draw(st.integers(1, 24)), draw(reads))
        for index in range(draw(st.integers(1, 5)))
    ]
    return constants, rooms


def cycles(constants: list[StoredConstant], places: tuple[int, ...]) -> Fraction:
    """The cycles of all reads."""
    pairs = zip(constants, places, strict=True)
    return sum((each.read / RATES[at] for each, at in pairs), Fraction())


def words(constants: list[StoredConstant], places: tuple[int, ...]) -> list[int]:
    """The bytes in each room: whole words of each constant."""
    found = [0, 0, 0]
    for each, at in zip(constants, places, strict=True):
        found[at] += -(-each.size // 4) * 4
    return found


def fits(constants: list[StoredConstant], rooms: list[Room], places: tuple[int, ...]) -> bool:
    """Whether each room holds the constants that lie in it."""
    sizes = zip(words(constants, places), rooms, strict=True)
    return all(size <= room.bytes for size, room in sizes)


@settings(max_examples=80, deadline=None)
@given(problem=problems())
def test_no_choice_that_fits_takes_fewer_cycles(
    problem: tuple[list[StoredConstant], list[Room]],
) -> None:
    constants, rooms = problem
    every = product(range(3), repeat=len(constants))
    good = [cycles(constants, places) for places in every if fits(constants, rooms, places)]
    if not good:
        with pytest.raises(Overflow) as raised:
            stored(constants, rooms, RATES)
        assert sum(raised.value.arenas) == sum(words(constants, (0,) * len(constants)))
        return
    places = stored(constants, rooms, RATES)
    assert fits(constants, rooms, places)
    assert cycles(constants, places) == min(good)


def test_a_constant_is_never_divided() -> None:
    """Two memories of 100 bytes do not hold three constants of 60, though the sum is smaller."""
    rooms = [Room("rom", 100), Room("xip", 100)]
    constants = [StoredConstant(f"c{index}", 60, 0) for index in range(3)]
    with pytest.raises(Overflow):
        stored(constants, rooms, RATES[:2])
    assert sorted(stored(constants[:2], rooms, RATES[:2])) == [0, 1]


def test_one_block() -> None:
    """All constants lie in one memory, the fastest that has room for them."""
    constants = [StoredConstant("a", 60, 100), StoredConstant("b", 60, 0)]
    rooms = [Room("rom", 100), Room("xip", 120)]
    assert stored(constants, rooms, RATES[:2]) == (0, 1)
    assert stored(constants, rooms, RATES[:2], together=True) == (1, 1)
    with pytest.raises(Overflow):
        stored(constants, [Room("rom", 119), Room("xip", 119)], RATES[:2], together=True)


def test_rooms_with_an_alignment() -> None:
    """Each constant takes up to the start of the next one."""
    constants = [StoredConstant("a", 3, 100), StoredConstant("b", 3, 100)]
    rooms = [Room("rom", 31, 16), Room("xip", 32, 16)]
    assert sorted(stored(constants, rooms, RATES[:2])) == [0, 1]
    assert stored(constants, [Room("rom", 8), Room("xip", 0)], RATES[:2]) == (0, 0)
    assert stored([], rooms, RATES[:2]) == ()
