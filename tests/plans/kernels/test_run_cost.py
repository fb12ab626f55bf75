"""What runs of bytes take, and where gathered windows take less."""

from __future__ import annotations

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


def test_where_windows_are_gathered() -> None:
    """Few channels on small maps, and groups, but neither whole vectors nor few outputs."""
    assert beats(8, 7, filters=96)
    assert beats(4, 15, filters=16)
    assert beats(8, 12, filters=8, groups=4)
    assert not beats(16, 32)
    assert not beats(64, 32)
    assert not beats(8, 7, filters=16)


def test_straight_code_takes_flash() -> None:
    axis = Axis(12, 3, 1, 1, 1)
    plan = ImagePlan(axis, axis, 8, 1, 8, 96)
    assert plan.code(16) > plan.code(32) > 0
    assert plan.total(4) > plan.total(32) > 0
