"""Fixed-point numbers add, average and multiply bytes as float32 does, unless near a half."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from npu_dialect.fixed_point import WORD_BITS
from npu_plans.kernels.byte_sums import Summand, grids, in_floats
from npu_plans.kernels.fixed_point import FixedProduct, FixedSum, fixed_product, fixed_sum

BYTE = (-128, 127)
SCALES = st.floats(2.0**-8, 2.0, width=32)
POINTS = st.integers(-128, 127)
Words = NDArray[np.int64]


def is_near(fixed: Words, found: FixedSum | FixedProduct) -> NDArray[np.bool_]:
    """Which numbers are near a half."""
    assert (np.abs(fixed) < 2 ** (WORD_BITS - 1)).all()
    return fixed % (1 << found.shift) <= 2 * found.near


def product_of(numbers: Words, factor: int, found: FixedProduct) -> Words:
    """Fixed-point numbers of some numbers and a factor."""
    assert (np.abs(numbers) << found.left < 2 ** (WORD_BITS - 1)).all()
    assert 0 < factor < 2 ** (WORD_BITS - 1)
    return ((numbers << found.left) * factor >> WORD_BITS) + found.start


def check(fixed: Words, found: FixedSum | FixedProduct, wanted: NDArray[np.float64]) -> float:
    """Check those that are not near a half; returns the share of the others."""
    near = is_near(fixed, found)
    results = np.clip(fixed >> found.shift, *BYTE)
    np.testing.assert_array_equal(results[~near], wanted[~near])
    return float(near.mean())


@given(SCALES, SCALES, SCALES, POINTS, POINTS, POINTS)
def test_all_sums_of_two_bytes(sa: float, sb: float, s: float, za: int, zb: int, z: int) -> None:
    summands = [Summand(sa, za, *BYTE), Summand(sb, zb, *BYTE)]
    found = fixed_sum(summands, s, float(z))
    if found is None:
        return
    values = grids(summands)
    fixed = found.start + values[0] * found.factors[0] + values[1] * found.factors[1]
    assert check(fixed, found, in_floats(summands, s, z, BYTE, values)) < 0.02 or tied(sa, sb, s)


def tied(sa: float, sb: float, s: float) -> bool:
    """Whether many sums may be exactly between two integers."""
    return any((2**9 * scale / s).is_integer() for scale in (sa, sb))


def test_sums_that_are_added_in_fused_operations() -> None:
    """Mode qlinear has no zero points in its summands, and adds to a start."""
    summands = [Summand(0.3137, 0, *BYTE), Summand(0.7713, 0, *BYTE)]
    found = fixed_sum(summands, 1.0, -3.7071)
    assert found is not None
    a, b = grids(summands)
    wanted = np.clip(np.rint(a * 0.3137 + b * 0.7713 - 3.7071), *BYTE)
    assert check(found.start + a * found.factors[0] + b * found.factors[1], found, wanted) < 0.01


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    SCALES,
    SCALES,
    POINTS,
    POINTS,
    st.integers(0, 2**32 - 1),
)
def test_averages(
    height: int, width: int, si: float, so: float, zi: int, z: int, seed: int
) -> None:
    """Four sums of every fourth element, then their sum, as mode float defines it."""
    size, far = height * width, max(127 - zi, 128 + zi)
    found = fixed_product([si / (so * size)], [far * size], size // 4 + 7, z, BYTE)
    if found is None:
        return
    maps = np.random.default_rng(seed).integers(-128, 128, (50, size))
    reals = (maps - zi).astype(np.float32) * np.float32(si)
    lanes, even = np.zeros((4, 50), np.float32), size // 4 * 4
    for first in range(0, even, 4):
        lanes += reals[:, first : first + 4].T
    total = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    for last in range(even, size):
        total = total + reals[:, last]
    wanted = np.rint((total / np.float32(size) / np.float32(so)).astype(np.float64)) + z
    fixed = product_of((maps - zi).sum(axis=1), found.factors[0], found)
    check(fixed, found, np.clip(wanted, *BYTE))


def test_float_sums_that_go_astray() -> None:
    """Additions move some averages across a half, but only those that are near it."""
    si, so, size = np.float32(0.018), np.float32(0.027), 64
    found = fixed_product([float(si) / (float(so) * size)], [255 * size], size + 1, 0, BYTE)
    assert found is not None
    exact = np.arange(6000, 12000) * (float(si) / float(so) / size) * 2**found.shift
    off = np.abs(exact % 2**found.shift - 2 ** (found.shift - 1))
    near = np.arange(6000, 12000)[(4 < off) & (off < 30)]
    maps = np.random.default_rng(3).integers(-40, 41, (len(near), 500, size))
    maps += (near[:, None] - maps.sum(axis=2))[:, :, None] // size
    maps[:, :, 0] += near[:, None] - maps.sum(axis=2)
    maps = maps.reshape(-1, size)
    total = np.zeros(len(maps), np.float32)
    for element in maps.T:
        total = total + element.astype(np.float32) * si
    wanted = np.clip(np.rint((total / np.float32(size) / so).astype(np.float64)), *BYTE)
    sums = maps.sum(axis=1)
    assert (wanted != np.clip(np.rint(sums * (float(si) / float(so) / size)), *BYTE)).any()
    assert check(product_of(sums, found.factors[0], found), found, wanted) == 1


@given(SCALES, SCALES, SCALES, POINTS, POINTS, POINTS)
def test_all_products_of_two_bytes(
    sa: float, sb: float, s: float, za: int, zb: int, z: int
) -> None:
    far = [max(127 - point, 128 + point) for point in (za, zb)]
    found = fixed_product([sa * sb / s], [far[0] * far[1]], 0, z, BYTE)
    if found is None:
        return
    a, b = np.meshgrid(np.arange(-128, 128) - za, np.arange(-128, 128) - zb)
    reals = (a.astype(np.float32) * np.float32(sa)) * (b.astype(np.float32) * np.float32(sb))
    wanted = np.clip(np.rint((reals / np.float32(s)).astype(np.float64)) + z, *BYTE)
    check(product_of(a * b, found.factors[0], found), found, wanted)


def test_one_factor_for_each_number_of_elements() -> None:
    counts = [1, 2, 3, 6, 9]
    ratios = [0.5 / count for count in counts]
    found = fixed_product(ratios, [255 * count for count in counts], 9, -128, BYTE)
    assert found is not None
    for count, ratio, factor in zip(counts, ratios, found.factors, strict=True):
        sums = np.arange(-255 * count, 255 * count + 1)
        fixed = product_of(sums, factor, found)
        off = np.abs(fixed / 2.0**found.shift - (sums * ratio - 128 + 0.5))
        assert off.max() * 2**found.shift <= 2 * found.near


@pytest.mark.parametrize(
    ("ratio", "limit", "offset"),
    [(0.01, 2**31, 0), (2.0**-30, 2**20, 0), (0.5, 2**20, 0), (0.01, 1000, 2000)],
)
def test_products_that_do_not_fit(ratio: float, limit: int, offset: int) -> None:
    assert fixed_product([ratio], [limit], 0, offset, BYTE) is None


@pytest.mark.parametrize(
    "scales",
    [(1.0, 1.0, 2.0**-45), (2.0**-50, 1.0, 1.0), (2.0**41, 1.0, 1.0), (1.0, 1.0, 2.0**-30)],
)
def test_sums_out_of_range(scales: tuple[float, float, float]) -> None:
    summands = [Summand(scale, 0, *BYTE) for scale in scales[:2]]
    assert fixed_sum(summands, scales[2], 0.0) is None


def test_halves_of_16_bits_are_left_to_floats() -> None:
    """Their factors have too few bits for a fraction."""
    summands = [Summand(0.5, 0, -(2**15), 2**15 - 1)] * 2
    assert fixed_sum(summands, 1.0, 0.0) is None


def test_sums_near_a_half_are_seldom() -> None:
    random, shares = np.random.default_rng(1), list[float]()
    for sa, sb, s in random.uniform(0.02, 0.2, (20, 3)).astype(np.float32).tolist():
        summands = [Summand(sa, -3, *BYTE), Summand(sb, 5, *BYTE)]
        found = fixed_sum(summands, s, 0.0)
        assert found is not None
        a, b = grids(summands)
        fixed = found.start + a * found.factors[0] + b * found.factors[1]
        shares.append(float(is_near(fixed, found).mean()))
    assert max(shares) < 0.01


def test_both_ways_of_a_tie_are_near_a_half() -> None:
    summands = [Summand(0.5, 0, *BYTE), Summand(0.25, 0, *BYTE)]
    found = fixed_sum(summands, 1.0, 0.0)
    assert found is not None
    for a, b in product(range(-128, 128, 5), range(-128, 128, 4)):
        fixed = np.array([found.start + a * found.factors[0] + b * found.factors[1]])
        assert is_near(fixed, found)[0] == ((2 * a + b) % 4 == 2)
