"""Integers rescale sums as float32 does: the numbers of `dsp.rescale`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import i32
from xdsl.utils.test_value import create_ssa_value

from npu_dialect import dsp
from npu_dialect.fixed_point import FLOORS, WORD_BITS
from npu_plans.kernels.rescaling import (
    Rescaling,
    in_floats,
    largest_sums,
    numbers_of,
    rescaling,
    scale_of,
    scale_without_divisor,
)

BYTE = (-128, 127)
SCALES = st.floats(2.0**-30, 4.0, width=32)
SUMS = st.integers(-(2**22), 2**22)


def op_of(found: Rescaling, bounds: tuple[int, int]) -> dsp.RescaleOp:
    """The op with some numbers."""
    value, numbers = create_ssa_value(i32), found.numbers
    return dsp.RescaleOp(value, value, numbers.exponent, numbers.left, bounds)


def fixed(sum: int, factor: int, op: dsp.RescaleOp) -> int:
    """What the core computes: a fixed-point number, with a half added."""
    high = ((sum << op.left.value.data) * factor) >> WORD_BITS
    return high + (1 << (op.shift - 1))


def check(sum: int, scale: float, largest: int, bounds: tuple[int, int]) -> bool:
    """Whether a sum is near a half; if not, check that integers give what float32 gives.

    The numbers that a core without long products has may be three less.
    """
    found = rescaling([scale], [largest], bounds)
    assert found is not None
    op, (factor,) = op_of(found, bounds), found.factors
    op.verify()
    assert abs(sum << op.left.value.data) < 2**31
    wanted = in_floats(np.array([sum]), scale, bounds)[0]
    is_near = False
    for less in range(FLOORS):
        number = fixed(sum, factor, op) - less + op.near
        if number % (1 << op.shift) <= 2 * op.near:
            is_near = True
        else:
            assert min(max(number >> op.shift, bounds[0]), bounds[1]) == wanted
    return is_near


@given(SUMS, SCALES, st.sampled_from([BYTE, (0, 255), (-5, 250), (-(2**15), 2**15 - 1)]))
def test_sums_become_what_float32_gives(sum: int, scale: float, bounds: tuple[int, int]) -> None:
    if rescaling([scale], [2**22], bounds) is not None:
        check(sum, scale, 2**22, bounds)


@given(st.integers(-128, 126), SCALES, st.integers(-2, 2))
def test_sums_beside_halves(half: int, scale: float, beside: int) -> None:
    """Where float32 and integers are most likely to differ."""
    sum = round((half + 0.5) / scale) + beside
    if abs(sum) <= 2**22 and rescaling([scale], [2**22], BYTE) is not None:
        check(sum, scale, 2**22, BYTE)


def test_ties_are_near_a_half() -> None:
    """No integers round them to even, so floats must."""
    assert all(check(2 * half + 1, 0.5, 2**10, BYTE) for half in range(-100, 100))
    assert not check(2, 0.5, 2**10, BYTE)


def test_few_sums_are_near_a_half() -> None:
    sums = range(-40_000, 40_000, 13)
    near = [sum for sum in sums if check(sum, 0.003, 2**20, BYTE)]
    assert 0 < len(near) <= len(sums) / 1000


@given(st.lists(SCALES, min_size=1, max_size=6), st.integers(1, 2**20))
def test_factors_are_the_scales_or_give_the_same(scales: list[float], largest: int) -> None:
    found = rescaling(scales, [largest] * len(scales), BYTE)
    if found is None:
        return
    sums = np.unique(np.linspace(-largest, largest, 4001).astype(np.int64))
    for scale, factor in zip(scales, found.factors, strict=True):
        single = scale_of(factor, found.numbers.exponent)
        np.testing.assert_array_equal(in_floats(sums, single, BYTE), in_floats(sums, scale, BYTE))


def test_small_scales_beside_a_large_one() -> None:
    """Few bits are left for a scale of a thousandth; all results are compared."""
    scales, largest = [0.7, 0.00071234], [2**10, 2**14]
    found = rescaling(scales, largest, BYTE)
    assert found is not None
    single = scale_of(found.factors[1], found.numbers.exponent)
    assert single != np.float32(scales[1])
    sums = np.arange(-largest[1], largest[1] + 1)
    np.testing.assert_array_equal(in_floats(sums, single, BYTE), in_floats(sums, scales[1], BYTE))


@pytest.mark.parametrize(
    ("scales", "largest", "bounds"),
    [
        ([0.01], [2**31], BYTE),  # a word does not hold the sums
        ([2.0**-40], [2**31 - 1], BYTE),  # too few bits are left for a fraction
        ([300.0], [2**30], BYTE),
        ([0.01], [100], (-(2**31), 2**31 - 1)),  # results are no elements of maps
        (
            [0.9, 2.0**-9 * (1 + 2.0**-23)],
            [10, 2**23],
            (-1, 1),
        ),  # float32 moves steps of large sums
        ([0.9, 1.234567e-4], [10, 2**21], BYTE),  # few bits for a scale, and many sums
    ],
)
def test_what_cannot_be_rescaled(
    scales: list[float], largest: list[int], bounds: tuple[int, int]
) -> None:
    assert rescaling(scales, largest, bounds) is None


def test_a_factor_beside_the_nearest_one_may_serve() -> None:
    """Of some scales with few bits left, the nearest factor moves a step; another one does not."""
    moved = 0
    for number in range(400):
        scale = float(np.float32(0.0003 + number * 1e-6))
        found = rescaling([0.9, scale], [10, 2**17], (-30, 30))
        if found is not None:
            moved += found.factors[1] != round(scale * 2.0**found.numbers.exponent)
    assert moved > 0


@given(st.floats(2.0**-10, 8, width=32), st.floats(2.0**-10, 8, width=32), st.integers(-128, 127))
def test_a_quotient_becomes_one_product(scale: float, divisor: float, point: int) -> None:
    integers = range(-128 - point, 128 - point)
    found = scale_without_divisor(scale, divisor, integers, BYTE)
    if found is None:
        return
    for value in integers:
        exact = np.float32(value) * np.float32(scale) / np.float32(divisor)
        assert in_floats(np.array([value]), found, BYTE)[0] == min(max(np.rint(exact), -128), 127)


def test_most_quotients_have_a_product() -> None:
    random = np.random.default_rng(0)
    tenths = [(a / 10, b / 10) for a in range(1, 12) for b in range(1, 12)]
    pairs = np.array([*tenths, *random.uniform(0.01, 0.2, (100, 2))], np.float32)
    values, found = np.arange(256), 0
    for a, b in pairs:
        single = scale_without_divisor(float(a), float(b), range(256), BYTE)
        if single is not None:
            found += 1
            wanted = np.clip(np.rint(values.astype(np.float32) * a / b), *BYTE)
            np.testing.assert_array_equal(in_floats(values, single, BYTE), wanted)
    assert 180 <= found < len(pairs)


def test_few_quotients_of_halves_have_a_product() -> None:
    random, halves = np.random.default_rng(0), (-(2**15), 2**15 - 1)
    values, found = np.arange(-(2**15), 2**15), 0
    for a, b in random.uniform(0.01, 0.2, (20, 2)).astype(np.float32):
        single = scale_without_divisor(float(a), float(b), range(-(2**15), 2**15), halves)
        if single is not None:
            found += 1
            wanted = np.clip(np.rint((values.astype(np.float32) * a / b).astype(float)), *halves)
            np.testing.assert_array_equal(in_floats(values, single, halves), wanted)
    assert found < 10


def test_scales_out_of_range_have_no_product() -> None:
    assert scale_without_divisor(1e30, 1e-30, range(256), BYTE) is None


@given(st.lists(SCALES, min_size=1, max_size=4), st.integers(0, 2**31 - 1))
def test_words_hold_the_numbers(scales: list[float], largest: int) -> None:
    found = numbers_of(scales, largest)
    if found is not None:
        assert largest << found.left < 2**31
        assert all(Fraction(scale) * 2**found.exponent < 2**31 for scale in scales)


def test_bounds_of_sums() -> None:
    weights, bias = np.array([[[3, -4]], [[1, 1]]]), np.array([-5, 100])
    assert largest_sums(weights, bias, 10) == [75, 120]
    assert largest_sums(weights, None, 255) == [1785, 510]
