"""Transfers in blocks: interpreter, emitted C and formula move the same bytes, the same data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from helpers.zero_blocks.builds import check, run
from helpers.zero_blocks.trips import Trip, program, trips
from npu_dialect.interpreters import Counters, run_function

BUILDS = ("strict", "c++", "plain")
WITHOUT_CXX = [pytest.param(b, marks=pytest.mark.slow) if b == "c++" else b for b in BUILDS]
"""One test compiles C++, the others only where slow tests run."""
FEW = settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])


@settings(max_examples=25, deadline=None)
@given(trips())
def test_interpreter(trip: Trip) -> None:
    counters = Counters()
    check([trip], run_function(program([trip]), None, [trip.array()], counters), counters)


def test_minus_zero_is_moved() -> None:
    """A block of -0.0 is not all zero bits, so it is moved."""
    array = np.full((1, 1, 4, 4), -0.0, np.float32)
    trip = Trip(array.shape, "f32", 2, 0, 0.0, (0, 0, 1, 1))
    whole, _ = run_function(program([trip]), None, [array])
    assert np.signbit(whole).all()


@pytest.mark.parametrize("build", ["strict", "plain"])
@FEW
@given(cases=st.lists(trips(), min_size=1, max_size=6))
def test_emitted_c(build: str, cases: list[Trip]) -> None:
    results, counters = run(cases, build)
    check(cases, results, counters)


@pytest.mark.slow
@pytest.mark.parametrize("build", WITHOUT_CXX)
def test_every_block_and_element(build: str) -> None:
    """Each block size and element once, at the largest size and at sizes around the blocks."""
    cases = [
        Trip((1, 2, height, width), element, block, zero, share, box)
        for element, zero in (("f32", 0), ("i8", -3), ("ui8", 128))
        for block in (1, 2, 4, 8)
        for height, width, share, box in (
            (33, 47, 0.4, (3, 5, 29, 41)),
            (block, 2 * block, 0.5, (0, 0, 1, 1)),
            (16, 32, 0.6, (4, 0, 8, 32)),
        )
    ]
    results, counters = run(cases, build)
    check(cases, results, counters)


def test_places_in_the_index() -> None:
    """Rows of blocks begin at every bit of a byte, with gaps around a byte between them."""
    words = [Trip((1, 1, 35, 4 * n), "i8", 4, 0, 0.5, (4, 0, 9, 4 * n)) for n in range(1, 13)]
    gaps = [Trip((1, 1, 33, 47), "i8", 1, 0, 0.5, (0, 0, 33, 47 - gap)) for gap in range(6, 11)]
    cases = [*words, *gaps]
    results, counters = run(cases, "plain")
    check(cases, results, counters)


def test_maps_of_14_columns() -> None:
    """They have a loop of their own, for blocks of four rows and of two."""
    cases = [
        Trip((1, 3, height, 14), element, 4, zero, 0.5, box)
        for element, zero in (("i8", -3), ("ui8", 128))
        for height, box in (
            (14, (4, 0, 10, 14)),
            (14, (8, 0, 2, 14)),
            (12, (1, 0, 7, 14)),
            (15, (0, 0, 15, 13)),
            (2, (0, 2, 1, 12)),
        )
    ]
    results, counters = run(cases, "plain")
    check(cases, results, counters)


@pytest.mark.slow
@pytest.mark.parametrize("build", WITHOUT_CXX)
def test_whole_bytes_of_the_index(build: str) -> None:
    """Narrow maps move eight blocks at a time; rows of blocks are left over, or begin in a byte."""
    cases = [
        Trip((1, channels, height, width), "i8", 4, 5, 0.5, (4, 0, height - 4, width))
        for width in (4, 8, 16, 32)
        for channels, height in ((1, 8), (1, 20), (3, 12), (2, 14), (5, 8))
    ]
    results, counters = run(cases, build)
    check(cases, results, counters)


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
def test_ragged_blocks_beside_whole_ones(build: str) -> None:
    """Parts that cut blocks on both sides, with and without a whole block between."""
    cases = [
        Trip((2, 2, 11, 47), "i8", 4, 5, 0.5, (row, left, 7, columns))
        for left in range(4)
        for row, columns in ((0, 2), (1, 4), (2, 5), (3, 7), (1, 9), (3, 34), (2, 36), (0, 43))
    ]
    results, counters = run(cases, build)
    check(cases, results, counters)
