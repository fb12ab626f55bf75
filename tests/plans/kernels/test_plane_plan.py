"""Where elements, vectors, weights and outputs of planes lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.plane_plan import (
    REACH,
    PlanePlan,
    Tile,
    channel_bytes,
    pack_planes,
    places_of,
    weights_at,
)

AXES = st.builds(
    Axis,
    st.integers(1, 12),
    st.integers(1, 8),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 3),
)


def plane_of(channel: np.ndarray, plan: PlanePlan) -> np.ndarray:
    """The plane of a channel [rows, columns], of which padding is zero."""
    plane = np.zeros(plan.bytes, int)
    rows, columns = channel.shape
    for row in range(rows):
        for column in range(columns):
            plane[plan.at(row, column)] = channel[row, column]
    return plane


def computed(plane: np.ndarray, packed: np.ndarray, plan: PlanePlan) -> np.ndarray:
    """The outputs of the second channel, tile by tile."""
    tile, found = plan.tile, np.zeros((plan.rows.outputs, plan.columns.outputs), int)
    places = np.array(places_of(tile, plan.pitch))
    assert max(places) + 1 <= plan.reach(tile) <= REACH
    for y in range(0, plan.rows.outputs, tile.down):
        for x in range(0, plan.columns.outputs, tile.across):
            first = y * plan.rows.stride * plan.pitch + x * plan.columns.stride
            for (down, across), vector in tile.weights:
                at = channel_bytes(tile) + weights_at(tile, ((down, across), vector))
                if y + down < plan.rows.outputs and x + across < plan.columns.outputs:
                    data = plane[first + vector * tile.width + places]
                    found[y + down, x + across] += data @ packed[at : at + 16]
    return found


@given(AXES, AXES, st.integers(0, 99))
def test_an_output_is_a_sum_of_products_of_vectors(rows: Axis, columns: Axis, seed: int) -> None:
    if not PlanePlan.fits(rows, columns):
        return
    random, plan = np.random.default_rng(seed), PlanePlan(rows, columns)
    channel = random.integers(-128, 128, (rows.size, columns.size))
    weights = random.integers(-128, 128, (3, rows.kernel, columns.kernel)).astype(np.int8)
    padded = np.pad(channel, ((rows.before, rows.after), (columns.before, columns.after)))
    found = computed(plane_of(channel, plan), pack_planes(weights, plan.tile), plan)
    for y in range(rows.outputs):
        for x in range(columns.outputs):
            top, left = y * rows.stride, x * columns.stride
            window = padded[top : top + rows.kernel, left : left + columns.kernel]
            assert found[y, x] == (window * weights[1]).sum()


@given(AXES, AXES)
def test_all_elements_are_copied(rows: Axis, columns: Axis) -> None:
    plan = PlanePlan(rows, columns)
    if not PlanePlan.fits(rows, columns) or not plan.is_flat:
        return
    parts = plan.parts()
    assert {place for part in parts for place in part} == {
        (row, column) for row in range(rows.size) for column in range(columns.size)
    }
    assert all(len(part) == 8 for part in parts)
    assert len(parts) == -(-rows.size * columns.size // 8)


def test_the_padding_behind_a_row_is_that_in_front_of_the_next_one() -> None:
    padded = Axis(6, 3, 1, 1, 1)
    assert PlanePlan(padded, padded).pitch == 7
    assert PlanePlan(padded, Axis(6, 3, 2, 1, 1)).pitch == 7
    assert PlanePlan(padded, Axis(6, 3, 1, 0, 2)).pitch == 8
    assert PlanePlan(padded, Axis(6, 3)).pitch == 6
    assert PlanePlan(padded, padded).bytes == 64


@pytest.mark.parametrize(
    ("kernel", "stride", "size", "vectors"),
    [(3, 1, (2, 2), 1), (3, 2, (1, 2), 1), (5, 1, (1, 2), 2), (5, 2, (1, 2), 3), (7, 2, (1, 1), 4)],
)
def test_tiles(kernel: int, stride: int, size: tuple[int, int], vectors: int) -> None:
    axis = Axis(12, kernel, stride, kernel // 2, kernel // 2)
    tile = PlanePlan(axis, axis).tile
    assert (tile.down, tile.across) == size
    assert tile.vectors == vectors


def test_a_tile_knows_its_taps() -> None:
    axis = Axis(12, 5)
    tile = Tile(axis, axis, 1, 2)
    assert [tile.read(0), tile.read(1)] == [[0, 1], [0, 1]]
    assert tile.taps((0, 1), 0)[:6] == [None] * 5 + [(0, 0)]
    assert tile.taps((0, 0), 1) == [(row, 3 + c) for c in range(2) for row in range(5)] + [None] * 6


def test_what_fits_and_what_pays() -> None:
    axis = Axis(6, 3, 1, 1, 1)
    assert PlanePlan.fits(axis, axis)
    for other in (Axis(9, 3, 1, 3), Axis(9, 3, 1, 0, 0, 2), Axis(2, 3), Axis(40, 17)):
        assert not PlanePlan.fits(axis, other)
        assert not PlanePlan.fits(other, axis)
    assert not PlanePlan.fits(axis, Axis(3, 3, 1, 1, 1))  # too few columns, too many elements
    assert PlanePlan.fits(axis, Axis(120, 3))
    assert not PlanePlan.fits(axis, Axis(130, 3))
    assert PlanePlan(axis, axis).pays
    assert not PlanePlan(axis, Axis(6, 2)).pays
    assert not PlanePlan(Axis(2, 3, 1, 1, 1), Axis(2, 3, 1, 1, 1)).pays


def test_the_height_with_fewer_instructions() -> None:
    strided = Axis(12, 3, 2, 1, 1)
    assert PlanePlan(strided, strided).height == 2
    assert PlanePlan(Axis(3, 3), strided).height == 1
    wide = Axis(16, 3, 2, 1, 1)
    assert PlanePlan(strided, wide).height == 1
    outputs = 6 * (4 * 4 + 12 + 6)
    assert PlanePlan(strided, wide).total(1) == 6 * 6 * 4 + outputs
    assert PlanePlan(strided, wide).total(3) == 6 * 6 * 4 + 3 * outputs


def test_flash() -> None:
    """Copies are a loop, or straight code for each part of a small map."""
    small, large = (PlanePlan(axis, axis) for axis in (Axis(3, 3, 1, 1, 1), Axis(9, 3, 1, 1, 1)))
    assert (small.is_flat, len(small.parts())) == (True, 2)
    assert small.flash(8) == 4 * (6 * 2 + small.instructions(small.height)) + 8 * 20
    assert large.flash(8) == 4 * (6 + large.instructions(large.height)) + 8 * 20
