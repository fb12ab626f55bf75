"""Which outputs vectors can store."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr, i8
from xdsl.ir import Attribute

from npu_passes.lowering.kernels.vector_stores import can_scatter, can_store
from npu_plans.kernels.patch_plan import FARTHEST


def map_with(strides: list[int]) -> MemRefType[Attribute]:
    """A map of four channels with some distances between its elements."""
    return MemRefType(i8, [1, 4, 2, 2], StridedLayoutAttr(strides))


@pytest.mark.parametrize(("last", "near"), [(FARTHEST - 2, True), (FARTHEST - 1, False)])
def test_two_pixels_of_four_channels_are_within_reach(last: int, near: bool) -> None:
    channel, pixel = last // 3, last % 3 + 1
    assert can_scatter(map_with([4 * channel, channel, 2 * pixel, pixel])) == near


def test_windows_want_channels_side_by_side() -> None:
    pixels, planes = map_with([16, 1, 8, 4]), map_with([16, 4, 2, 1])
    assert can_store(pixels)
    assert can_store(pixels, folds=True)
    assert can_store(planes)
    assert not can_store(planes, folds=True)
