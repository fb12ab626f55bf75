"""Where rows, columns, weights and outputs of patches lie."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.patch_plan import (
    PatchPlan,
    gathered,
    lanes_of,
    lanes_stored,
    pack_patches,
    stored,
    weights_at,
)

AXES = st.builds(
    Axis, st.integers(1, 12), st.integers(1, 3), st.just(1), st.integers(0, 2), st.integers(0, 2)
)


def rows_of_patch(channel: np.ndarray, plan: PatchPlan, pair: int) -> np.ndarray:
    """The working memory [columns, 4] of a channel [rows, columns] when a pair is computed."""
    memory = np.zeros((plan.elements // 2, 4), int)
    columns = slice(plan.columns.before, plan.columns.before + channel.shape[1])
    for each in range(-1, pair + 1):
        memory[columns, 1::2] = memory[columns, ::2]
        for place, row in zip((0, 2), plan.new_rows(each), strict=True):
            memory[columns, place] = channel[row] if plan.is_row(row) else 0
    return memory


@given(AXES, AXES, st.integers(0, 99))
def test_an_output_is_one_sum_of_products(rows: Axis, columns: Axis, seed: int) -> None:
    if not PatchPlan.fits(rows, columns):
        return
    random, plan = np.random.default_rng(seed), PatchPlan(rows, columns)
    channel = random.integers(-128, 128, (rows.size, columns.size))
    weights = random.integers(-128, 128, (2, rows.kernel, columns.kernel)).astype(np.int8)
    packed = pack_patches(weights)
    padded = np.pad(channel, ((rows.before, rows.after), (columns.before, columns.after)))
    for y in range(rows.outputs):
        memory = rows_of_patch(channel, plan, y // 2).ravel()
        for x in range(columns.outputs):
            patch = memory[x // 2 * 8 :][:16]
            at = 32 + weights_at(y % 2, x % 2)
            window = padded[y : y + rows.kernel, x : x + columns.kernel]
            assert patch @ packed[at : at + 16] == (window * weights[1]).sum()


def test_whole_pairs_read_rows_of_the_map() -> None:
    padded = Axis(6, 3, 1, 1, 1)
    assert (PatchPlan(padded, padded).pairs, PatchPlan(padded, padded).whole) == (3, 2)
    assert PatchPlan(padded, padded).new_rows(-1) == (-1, 0)
    inner = Axis(6, 3)
    assert (PatchPlan(inner, inner).pairs, PatchPlan(inner, inner).whole) == (2, 2)


def test_the_working_memory_holds_padding_and_the_last_patch() -> None:
    rows = Axis(6, 3, 1, 1, 1)
    assert PatchPlan(rows, Axis(6, 3, 1, 1, 1)).elements == 16
    assert PatchPlan(rows, Axis(5, 3, 1, 1, 1)).elements == 16
    assert PatchPlan(rows, Axis(9, 3, 1, 2, 0)).elements == 24


def test_what_fits_and_what_pays() -> None:
    axis = Axis(6, 3, 1, 1, 1)
    assert PatchPlan.fits(axis, axis)
    for other in (Axis(9, 4), Axis(9, 3, 2), Axis(9, 3, 1, 3), Axis(9, 3, 1, 0, 0, 2), Axis(2, 3)):
        assert not PatchPlan.fits(axis, other)
        assert not PatchPlan.fits(other, axis)
    assert PatchPlan(axis, axis).pays
    assert not PatchPlan(axis, Axis(6, 2)).pays
    assert not PatchPlan(Axis(3, 3, 1, 1, 1), axis).pays


def test_distances_and_lanes() -> None:
    assert gathered(8, 100) == [0, 100, 8, 108, 16, 116, 24, 124]
    assert lanes_of(2, (True, True)) == 0b1111
    assert lanes_of(3, (False, True)) == 0b101010
    assert stored(8, 100) == [0, 16, 8, 24, 100, 116, 108, 124]
    assert lanes_stored(4, 2) == 255
    assert lanes_stored(1, 2) == 0b10001
    assert lanes_stored(3, 1) == 0b111
