"""Among tiles that move the same bytes, those that take less time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from helpers.tiles.chain import function_of, through
from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.npu.layers import Conv2dOp
from npu_dialect.target import TargetAttr
from npu_passes.analysis.timed_program import read_program
from npu_passes.tiling.build_nest import build_nest
from npu_passes.tiling.conv_tiles import TileOptions
from npu_passes.tiling.finer_tiles import (
    GAIN,
    ahead_of,
    compute_cycles,
    cuts_of,
    cycles_of,
    farther,
    saved_by_groups,
    ways,
)
from npu_passes.tiling.layer_spaces import GROUPS, IN, OUT, ROWS
from npu_passes.tiling.stage import off_chip_operands, stage_of
from npu_passes.tiling.staging import choose, least_moved
from npu_plans.tiles import nest_time
from npu_plans.tiles.operand_regions import Cut
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import simulate, total_of
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
    assert cycles_of(stage, found, MACHINE, free) <= cycles_of(stage, fewest, MACHINE, free)
    others = ways(stage, cuts_of(stage.space, found.cut, wider=True), free, found.bytes)
    least = GAIN * cycles_of(stage, found, MACHINE, free)
    assert all(cycles_of(stage, other, MACHINE, free) >= least for other in others)


@pytest.mark.parametrize(
    ("channels", "size", "kernels"),
    [(128, 8, 128), (128, 48, 128), (1024, 8, 512), (1024, 16, 64), (1024, 48, 32)],
)
def test_small_groups_of_kernels_are_loaded_together(
    channels: int, size: int, kernels: int
) -> None:
    """128 kernels of 9 bytes are 8 groups: their starts take longer than their data, or all of the
    computing.

    On a large map some of many groups are loaded while others are computed.
    """
    map_ = f"memref<1x{channels}x{size}x{size}xi8, #npu.sram>"
    text = f"""
    func.func @f(%x : {map_}, %w : memref<{channels}x1x3x3xi8, #npu.dram>, %y : {map_}) {{
      npu.conv2d ins(%x, %w : {map_}, memref<{channels}x1x3x3xi8, #npu.dram>)
        outs(%y : {map_}) pads [1, 1, 1, 1] groups {channels}
      func.return
    }}"""
    module = Parser(context(), text).parse_module()
    op = next(op for op in module.walk() if isinstance(op, Conv2dOp))
    found = choose(op, MACHINE, 16 * 1024)
    assert found.cut.size(GROUPS) == kernels
    assert found.bytes == channels * 9
    timeless = replace(MACHINE, dma_bytes_per_cycle=Fraction())
    assert choose(op, timeless, 16 * 1024).cut.size(GROUPS) == MACHINE.kernel_group


@pytest.mark.parametrize("size", [16, 48])
def test_all_kernels_are_one_tile_where_two_would_do(size: int) -> None:
    """32 of 64 kernels of 60 bytes would take longer to move than a start, in as much memory."""
    source, out = (f"memref<1x{n}x{size}x{size}xi8, #npu.sram>" for n in (60, 64))
    weights = "memref<64x60x1x1xi8, #npu.dram>"
    text = f"""
    func.func @f(%x : {source}, %w : {weights}, %y : {out}) {{
      npu.conv2d ins(%x, %w : {source}, {weights}) outs(%y : {out})
      func.return
    }}"""
    module = Parser(context(), text).parse_module()
    op = next(op for op in module.walk() if isinstance(op, Conv2dOp))
    assert choose(op, MACHINE, 16 * 1024).cut.size(OUT) == 64


def test_starts_of_small_tiles_hide_two_steps_ahead() -> None:
    """The bus is the limit, and a start takes as long as a tile's data."""
    op = convolution(1024, 4, 1024, 1)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    free = 64 * 1024
    found = choose(op, MACHINE, free)
    assert found.ahead
    assert found.footprint <= free
    assert max(buffer.copies for buffer in found.buffers) == 3
    near = choose(op, replace(MACHINE, dma_fifo_bytes=1024), free)
    assert not near.ahead
    assert near.bytes == found.bytes
    assert cycles_of(stage, found, MACHINE, free) < 0.95 * cycles_of(stage, near, MACHINE, free)
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


