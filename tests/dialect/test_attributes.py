"""Properties of attributes: windows that overlap, numbers as multipliers."""

from __future__ import annotations

import pytest

from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.quantization import Multiplier


@pytest.mark.parametrize(
    ("kernel", "strides", "dilations", "overlaps"),
    [
        ((2, 2), (2, 2), (1, 1), False),
        ((3, 2), (2, 2), (1, 1), True),
        ((2, 3), (2, 2), (1, 1), True),
        ((2, 2), (2, 2), (1, 2), True),
        ((1, 1), (1, 1), (2, 2), False),
        ((3, 3), (4, 3), (1, 1), False),
    ],
)
def test_windows_overlap(
    kernel: tuple[int, int], strides: tuple[int, int], dilations: tuple[int, int], overlaps: bool
) -> None:
    assert PoolAttr.of("max", kernel, strides, dilations=dilations).overlaps is overlaps


@pytest.mark.parametrize("number", [1.0, 0.3, 1 / 3, 2.0**-31 * 0.9, 2.0**29, 1 - 2.0**-24])
def test_multipliers(number: float) -> None:
    """The least and the greatest i32 are multiplied by the number and rounded."""
    found = Multiplier.of(number)
    assert 1 <= found.shift <= 62
    for value in (2**31 - 1, -(2**31), 12345):
        error = abs(found.scaled(value * found.value) - value * number)
        assert error <= 0.5 + abs(value * number) * 2**-30


def test_multipliers_of_numbers_without_effect() -> None:
    assert Multiplier.of(2.0**-33) == Multiplier(0, 62)
    assert Multiplier.of(2.0**40) == Multiplier.of(2.0**29)
