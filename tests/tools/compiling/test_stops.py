"""What is measured at which step."""

from __future__ import annotations

import pytest

from npu_tools.compiling.stops import DECIDE, SPLIT_TRANSFERS, passed_by

ASSIGN, PREFETCH, SPLIT_LAYERS = DECIDE


@pytest.mark.parametrize(
    ("names", "passed"),
    [
        ((ASSIGN, PREFETCH, SPLIT_LAYERS, SPLIT_TRANSFERS, "npu-outline-layers"), DECIDE),
        ((ASSIGN, PREFETCH, SPLIT_TRANSFERS, "npu-outline-layers"), DECIDE),
        ((ASSIGN, PREFETCH, SPLIT_LAYERS, "npu-outline-layers"), ()),
        ((SPLIT_TRANSFERS, ASSIGN), ()),
        ((ASSIGN, SPLIT_TRANSFERS, PREFETCH), ()),
        ((), ()),
    ],
)
def test_only_what_is_behind_decides(names: tuple[str, ...], passed: tuple[str, ...]) -> None:
    assert passed_by(names) == frozenset(passed)
