"""What runs of bytes take, and where gathered windows take less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.image_plan import ImagePlan
from npu_plans.kernels.run_cost import RunCost


def beats(channels: int, size: int, *, filters: int = 32, groups: int = 1, kernel: int = 3) -> bool:
    """Whether windows of a square map with padding are gathered."""
    axis, pixel = Axis(size, kernel, 1, kernel // 2, kernel // 2), channels * groups
    plan = ImagePlan(axis, axis, channels, 1, pixel, pixel * size)
    return plan.beats_runs(RunCost(axis, axis, channels, groups == 1), filters, groups, 1)


@given(st.integers(1, 30), st.integers(1, 64), st.integers(1, 5))
def test_an_output_beside_another_one_takes_less(size: int, channels: int, kernel: int) -> None:
    axis = Axis(size, kernel, 1, kernel // 2, kernel // 2)
    close, apart = (RunCost(axis, axis, channels, close) for close in (True, False))
    assert close.inner <= apart.inner
    assert min(close.inner, close.alone) <= close.total <= max(close.inner, close.alone)


@given(st.integers(1, 30), st.integers(1, 64), st.integers(1, 5), st.booleans())
def test_more_channels_and_rows_take_more(
    size: int, channels: int, kernel: int, close: bool
) -> None:
    """Sixteen channels more, as a part of a vector takes more than a whole one."""
    axis = Axis(size, kernel, 1, kernel // 2, kernel // 2)
    taller = Axis(size, kernel + 1, 1, kernel // 2, kernel - kernel // 2)
    cost = RunCost(axis, axis, channels, close)
    for other in (
        RunCost(axis, axis, channels + 16, close),
        RunCost(taller, axis, channels, close),
    ):
        assert other.inner > cost.inner
        assert other.alone > cost.alone
        assert other.total > cost.total


@pytest.mark.parametrize(
    ("channels", "inner", "alone"),
    [(16, 3 * (3 * 2 + 1) + 2, 9 * 2.5 + 10), (8, 3 * (2 * 2 + 2) + 2, 9 * (2.5 + 1.5) + 10)],
)
def test_instructions_of_kernel_rows(channels: int, inner: float, alone: float) -> None:
    """A kernel row of 48 bytes is three vectors. One of 24 bytes is two, the last one a part."""
    axis = Axis(9, 3, 1, 1, 1)
    cost = RunCost(axis, axis, channels, close=True)
    assert (cost.inner, cost.alone) == (inner, alone)
    assert RunCost(axis, Axis(10, 3), channels, close=True).total == inner
    assert RunCost(axis, Axis(1, 3, 1, 1, 1), channels, close=True).total == alone
    # Seven of nine columns lie on the map: three pairs, and one that is computed alone.
    assert cost.total == pytest.approx((6 * inner + 3 * alone) / 9)


def test_where_windows_are_gathered() -> None:
    """Few channels on small maps, and groups, but neither many channels nor few outputs."""
    assert beats(8, 7, filters=96)
    assert beats(4, 15, filters=16)
    assert beats(8, 12, filters=8, groups=4)
    assert beats(32, 12, groups=2)
    assert not beats(64, 12, groups=2)
    assert not beats(8, 7, filters=16)


def test_straight_code_takes_flash() -> None:
    axis = Axis(12, 3, 1, 1, 1)
    plan = ImagePlan(axis, axis, 8, 1, 8, 96)
    assert plan.code(16) > plan.code(32) > 0
    assert plan.total(4) > plan.total(32) > 0
