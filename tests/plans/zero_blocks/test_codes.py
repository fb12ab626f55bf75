"""Which code costs the least, and the zero of bit planes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from npu_plans.zero_blocks.codes import (
    AS_IT_IS,
    BLOCKS,
    PLAIN,
    PLANES,
    Cost,
    best,
    moved_share,
    plane_zero,
)

BYTES_ONLY = Fraction()


def test_fewest_bytes() -> None:
    costs = {AS_IT_IS: PLAIN, BLOCKS: Cost(0.7), PLANES: Cost(0.6, Fraction(9))}
    assert best(costs, BYTES_ONLY) == PLANES
    assert best({**costs, PLANES: Cost(0.7)}, BYTES_ONLY) == BLOCKS
    assert best({AS_IT_IS: PLAIN, PLANES: Cost(1.0)}, BYTES_ONLY) == AS_IT_IS


def test_least_time() -> None:
    """On a bus of a quarter byte a cycle, 0.1 bytes are 0.4 cycles."""
    rate = Fraction(1, 4)
    costs = {BLOCKS: Cost(0.7, Fraction(1)), PLANES: Cost(0.6, Fraction(13, 10))}
    assert best(costs, rate) == PLANES
    assert best({**costs, PLANES: Cost(0.6, Fraction(3, 2))}, rate) == BLOCKS
    assert costs[BLOCKS].time(rate) == pytest.approx(3.8)


def test_shares() -> None:
    """An index of one bit for 4 x 4 floats, and of four for 16 bytes."""
    assert moved_share(0.5, 32, 16, 1) == 0.5 + 1 / 512
    assert moved_share(0.5, 8, 16, 4) == 0.5 + 1 / 32


@pytest.mark.parametrize(
    ("zero_point", "middle", "zero"),
    [
        (-128, -128, -128),
        (-65, -128, -128),
        (-64, -128, 0),
        (-63, -128, 0),
        (0, -128, 0),
        (63, -128, 0),
        (64, -128, -128),
        (0, 128, 0),
        (128, 128, 128),
        (200, 128, 0),
    ],
)
def test_the_nearer_zero(zero_point: int, middle: int, zero: int) -> None:
    assert plane_zero(zero_point, middle) == zero
