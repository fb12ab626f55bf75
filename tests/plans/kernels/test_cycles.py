"""Moves that reorder lines in place, against the order that they are to have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.cycles import KEPT, moves_in_place, places_by_rows


def moved(moves: Sequence[int], count: int) -> list[int]:
    """The lines by place after the moves; a line is named by its place at the start."""
    lines = {place: place for place in range(count)}
    for target, source in pairwise(moves):
        lines[target] = lines[source]
    return [lines[place] for place in range(count)]


@given(st.integers(0, 40).flatmap(lambda count: st.permutations(range(count))))
def test_every_permutation(sources: list[int]) -> None:
    moves = moves_in_place(sources)
    assert moved(moves, len(sources)) == sources
    assert sum(place != KEPT for place in moves) == sum(a != b for a, b in enumerate(sources))


@given(st.integers(1, 5), st.integers(1, 20))
def test_places_by_rows(planes: int, rows: int) -> None:
    found = places_by_rows(planes, rows)
    assert [divmod(place, rows) for place in found] == [
        (plane, row) for row in range(rows) for plane in range(planes)
    ]


def test_nothing_moves() -> None:
    assert moves_in_place(places_by_rows(1, 5)) == []
    assert moves_in_place(places_by_rows(5, 1)) == []
