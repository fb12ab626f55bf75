"""Factors of sums of bytes: the averages of chains of float32 roundings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from npu_plans.kernels.window_averages import Chain, errors, factor_of

BYTES = (-128, 127)
ROOM = 3
"""Roundings of a product and two quotients."""


def chain_of(
    kernel: tuple[int, int], scales: tuple[float, float], points: tuple[int, int], *, early: bool
) -> Chain:
    """The chain of a window of some rows and columns; row by row if it is `early`."""
    rows, columns = kernel
    additions = rows * columns - 1 if early else rows + columns - 2
    low, high = (end - points[0] for end in BYTES)
    one, other = (float(np.float32(scale)) for scale in scales)
    return Chain(low, high, one, other, additions + ROOM, points[1], BYTES, early)


def in_floats(chain: Chain, windows: NDArray[Any]) -> NDArray[np.float32]:
    """The averages of windows [number, rows, columns] in float32, divided by the scale."""
    reals = windows.astype(np.float32) * np.float32(chain.scale)
    _, rows, columns = windows.shape
    total = np.zeros(len(windows), np.float32)
    if chain.early:
        for y in range(rows):
            for x in range(columns):
                total = total + reals[:, y, x]
    else:
        for x in range(columns):
            part = np.zeros(len(windows), np.float32)
            for y in range(rows):
                part = part + reals[:, y, x]
            total = total + part
    return total / np.float32(rows * columns) / np.float32(chain.divisor)


def finished(chain: Chain, values: NDArray[np.float32]) -> NDArray[Any]:
    """The bytes of averages."""
    if chain.early:
        return np.clip(np.rint(values + np.float32(chain.point)), *chain.bounds)
    return np.clip(np.rint(values).astype(np.int64) + chain.point, *chain.bounds)


def windows_with(
    random: np.random.Generator, chain: Chain, kernel: tuple[int, int], total: int, number: int
) -> NDArray[np.int64]:
    """Random windows with one sum: some bytes go up as far as others go down."""
    count = kernel[0] * kernel[1]
    flat = np.full((number, count), total // count)
    flat[:, : total % count] += 1
    for _ in range(3 * count):
        one, other = random.integers(0, count, 2)
        if one == other:
            continue
        room = np.minimum(chain.high - flat[:, one], flat[:, other] - chain.low)
        step = (random.random(number) * (room + 1)).astype(np.int64)
        flat[:, one] += step
        flat[:, other] -= step
    return random.permuted(flat, axis=1).reshape(number, *kernel)


def drawn(random: np.random.Generator) -> tuple[Chain, tuple[int, int]]:
    """A random chain, and its window."""
    kernel = int(random.integers(1, 5)), int(random.integers(1, 5))
    scale = float(random.uniform(0.001, 0.5))
    scales = scale, scale * float(random.choice((1.0, 0.5, random.uniform(0.4, 1.6))))
    points = int(random.integers(-128, 128)), int(random.integers(-128, 128))
    return chain_of(kernel, scales, points, early=bool(random.integers(2))), kernel


def test_bytes_are_those_of_the_chain() -> None:
    """Of sums next to ties above all."""
    random, found = np.random.default_rng(3), 0
    for _ in range(150):
        chain, kernel = drawn(random)
        count = kernel[0] * kernel[1]
        factor = factor_of(chain, count)
        if factor is None:
            continue
        found += 1
        sums = chain.sums(count)
        real = sums * chain.scale / (chain.divisor * count)
        near = np.argsort(np.abs(real - np.floor(real) - 0.5))[:4]
        for total in (*sums[near], *random.choice(sums, 4)):
            windows = windows_with(random, chain, kernel, int(total), 200)
            assert (windows.sum(axis=(1, 2)) == total).all()
            wanted = finished(chain, in_floats(chain, windows))
            product = np.float32(total) * np.float32(factor)
            assert (wanted == chain.bytes(np.array(product, np.float64))).all()
    assert found > 75


def test_chains_are_off_by_less_than_the_bound() -> None:
    random = np.random.default_rng(5)
    for _ in range(60):
        chain, kernel = drawn(random)
        count = kernel[0] * kernel[1]
        windows = random.integers(chain.low, chain.high + 1, (500, *kernel))
        sums = windows.sum(axis=(1, 2))
        ratio = chain.scale / (chain.divisor * count)
        off = np.abs(in_floats(chain, windows) - sums * ratio)
        assert (off <= errors(chain, sums, count) * ratio).all()


@pytest.mark.parametrize(("count", "sure"), [(1, True), (3, True), (9, True), (4, False)])
def test_equal_scales_have_ties_where_windows_are_even(count: int, sure: bool) -> None:
    chain = chain_of((1, count), (0.1, 0.1), (0, 0), early=False)
    assert (factor_of(chain, count) is not None) == sure


def test_most_other_scales_have_a_factor() -> None:
    random, found = np.random.default_rng(0), 0
    for _ in range(40):
        scales = float(random.uniform(0.01, 0.1)), float(random.uniform(0.01, 0.1))
        chain = chain_of((3, 3), scales, (-128, int(random.integers(-128, 128))), early=False)
        found += factor_of(chain, 9) is not None
    assert found >= 36


def test_numbers_out_of_range_have_no_factor() -> None:
    chain = chain_of((3, 3), (0.02, 0.03), (0, 0), early=False)
    assert factor_of(chain, 9) is not None
    for other in (
        replace(chain, scale=2.0**-70),
        replace(chain, divisor=2.0**70),
        replace(chain, low=1),
        replace(chain, roundings=1 << 11),
    ):
        assert factor_of(other, 9) is None
