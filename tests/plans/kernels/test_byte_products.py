"""Factors that give the bytes of products of mode float and qlinear."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.kernels.byte_products import product_factor
from npu_plans.kernels.byte_sums import Summand

BYTES = (-128, 127)
RANGES = st.sampled_from((BYTES, (0, 255)))
SCALES = st.floats(2.0**-12, 1.0, width=32)


def byte(value: np.float32, zero_point: int, bounds: tuple[int, int]) -> int:
    """A real number as a byte."""
    return min(max(int(np.rint(value)) + zero_point, bounds[0]), bounds[1])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_bytes_are_those_of_the_mode(data: st.DataObject) -> None:
    operands = list[Summand]()
    for _ in range(2):
        low, high = data.draw(RANGES)
        operands.append(Summand(data.draw(SCALES), data.draw(st.integers(low, high)), low, high))
    bounds, mode = data.draw(RANGES), data.draw(st.sampled_from(("float", "qlinear")))
    lhs, rhs = operands
    divisor = float(np.float32(lhs.scale * rhs.scale * data.draw(st.floats(1, 200))))
    zero_point = data.draw(st.integers(*bounds))
    factor = product_factor((lhs, rhs), divisor, zero_point, bounds, mode)
    if factor is None:
        return
    places = st.tuples(st.integers(0, 255), st.integers(0, 255))
    for i, j in data.draw(st.lists(places, min_size=20)):
        one, two = lhs.low + i - lhs.zero_point, rhs.low + j - rhs.zero_point
        sa, sb, s = (np.float32(each) for each in (lhs.scale, rhs.scale, divisor))
        wanted = byte(np.float32(one) * sa * (np.float32(two) * sb) / s, zero_point, bounds)
        if mode == "qlinear":
            total = np.float32(one * two) * (sa * sb / s) + np.float32(zero_point)
            wanted = byte(total, 0, bounds)
        assert byte(np.float32(one * two) * np.float32(factor), zero_point, bounds) == wanted


def gates(seed: int, count: int = 40) -> list[tuple[tuple[Summand, Summand], float, int]]:
    """Maps times gates from 0 to 1: operands, scale and zero point of the products."""
    random, found = np.random.default_rng(seed), list[tuple[tuple[Summand, Summand], float, int]]()
    for _ in range(count):
        scale, gate, part = random.uniform((0.01, 0.002, 0.6), (0.1, 0.004, 1.05)).astype(
            np.float32
        )
        points = random.integers(-128, 128, 2).tolist()
        operands = Summand(float(scale), points[0], *BYTES), Summand(float(gate), -128, *BYTES)
        found.append((operands, float(scale * part), points[1]))
    return found


def test_most_gates_have_a_factor() -> None:
    factors = [product_factor(*each, BYTES) for each in gates(0)]
    assert sum(factor is not None for factor in factors) >= 37


def test_neighbours_of_the_factor_are_tried() -> None:
    """With the nearest factor, one pair of some bytes becomes another byte."""
    moved = 0
    for operands, divisor, point in gates(1, 200):
        factor = product_factor(operands, divisor, point, BYTES)
        nearest = np.float32(operands[0].scale * operands[1].scale / divisor)
        moved += factor is not None and factor != nearest
    assert moved > 0


def test_ties_are_rounded_to_even_before_the_zero_point_is_added() -> None:
    """1 * 1 / 2 + 1 is 1 in mode float, and 2 in mode qlinear, which no factor gives."""
    operands = Summand(1.0, 0, *BYTES), Summand(1.0, 0, *BYTES)
    assert product_factor(operands, 2.0, 1, BYTES) == 0.5
    assert product_factor(operands, 2.0, 1, BYTES, "qlinear") is None
    assert product_factor(operands, 2.0, 2, BYTES, "qlinear") == 0.5


@pytest.mark.parametrize(
    ("scale", "divisor"), [(2.0**-70, 1.0), (1.0, 2.0**61), (2.0**40, 1.0), (2.0**-31, 2.0**-60)]
)
def test_numbers_out_of_range(scale: float, divisor: float) -> None:
    operands = Summand(scale, 0, *BYTES), Summand(scale, 0, *BYTES)
    assert product_factor(operands, divisor, 0, BYTES) is None
