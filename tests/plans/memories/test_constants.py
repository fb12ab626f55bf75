"""The chosen copies of constants save most of all that fit."""

from __future__ import annotations

import ctypes
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.memories.constants import Constant, kept
from npu_plans.memories.problem import Room
from npu_plans.memories.quiet import silent


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Constant], list[Room]]:
    """A few constants and rooms; costs are whole thousands, so that rooms in use do not matter."""
    unit = draw(st.sampled_from((1, 4)))
    count = draw(st.integers(1, 2))
    rooms = [Room(f"m{index}", draw(st.integers(0, 40)), unit) for index in range(count)]
    size = st.integers(1, 20)
    cost = st.integers(0, 30).map(lambda thousands: Fraction(1000 * thousands))
    constants = [
        Constant(f"c{index}", draw(size), tuple(draw(cost) for _ in rooms), draw(cost))
        for index in range(draw(st.integers(0, 5)))
    ]
    return constants, rooms


def least(constants: list[Constant], rooms: list[Room]) -> Fraction:
    """The cycles of the best choice, by trying all."""
    found: list[Fraction] = []
    for places in product(range(-1, len(rooms)), repeat=len(constants)):
        chosen = list(zip(constants, places, strict=True))
        sizes = [
            sum(-(-each.size // room.alignment) * room.alignment for each, at in chosen if at == i)
            for i, room in enumerate(rooms)
        ]
        if all(size <= room.bytes for size, room in zip(sizes, rooms, strict=True)):
            found.append(
                sum((each.stored if at < 0 else each.costs[at] for each, at in chosen), Fraction())
            )
    return min(found)


@settings(max_examples=80, deadline=None)
@given(problem=problems())
def test_no_choice_that_fits_saves_more(problem: tuple[list[Constant], list[Room]]) -> None:
    constants, rooms = problem
    places = kept(constants, rooms)
    total = Fraction()
    taken: list[tuple[int, int, int]] = []
    for constant, place in zip(constants, places, strict=True):
        total += constant.stored if place is None else constant.costs[place[0]]
        if place is not None:
            room, offset = place
            assert offset % rooms[room].alignment == 0
            assert offset + constant.size <= rooms[room].bytes
            assert all(
                room != other or offset + constant.size <= start or end <= offset
                for other, start, end in taken
            )
            taken.append((room, offset, offset + constant.size))
    assert total == least(constants, rooms)


def test_equal_costs_need_no_copy() -> None:
    """A copy that saves nothing is not made; one that saves a cycle in a memory is."""
    same = Constant("same", 4, (Fraction(10),), Fraction(10))
    hot = Constant("hot", 4, (Fraction(10),), Fraction(20))
    assert kept([same, hot], [Room("m", 64)]) == [None, (0, 0)]


def test_copies_begin_at_multiples_of_the_alignment() -> None:
    """Behind 3 bytes, one is left free."""
    costs = (Fraction(10),), Fraction(20)
    constants = [Constant("a", 3, *costs), Constant("b", 4, *costs)]
    assert kept(constants, [Room("m", 8, 4)]) == [(0, 0), (0, 4)]
    assert kept(constants, [Room("m", 7, 4)]).count(None) == 1


def test_what_c_code_prints_is_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    """HiGHS prints with `puts` whatever its options say; text before and behind it stays."""
    puts = ctypes.CDLL(None).puts
    print("before")
    with silent():
        puts(b"a line of a solver")
    print("behind")
    assert capfd.readouterr().out == "before\nbehind\n"
