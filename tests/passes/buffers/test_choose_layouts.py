"""npu-choose-layouts: which maps have their channels last."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr, i8

from npu_passes.buffers.choose_layouts import is_channels_last


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "expected"),
    [
        ([1, 4, 2, 3], [24, 1, 12, 4], 0, True),
        ([1, 4, 2, 3], [24, 1, 12, 4], 4, True),
        ([1, 4, 2, 3], [60, 1, 12, 4], None, True),  # two rows of five
        ([1, 4, 2, 3], [24, 6, 3, 1], 0, False),
        ([1, 4, 2, 3], [24, 1, 16, 4], 0, False),
        ([1, 4, 1, 3], [24, 1, 99, 4], 0, True),  # with one row, its stride means nothing
        ([2, 4, 1, 1], [4, 1, 4, 4], 0, True),
    ],
)
def test_channels_last(
    shape: list[int], strides: list[int], offset: int | None, expected: bool
) -> None:
    layout = StridedLayoutAttr(strides, offset)
    assert is_channels_last(MemRefType(i8, shape, layout)) is expected


def test_dense_maps() -> None:
    assert is_channels_last(MemRefType(i8, [1, 4, 1, 1], NoneAttr()))
    assert not is_channels_last(MemRefType(i8, [1, 4, 2, 1], NoneAttr()))
    assert not is_channels_last(MemRefType(i8, [4], NoneAttr()))
