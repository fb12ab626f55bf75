"""Equations (3) to (5) of paper 003 as printed, for comparison in tests."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod


def saved_bits(sparsity: Fraction, shape: Sequence[int], bits: int) -> Fraction:
    """Equation (3): bits that need not move; `sparsity` is the share of elements in zero blocks."""
    return sparsity * prod(shape) * bits


def convolution_operations(
    kernel: int, channels: int, outputs: int, height: int, width: int, stride: int
) -> int:
    """Equation (4): K^2 * C * O * (H / s) * (W / s), the multiplications of a convolution."""
    return kernel**2 * channels * outputs * -(-height // stride) * -(-width // stride)


def maximum_operations(shape: Sequence[int]) -> int:
    """Equation (5): C*H*W comparisons, one for each element, find the maxima of all blocks."""
    return prod(shape)
