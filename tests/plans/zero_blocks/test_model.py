"""Equations (2) to (5) of paper 003, on ResNet-18 and on maps that are no multiples of blocks."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.zero_blocks.equations import (
    convolution_operations,
    maximum_operations,
    saved_bits,
)
from npu_plans.zero_blocks.model import (
    block_grid,
    break_even,
    index_bits,
    index_bytes,
    moved_bytes,
    time_break_even,
)


def stages(size: int) -> list[tuple[int, int, int]]:
    """The maps of ResNet-18's four stages: 64 channels at full size, halved three times."""
    return [(64 << stage, size >> stage, size >> stage) for stage in range(4)]


def test_cifar_maps_of_resnet_18() -> None:
    """The 17 ReLU maps at 32x32. The 2.06 MB and 4.13 KB of the paper fit no standard choice."""
    maps = [stages(32)[0], *[each for each in stages(32) for _ in range(4)]]
    elements = sum(map(prod, maps))
    bits = sum(index_bits(each, 4) for each in maps)
    assert len(maps) == 17
    assert elements == 557_056
    assert elements * 4 / 2**20 == 2.125
    assert bits / 8 / 2**10 == 4.25
    assert round(100 * bits / (elements * 32), 3) == 0.195


def test_tiny_imagenet_maps_of_resnet_18() -> None:
    """The 16 maps of block convolutions at 64x64, b = 8: 7.86 MB as printed, but not 3.15 KB."""
    maps = [each for each in stages(64) for _ in range(4)]
    assert round(sum(map(prod, maps)) * 4 / 1e6, 3) == 7.864
    assert sum(index_bytes(each, 8) for each in maps) == 3840


def test_break_even() -> None:
    assert break_even(32, 4) == Fraction(1, 512)
    assert round(100 * float(break_even(32, 4)), 3) == 0.195
    assert round(100 * float(break_even(8, 4)), 2) == 0.78
    shape = (64, 32, 32)
    assert saved_bits(break_even(8, 4), shape, 8) == index_bits(shape, 4)


def test_operations() -> None:
    """Finding the maxima takes 1 / 576 of the operations of a 3x3 convolution of 64 channels."""
    shape = (64, 32, 32)
    assert convolution_operations(3, 64, 64, 32, 32, 1) == 576 * maximum_operations(shape)
    assert convolution_operations(3, 64, 64, 33, 33, 2) == 9 * 64 * 64 * 17 * 17


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 3), st.integers(1, 33), st.integers(1, 47), st.sampled_from([1, 2, 4, 8]))
def test_ragged_maps(channels: int, height: int, width: int, block: int) -> None:
    """Every element is in one block, and the index costs at most a byte more than its bits."""
    shape = (channels, height, width)
    rows, columns = block_grid(height, width, block)
    assert (rows - 1) * block < height <= rows * block
    assert (columns - 1) * block < width <= columns * block
    assert index_bits(shape, block) == channels * rows * columns
    assert 0 <= 8 * index_bytes(shape, block) - index_bits(shape, block) < 8
    assert moved_bytes(shape, block, 4, 0) == index_bytes(shape, block)
    whole = index_bytes(shape, block) + 4 * prod(shape)
    assert moved_bytes(shape, block, 4, prod(shape)) == whole


def test_time() -> None:
    """At the break-even the bus saves as many cycles as the core and the index take."""
    elements, bits, block, cycles, rate = 4096, 8, 4, Fraction(11, 10), Fraction(1, 2)
    share = time_break_even(bits, block, cycles, rate)
    saved = share * elements * bits / 8 / rate
    index = Fraction(elements, block**2) / 8 / rate
    assert saved == elements * cycles + index
    assert time_break_even(bits, block, Fraction(0), rate) == break_even(bits, block)
    assert time_break_even(32, block, Fraction(10), Fraction(16)) > 1
