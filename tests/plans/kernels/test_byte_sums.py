"""Fused multiply-adds that give the bytes of mode float."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.kernels.byte_sums import (
    FusedSum,
    SteppedSum,
    Summand,
    byte_sum,
    fused_sum,
    grids,
    in_range,
    stepped_sum,
)

BYTES = (-128, 127)
RANGES = st.sampled_from((BYTES, (0, 255), (0, 200)))
SCALES = st.floats(2.0**-12, 1.0, width=32)
ROUND = st.integers(10, 99).map(lambda each: float(np.float32(each / 1000)))
"""Scales whose quotients have small denominators, so that many sums are ties."""


def byte(value: np.float32, zero_point: int, bounds: tuple[int, int]) -> int:
    """A real number as a byte."""
    return min(max(int(np.rint(value)) + zero_point, bounds[0]), bounds[1])


def summands_of(data: st.DataObject, scales: st.SearchStrategy[float]) -> tuple[Summand, ...]:
    """One or two summands."""
    found = list[Summand]()
    for _ in range(data.draw(st.integers(1, 2))):
        low, high = data.draw(RANGES)
        found.append(Summand(data.draw(scales), data.draw(st.integers(low, high)), low, high))
    return tuple(found)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_bytes_are_those_of_mode_float(data: st.DataObject) -> None:
    scales = data.draw(st.sampled_from((SCALES, ROUND)))
    summands = summands_of(data, scales)
    bounds, divisor = data.draw(RANGES), data.draw(scales)
    zero_point = data.draw(st.integers(*bounds))
    found = byte_sum(summands, divisor, zero_point, bounds)
    assert found is not None
    picked = data.draw(st.lists(st.tuples(*[st.integers(0, 255)] * len(summands)), min_size=20))
    for places in picked:
        values = [min(each.low + k, each.high) for each, k in zip(summands, places, strict=True)]
        total = np.float32(0)
        for value, each in zip(values, summands, strict=True):
            term = np.float32(value - each.zero_point) * np.float32(each.scale)
            total = term if each is summands[0] else total + term
        assert abs(total / np.float32(divisor)) <= found.largest + abs(found.point)
        wanted = byte(total / np.float32(divisor), zero_point, bounds)
        (whole,) = found.of([np.array([value]) for value in values])
        assert min(max(whole, bounds[0]), bounds[1]) == wanted


@pytest.mark.parametrize(
    ("scales", "points", "corrections"),
    [
        ((0.04277845, 0.041564383, 0.05566571), (9, 0, -33), 0),
        ((0.037, 0.051, 0.022), (11, -5, -4), 1),
        ((0.5, 0.3, 0.25), (1, 2, 3), 0),
    ],
)
def test_other_sums_do_the_steps(
    scales: tuple[float, ...], points: tuple[int, ...], corrections: int
) -> None:
    """Two scales of DARTS, quotients next to ties, and a divisor whose reciprocal is exact."""
    *factors, divisor = (float(np.float32(each)) for each in scales)
    summands = tuple(Summand(*each, *BYTES) for each in zip(factors, points))
    found = stepped_sum(summands, divisor, points[2], BYTES)
    assert found is not None
    assert found.corrections == corrections
    if divisor != 0.25:
        assert fused_sum(summands, divisor, points[2], BYTES) is None
        assert byte_sum(summands, divisor, points[2], BYTES) == found


def test_the_largest_quotient_of_the_steps() -> None:
    """The differences reach from -130 to 125, and from -90 to 110."""
    found = SteppedSum((0.5, 2.0), (2, 100), 0.25, 7, (130, 110), 0)
    assert (
        stepped_sum((Summand(0.5, 2, *BYTES), Summand(2.0, 100, 10, 210)), 0.25, 7, BYTES) == found
    )
    assert found.largest == pytest.approx((65 + 220) / 0.25, rel=2**-19)


def test_steps_out_of_range() -> None:
    one = Summand(1.0, 0, *BYTES)
    assert stepped_sum((one,), 2.0**-29, 0, BYTES) is not None
    assert stepped_sum((one,), 2.0**-31, 0, BYTES) is None
    assert stepped_sum((Summand(2.0**31, 0, *BYTES), one), 1.0, 0, BYTES) is None


def test_most_sums_have_such_a_form() -> None:
    random = np.random.default_rng(0)
    found = 0
    for _ in range(40):
        scales = random.uniform(0.01, 0.1, 3).astype(np.float32).tolist()
        points = random.integers(-128, 128, 3).tolist()
        summands = tuple(Summand(*each, *BYTES) for each in zip(scales[:2], points[:2]))
        found += fused_sum(summands, scales[2], points[2], BYTES) is not None
    assert found >= 38


def test_neighbours_of_the_numbers_are_tried() -> None:
    """With the nearest numbers, one pair of these bytes is rounded to another byte."""
    random, moved = np.random.default_rng(1), 0
    for _ in range(40):
        scales = random.uniform(0.01, 0.1, 3).astype(np.float32).tolist()
        summands = tuple(Summand(scale, 0, *BYTES) for scale in scales[:2])
        found = fused_sum(summands, scales[2], 0, BYTES)
        if found is not None:
            nearest = tuple(float(np.float32(scale / scales[2])) for scale in scales[:2])
            moved += found != FusedSum(nearest, 0.0, 0)
    assert moved > 0


def test_ties_keep_an_odd_zero_point_apart() -> None:
    """1.5 + 1 would round to 2, but 1.5 rounds to 2."""
    half = Summand(0.5, 0, *BYTES)
    assert fused_sum((half, half), 1.0, 1, BYTES) == FusedSum((0.5, 0.5), 0.0, 1)
    assert fused_sum((half, half), 1.0, 2, BYTES) == FusedSum((0.5, 0.5), 2.0, 0)


@pytest.mark.parametrize(("scale", "divisor"), [(2.0**-70, 1.0), (1.0, 2.0**61), (2.0**70, 1.0)])
def test_numbers_out_of_range(scale: float, divisor: float) -> None:
    assert fused_sum((Summand(scale, 0, *BYTES),), divisor, 0, BYTES) is None


def test_a_start_of_zero_is_exact() -> None:
    assert in_range(FusedSum((0.5,), 0.0, 3)) == FusedSum((0.5,), 0.0, 3)
    assert in_range(FusedSum((0.5,), 2.0**-61, 3)) is None


def test_all_combinations() -> None:
    one, two = grids([Summand(1.0, 0, 0, 1), Summand(1.0, 0, 5, 7)])
    assert list(zip(one.tolist(), two.tolist(), strict=True)) == [
        (0, 5),
        (0, 6),
        (0, 7),
        (1, 5),
        (1, 6),
        (1, 7),
    ]