def test_room_for_a_copy_more_hides_loads() -> None:
    """The first load of the last step, which is smaller, then starts in the step before it."""
    op = convolution(512, 16, 512, 3)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    found = choose(op, MACHINE, 64 * 1024)
    first, *_, last = found.cut.pieces(found.cut.order[-1])
    assert last.count < first.count
    enough = found.footprint + sum(each.bytes for each in found.buffers if each.copies > 1)
    one, other = (cycles_of(stage, found, MACHINE, free) for free in (enough, enough - 1))
    assert one < other
    pl330 = replace(MACHINE, dma_fifo_bytes=1024)
    one, other = (cycles_of(stage, found, pl330, free) for free in (enough, enough - 1))
    assert one == other


def test_layers_that_wait_for_the_bus_leave_room_to_others() -> None:
    op = convolution(64, 64, 64, 3)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    found = choose(op, MACHINE, 32 * 1024)
    one, other = (cycles_of(stage, found, MACHINE, free) for free in (found.footprint, 1 << 20))
    assert one == other > 1.4 * compute_cycles(op, found.cut, MACHINE)


def simulated(op: Conv2dOp, free: int, *passes: str) -> int:
    """The cycles of a convolution in tiles, with further passes."""
    whole = op.get_toplevel_object()
    assert isinstance(whole, ModuleOp)
    module = whole.clone()
    TARGET.set(module, TargetAttr.of(replace(MACHINE, sram_bytes=free)))
    names = ("npu-tile-loops", "npu-double-buffer", "npu-assign-sram-offsets", *passes)
    through(module, ",".join(names))
    function = function_of(module)
    rates = Rates.of(MACHINE)
    return total_of(simulate(read_program(function, rates).body, rates)).total


@pytest.mark.parametrize("order", [(IN,), (IN, ROWS), (ROWS, IN), (ROWS,)])
def test_sums_are_read_to_add_to_them(order: tuple[str, ...]) -> None:
    """Where computing waits for the memory on chip, as in a layer with few channels."""
    op = convolution(16, 64, 16, 1)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    sizes = {**stage.space.whole, **{name: stage.space.loop(name).extent // 4 for name in order}}
    staging = stage.staging(Cut.of(stage.space, sizes, order), double=True)
    rates = Rates.of(MACHINE)
    build_nest(op, staging, MACHINE.dma_channels)
    expected = compute_cycles(op, staging.cut, MACHINE)
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    op.detach()
    found = total_of(simulate(read_program(function_of(module), rates).body, rates)).compute
    assert found == pytest.approx(float(expected), rel=0.02)


SUMS = (256, 32, 256, 3)


@pytest.mark.parametrize(
    ("layer", "free"), [(SUMS, 64), (SUMS, 128), (SUMS, 256), ((96, 20, 512, 1), 128)]
)
def test_stores_hide_in_groups(layer: tuple[int, int, int, int], free: int) -> None:
    """About so much is what `npu-split-layers` saves of stores of sums and of last steps.

    It saves a little more of first loads, and less where fewer groups do.
    """
    op = convolution(*layer)
    stage = stage_of(op, off_chip_operands(op), MACHINE.alignment)
    found = choose(op, MACHINE, free * 1024)
    step = compute_cycles(op, found.cut, MACHINE) / found.cut.steps(found.cut.order)
    rates = nest_time.Rates(MACHINE.dma_setup_cycles, 0, MACHINE.dma_bytes_per_cycle, 1)
    saved = saved_by_groups(stage, found, MACHINE, step, rates)
    plain, split = (simulated(op, free * 1024, *passes) for passes in ((), ("npu-split-layers",)))
    assert 0.75 * (plain - split) < saved <= 1.5 * (plain - split)
    pl330 = replace(MACHINE, dma_fifo_bytes=1024)
    assert saved_by_groups(stage, found, pl330, step, rates) == 0


@pytest.mark.parametrize("size", [37, 20])
def test_without_times_tiles_stay(size: int) -> None:
    op = convolution(728, size, 728, 1)
    machine = replace(MACHINE, dma_bytes_per_cycle=Fraction())
    stage = stage_of(op, off_chip_operands(op), machine.alignment)
    assert choose(op, machine, 200_000) == least_moved(op, stage, machine, 200_000, TileOptions())
