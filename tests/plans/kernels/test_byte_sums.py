"""Fused multiply-adds that give the bytes of mode float."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.kernels.byte_sums import FusedSum, Summand, fused_sum, grids, in_range

BYTES = (-128, 127)
RANGES = st.sampled_from((BYTES, (0, 255), (0, 200)))
SCALES = st.floats(2.0**-12, 1.0, width=32)


def byte(value: np.float32, zero_point: int, bounds: tuple[int, int]) -> int:
    """A real number as a byte."""
    return min(max(int(np.rint(value)) + zero_point, bounds[0]), bounds[1])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_bytes_are_those_of_mode_float(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 2))
    summands = list[Summand]()
    for _ in range(count):
        low, high = data.draw(RANGES)
        summands.append(Summand(data.draw(SCALES), data.draw(st.integers(low, high)), low, high))
    bounds, divisor = data.draw(RANGES), data.draw(SCALES)
    zero_point = data.draw(st.integers(*bounds))
    found = fused_sum(tuple(summands), divisor, zero_point, bounds)
    if found is None:
        return
    picked = data.draw(st.lists(st.tuples(*[st.integers(0, 255)] * count), min_size=20))
    for places in picked:
        values = [min(each.low + k, each.high) for each, k in zip(summands, places, strict=True)]
        total = np.float32(0)
        for value, each in zip(values, summands, strict=True):
            term = np.float32(value - each.zero_point) * np.float32(each.scale)
            total = term if each is summands[0] else total + term
        wanted = byte(total / np.float32(divisor), zero_point, bounds)
        (whole,) = found.of([np.array([value]) for value in values])
        assert min(max(whole, bounds[0]), bounds[1]) == wanted


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
