"""The traffic and operations that zero blocks cost and save. No IR in here.

Paper 003 is Y.-H. Shih et al., *Zebra: Memory Bandwidth Reduction for CNN Accelerators With Zero
Block Regularization of Activation Maps*. A map of C channels of H x W elements of B bits is cut
into blocks of b x b elements of one channel; one bit for each block says whether it is moved. If H
or W is no multiple of b, the blocks at the bottom or right are smaller. If both are, the functions
here are the equations of section II-C of the paper.
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


def break_even(bits: int, block: int) -> Fraction:
    """The sparsity at which equation (3) equals equation (2): 1 / (B * b^2).

    Below it, compression saves nothing, so a map moves uncompressed.
    """
    return Fraction(1, bits * block**2)


def time_break_even(
    bits: int, block: int, block_cycles: Fraction, bytes_per_cycle: Fraction
) -> Fraction:
    """The sparsity from which on moving in blocks saves time; above 1 if it never does.

    An element in a zero block saves the cycles in which its bits would cross the bus. Each element
    costs `block_cycles` of the core, and its share of the index crosses the bus. The core is taken
    to wait for every byte, so if transfers hide, it takes even more zeros.
    """
    crossing = Fraction(bits, 8) / bytes_per_cycle
    return break_even(bits, block) + block_cycles / crossing


def moved_bytes(shape: Sequence[int], block: int, element_bytes: int, kept_elements: int) -> int:
    """Bytes of one read or write of a compressed map.

    They are its index and the `kept_elements` in blocks that are not zero.
    """
    return index_bytes(shape, block) + kept_elements * element_bytes
