"""Whether inputs pay to be put into another layout, and how."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.input_plan import LEAST, SCALAR, VECTORS, Core, Given, Reader

POINTWISE = Reader(products=16, columns=1)
WINDOWS = Reader(products=144, columns=3)
PLAIN = Given(1, 8, 36, 288, room=288, spare=288, readers=[POINTWISE])


def test_all_pixels_are_a_copy() -> None:
    assert PLAIN.line(SCALAR) == PLAIN.pixels
    assert replace(PLAIN, images=2).line(SCALAR) == PLAIN.pixels


def test_a_line_is_the_largest_part_that_fits() -> None:
    tight = replace(PLAIN, room=287, readers=[WINDOWS])
    assert tight.line(SCALAR) == 18  # 9 lines of 18 bytes are 162; all 36 pixels are no line
    assert replace(tight, spare=161).line(SCALAR) == 12
    assert replace(tight, spare=9 * LEAST).line(SCALAR) == LEAST
    assert replace(tight, spare=9 * LEAST - 1).line(SCALAR) is None


def test_images_of_a_batch_do_not_move_in_place() -> None:
    tight = replace(PLAIN, room=0, readers=[WINDOWS])
    assert tight.line(SCALAR) is not None
    assert replace(tight, images=2).line(SCALAR) is None


@pytest.mark.parametrize(
    ("reader", "core", "pays"),
    [
        (replace(POINTWISE, products=16), SCALAR, True),
        (replace(POINTWISE, products=15), SCALAR, False),
        (WINDOWS, SCALAR, True),
        (replace(WINDOWS, products=9), SCALAR, False),
        (replace(WINDOWS, products=18), VECTORS, True),
        (replace(WINDOWS, products=9), VECTORS, False),
    ],
)
def test_layers_with_few_products_save_less_than_a_copy(
    reader: Reader, core: Core, pays: bool
) -> None:
    assert (replace(PLAIN, readers=[reader]).line(core) is not None) == pays


@given(st.integers(1, 40), st.integers(2, 120), st.integers(0, 3000), st.integers(0, 3000))
def test_what_is_chosen_fits(channels: int, pixels: int, room: int, spare: int) -> None:
    found = Given(1, channels, pixels, channels * pixels, room, spare, [POINTWISE]).line(SCALAR)
    if found == pixels:
        assert channels * pixels <= room
    elif found is not None:
        assert pixels % found == 0
        assert (channels + 1) * found <= spare
