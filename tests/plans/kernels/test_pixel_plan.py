"""Pixels in registers: what is loaded, and what is multiplied with what."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.gathers import BYTES, EIGHT, FOUR
from npu_plans.kernels.pixel_plan import CONSTANTS, KEPT, PixelPlan, PixelTable

CHANNELS = st.integers(8, 64)


@given(CHANNELS, st.integers(0, 9), st.booleans(), st.integers(0, 2**32 - 1))
def test_products_are_those_of_each_pixel(channels: int, gap: int, packs: bool, seed: int) -> None:
    plan, random = PixelPlan(channels, channels + gap, packs), np.random.default_rng(seed)
    size = plan.pixels * plan.pitch + BYTES
    map = random.integers(-128, 128, size)
    filter = random.integers(-128, 128, channels)
    table = np.concatenate([np.zeros(plan.lead), filter, np.zeros(plan.padding)])
    data = [map[first : first + BYTES] for first in plan.loads]
    assert len(data) <= KEPT or packs
    read = plan.read(plan.pixels)
    assert [at for at, _ in read] == plan.loads
    assert [few for _, few in read if few is not None] == [channels % BYTES] * (
        plan.pixels if plan.padding and not plan.is_paired else 0
    )
    sums = np.zeros(plan.pixels)
    for first, users in plan.weights():
        start = plan.lead + first
        weights = table[start : start + BYTES]
        assert len(weights) == BYTES
        for pixel, vector in users:
            sums[pixel] += data[vector] @ weights
    wanted = [
        map[pixel * plan.pitch : pixel * plan.pitch + channels] @ filter
        for pixel in range(plan.pixels)
    ]
    np.testing.assert_array_equal(sums, wanted)


@pytest.mark.parametrize("gap", [0, 1, 8])
def test_loads_read_so_far_behind_the_last_pixel_as_zeros_stand(gap: int) -> None:
    """All bytes of all pixels are loaded, and none in front of them."""
    for channels in range(8, 65):
        plan = PixelPlan(channels, channels + gap)
        found = {first + byte for first in plan.loads for byte in range(BYTES)}
        pixels = [plan.pitch * each for each in range(plan.pixels)]
        assert found >= {first + byte for first in pixels for byte in range(channels)}
        behind = 0 if plan.is_paired else plan.padding
        assert (min(found), max(found)) == (0, pixels[-1] + channels + behind - 1)


@given(CHANNELS, st.data())
def test_each_output_has_one_lane(channels: int, data: st.DataObject) -> None:
    """Lanes are pixels of a filter with the same weights, or neighbouring filters of a pixel."""
    plan = PixelPlan(channels, channels)
    count = data.draw(st.integers(1, plan.filters))
    fours = plan.fours(count)
    for four in fours:
        pixel, filter = four[0]
        across = plan.pixels // FOUR
        steps = [(lane * across, 0) if across else (0, lane) for lane in range(FOUR)]
        assert four == [(pixel + right, filter + down) for right, down in steps]
        if across:
            assert [each for each, _ in four] in [
                [pixel for pixel, _ in users] for _, users in plan.weights()
            ]
    real = [(pixel, filter) for four in fours for pixel, filter in four if filter < count]
    wanted = [(pixel, filter) for pixel in range(plan.pixels) for filter in range(count)]
    assert sorted(real) == wanted
    assert len(plan.fours(plan.filters)) == EIGHT // FOUR


@pytest.mark.parametrize(
    ("channels", "pitch", "pixels"),
    [(8, 8, 8), (8, 9, 4), (16, 16, 4), (17, 17, 2), (32, 32, 2), (33, 33, 1), (64, 64, 1)],
)
def test_the_pixels_of_a_block(channels: int, pitch: int, pixels: int) -> None:
    plan = PixelPlan(channels, pitch)
    assert plan.pixels == pixels
    assert plan.filters * plan.pixels == EIGHT


def test_four_vectors_hold_up_to_64_channels() -> None:
    assert not PixelPlan(7, 7).fits
    assert PixelPlan(8, 8).fits
    assert PixelPlan(64, 64).fits
    assert not PixelPlan(65, 65).fits


def test_zeros_are_worth_their_flash_where_many_pixels_are() -> None:
    assert not PixelPlan(8, 8).pays(15)
    assert PixelPlan(8, 8).pays(16)
    assert PixelPlan(16, 16).pays(1)


@pytest.mark.parametrize(
    ("channels", "pixels", "outputs", "has"),
    [
        (32, 2, 879, False),
        (32, 2, 880, True),
        (64, 2, 679, False),
        (64, 2, 680, True),
        (240, 1, 1, True),
        (16, 99, 10_000, False),
    ],
)
def test_rows_have_to_be_worth_their_code(
    channels: int, pixels: int, outputs: int, has: bool
) -> None:
    assert PixelPlan(channels, channels, packs=True).has_rows(pixels, outputs) == has


@given(st.integers(8, 16), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_a_table_has_the_constants_of_each_filter(channels: int, filters: int, seed: int) -> None:
    table, random = PixelTable(PixelPlan(channels, channels)), np.random.default_rng(seed)
    weights = random.integers(-128, 128, (filters, channels)).astype(np.int8)
    biases, scales = random.integers(-99, 99, filters), random.random(filters, np.float32)
    words = table.words(weights, biases, scales)
    zeros = np.zeros(channels if table.plan.is_paired else 0)
    for filter in range(filters):
        first = filter // table.step * table.step
        count, block = min(table.step, filters - first), words[first * table.pitch :]
        pair = block[CONSTANTS * (filter - first) :][:CONSTANTS]
        assert pair[0] == biases[filter]
        assert pair[1:].view(np.float32) == scales[filter]
        for start, _ in table.plan.weights():
            row = block[table.row(filter - first, count, start) :][: BYTES // 4].view(np.int8)
            both = np.concatenate([zeros, weights[filter], np.zeros(BYTES)])
            np.testing.assert_array_equal(row, both[len(zeros) + start :][:BYTES])
    assert len(words) == sum(
        table.size(min(table.step, filters - first)) for first in range(0, filters, table.step)
    )
