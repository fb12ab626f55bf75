"""Which windows of averages of bytes depend on their integer sums alone. Pure reading of a layer.

Modes float and qlinear add up real numbers in a given order. Where no window comes so near to a tie
that the order matters, its sum of integers and one product give the same byte
(`npu_plans/kernels/window_averages.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from npu_dialect.npu import QuantizedAvgPool2dOp
from npu_dialect.npu.quantization import limits_of
from npu_dialect.windows import Axis
from npu_passes.lowering.real_lanes import Average
from npu_passes.support.integers import element_of
from npu_plans.kernels.window_averages import Chain, factor_of

Axes = tuple[Axis, Axis]
"""The windows of a layer along its rows and columns."""
PRODUCT_AND_QUOTIENTS = 3
"""Roundings of an average besides those of its additions."""


def chain_of(op: QuantizedAvgPool2dOp, average: Average, axes: Axes) -> Chain:
    """What the mode of a layer computes: by columns, in mode qlinear row by row."""
    low, high = (limit - average.point for limit in limits_of(element_of(op.input)))
    rows, columns = (axis.kernel for axis in axes)
    additions = rows * columns - 1 if op.mode.data == "qlinear" else rows + columns - 2
    point, early = average.early or average.ends.point, bool(average.early)
    scales, roundings = (average.scale, average.divisor), additions + PRODUCT_AND_QUOTIENTS
    return Chain(low, high, *scales, roundings, point, average.ends.bounds, early)


def factors_of(chain: Chain, counts: Iterable[int]) -> dict[int, float] | None:
    """What sums are multiplied by for each number that divides; None if one is not sure."""
    found = {count: factor_of(chain, count) for count in counts}
    sure = {count: factor for count, factor in found.items() if factor is not None}
    return sure if len(sure) == len(found) else None


def counts_of(op: QuantizedAvgPool2dOp, axes: Axes, *, cut: bool) -> list[int]:
    """By which numbers windows divide; `cut`: those that the border cuts."""
    pairs = product(*(counts_along(op, axis) for axis in axes))
    return sorted(
        {one * other for (one, in_y), (other, in_x) in pairs if not (cut and in_y and in_x)}
    )


def counts_along(op: QuantizedAvgPool2dOp, axis: Axis) -> set[tuple[int, bool]]:
    """The numbers of taps along an axis that count, and whether all of these are on the map."""
    inside = range(*axis.interior())
    return {(counted(op, axis, place), place in inside) for place in range(axis.outputs)}


def counted(op: QuantizedAvgPool2dOp, axis: Axis, place: int) -> int:
    """The number of taps along an axis that count."""
    if op.count_include_pad is not None:
        return axis.counted(place)
    low, high = axis.taps(place)
    return high - low
