"""Among tiles that move the same bytes, those that take less time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.parser import Parser

from npu_dialect.machine import Machine
from npu_dialect.npu.layers import Conv2dOp
from npu_passes.tiling.conv_tiles import TileOptions
from npu_passes.tiling.finer_tiles import (
    GAIN,
    ahead_of,
    compute_cycles,
    cuts_of,
    cycles_of,
    farther,
    ways,
)
from npu_passes.tiling.layer_spaces import GROUPS, OUT
from npu_passes.tiling.stage import off_chip_operands, stage_of
from npu_passes.tiling.staging import choose, least_moved
from npu_tools.shared.installed import context

MACHINE = Machine.load("exynos-npu")
POOL = " then max_pool [3, 3] by [2, 2] padded [1, 1, 1, 1] overlap recompute"


def convolution(channels: int, size: int, kernels: int, kernel: int, pool: str = "") -> Conv2dOp:
    """A convolution of bytes, with all operands off the chip."""
    pad, out = kernel // 2, -(-size // 2) if pool else size
    text = f"""
    func.func @f(%x : memref<1x{channels}x{size}x{size}xi8, #npu.dram>,
                 %w : memref<{kernels}x{channels}x{kernel}x{kernel}xi8, #npu.dram>,
                 %b : memref<{kernels}xi8, #npu.dram>,
                 %y : memref<1x{kernels}x{out}x{out}xi8, #npu.dram>) {{
      npu.conv2d ins(%x, %w, %b : memref<1x{channels}x{size}x{size}xi8, #npu.dram>,
          memref<{kernels}x{channels}x{kernel}x{kernel}xi8, #npu.dram>,
          memref<{kernels}xi8, #npu.dram>)
        outs(%y : memref<1x{kernels}x{out}x{out}xi8, #npu.dram>)
        strides [1, 1] pads [{pad}, {pad}, {pad}, {pad}]{pool}
      func.return
    }}"""
    module = Parser(context(), text).parse_module()
    module.verify()
    return next(op for op in module.walk() if isinstance(op, Conv2dOp))


def test_tiles_of_one_kernel_grow() -> None:
    """The fewest bytes are found with tiles of one kernel, each of which reads all its input."""
    op = convolution(728, 37, 728, 1, POOL)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    fewest = least_moved(op, stage, MACHINE, 256 * 1024, TileOptions())
    found = choose(op, MACHINE, 256 * 1024)
    assert fewest is not None
    assert fewest.cut.size(OUT) == 1
    assert found.cut.size(OUT) > 1
    assert found.bytes == fewest.bytes
    computing = [compute_cycles(op, each.cut, MACHINE) for each in (found, fewest)]
    assert computing[0] < computing[1] / 3


@settings(max_examples=25, deadline=None)
@given(
    channels=st.integers(1, 64),
    size=st.integers(2, 20),
    kernels=st.integers(1, 64),
    kernel=st.sampled_from([1, 3]),
    pool=st.sampled_from(["", POOL]),
    free=st.integers(4000, 40000),
)
def test_no_other_size_is_faster(
    channels: int, size: int, kernels: int, kernel: int, pool: str, free: int
) -> None:
    op = convolution(channels, size, kernels, kernel, pool)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    fewest = least_moved(op, stage, MACHINE, free, TileOptions())
    if fewest is None:
        return
    found = choose(op, MACHINE, free)
    assert found.footprint <= free
    assert found.bytes <= fewest.bytes
    assert cycles_of(stage, found, MACHINE) <= cycles_of(stage, fewest, MACHINE)
    others = ways(stage, cuts_of(stage.space, found.cut, wider=True), free, found.bytes)
    least = GAIN * cycles_of(stage, found, MACHINE)
    assert all(cycles_of(stage, other, MACHINE) >= least for other in others)


@pytest.mark.parametrize(("size", "groups"), [(8, 8), (16, 4), (24, 2), (48, 1)])
def test_small_groups_of_kernels_are_loaded_together(size: int, groups: int) -> None:
    """128 kernels of 9 bytes are 8 groups: their starts take longer than all of the computing.

    On a large map the next group is loaded while one is computed.
    """
    text = f"""
    func.func @f(%x : memref<1x128x{size}x{size}xi8, #npu.sram>,
                 %w : memref<128x1x3x3xi8, #npu.dram>,
                 %y : memref<1x128x{size}x{size}xi8, #npu.sram>) {{
      npu.conv2d ins(%x, %w : memref<1x128x{size}x{size}xi8, #npu.sram>,
          memref<128x1x3x3xi8, #npu.dram>)
        outs(%y : memref<1x128x{size}x{size}xi8, #npu.sram>) pads [1, 1, 1, 1] groups 128
      func.return
    }}"""
    module = Parser(context(), text).parse_module()
    op = next(op for op in module.walk() if isinstance(op, Conv2dOp))
    found = choose(op, MACHINE, 16 * 1024)
    assert found.cut.size(GROUPS) == groups * MACHINE.kernel_group
    assert found.bytes == 128 * 9
    timeless = replace(MACHINE, dma_bytes_per_cycle=Fraction())
    assert choose(op, timeless, 16 * 1024).cut.size(GROUPS) == MACHINE.kernel_group


def test_starts_of_small_tiles_hide_two_steps_ahead() -> None:
    """The bus is the limit, and a start takes as long as a tile's data."""
    op = convolution(1024, 4, 1024, 1)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    found = choose(op, MACHINE, 64 * 1024)
    assert found.ahead
    assert found.footprint <= 64 * 1024
    assert max(buffer.copies for buffer in found.buffers) == 3
    near = choose(op, replace(MACHINE, dma_fifo_bytes=1024), 64 * 1024)
    assert not near.ahead
    assert near.bytes == found.bytes
    assert cycles_of(stage, found, MACHINE) < 0.95 * cycles_of(stage, near, MACHINE)
    assert not any(each.ahead for each in ways(stage, (near.cut,), 1 << 30, near.bytes))


def test_where_the_core_is_the_limit_two_copies_are_enough() -> None:
    op = convolution(256, 32, 256, 3)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    found = choose(op, MACHINE, 128 * 1024)
    assert found.double_buffer
    assert not found.ahead
    slow = replace(MACHINE, dma_jump_cycles=0, dma_setup_cycles=0)
    assert farther(stage, found, slow, 128 * 1024, 1) == found


@settings(max_examples=25, deadline=None)
@given(
    channels=st.integers(1, 64),
    size=st.integers(2, 20),
    kernels=st.integers(1, 64),
    free=st.integers(4000, 40000),
)
def test_a_copy_more_fits(channels: int, size: int, kernels: int, free: int) -> None:
    op = convolution(channels, size, kernels, 1)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    found = least_moved(op, stage, MACHINE, free, TileOptions())
    if found is None or not found.double_buffer:
        return
    for each in ahead_of(stage, found, free, 1):
        assert each.ahead
        assert each.footprint <= free
        assert each.bytes <= found.bytes
        plain = stage.staging(each.cut, double=True)
        more = [buffer.copies for buffer in each.buffers]
        less = [buffer.copies for buffer in plain.buffers]
        assert any(one > other for one, other in zip(more, less, strict=True))


@pytest.mark.parametrize("size", [37, 20])
def test_without_times_tiles_stay(size: int) -> None:
    op = convolution(728, size, 728, 1)
    machine = replace(MACHINE, dma_bytes_per_cycle=Fraction())
    stage = stage_of(op, off_chip_operands(op), machine.alignment)
    assert choose(op, machine, 200_000) == least_moved(op, stage, machine, 200_000, TileOptions())
