"""What zero blocks cost and save, as numbers. No IR in here.

Paper 003 is Y.-H. Shih et al., *Zebra: Memory Bandwidth Reduction for CNN Accelerators With Zero
Block Regularization of Activation Maps*. A map of C channels of H x W elements of B bits is cut
into blocks of b x b elements of one channel; a bit for each says whether it is moved. The blocks at
the right and at the bottom hold what is left of a map that is no multiple of b; where it is one,
these are the equations of the paper, section II-C.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod


def block_grid(height: int, width: int, block: int) -> tuple[int, int]:
    """Rows and columns of blocks of one channel, partial ones included."""
    return -(-height // block), -(-width // block)


def index_bits(shape: Sequence[int], block: int) -> int:
    """Equation (2): bits of the index of a map [..., H, W]; C*H*W / b^2 if b divides both."""
    *outer, height, width = shape
    return prod(outer) * prod(block_grid(height, width, block))


def index_bytes(shape: Sequence[int], block: int) -> int:
    """Bytes of the index of a map [..., H, W]."""
    return -(-index_bits(shape, block) // 8)


def saved_bits(sparsity: Fraction, shape: Sequence[int], bits: int) -> Fraction:
    """Equation (3): bits that need not move if a share of a map's elements lies in zero blocks."""
    return sparsity * prod(shape) * bits


def convolution_operations(
    kernel: int, channels: int, outputs: int, height: int, width: int, stride: int
) -> int:
    """Equation (4): K^2 * C * O * (H / s) * (W / s), the multiplications of a convolution."""
    return kernel**2 * channels * outputs * -(-height // stride) * -(-width // stride)


def maximum_operations(shape: Sequence[int]) -> int:
    """Equation (5): C*H*W comparisons, one for each element, find the maxima of all blocks."""
    return prod(shape)


def break_even(bits: int, block: int) -> Fraction:
    """The sparsity at which (3) pays for (2): 1 / (B * b^2). Below it a map moves as it is."""
    return Fraction(1, bits * block**2)


def moved_bytes(shape: Sequence[int], block: int, element_bytes: int, kept_elements: int) -> int:
    """Bytes of one pass over a compressed map: its index, and the elements of blocks not zero."""
    return index_bytes(shape, block) + kept_elements * element_bytes


def worst_bytes(shape: Sequence[int], block: int, element_bytes: int) -> int:
    """Bytes of one pass over a compressed map without a zero block."""
    return moved_bytes(shape, block, element_bytes, prod(shape))
