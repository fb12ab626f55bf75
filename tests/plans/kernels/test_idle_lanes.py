"""First values of sums as products of idle lanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.idle_lanes import constant, idle_words, is_worth_words, saved, weights_of


def lanes(words: int) -> list[int]:
    """What the lanes of some words are set to."""
    numbers = np.array([constant(word, words) for word in range(words)], "<i4")
    return numbers.view(np.int8).tolist()


def test_all_lanes_are_large_but_the_last_one() -> None:
    assert lanes(1) == [-128, -128, -128, 1]
    assert lanes(3) == [-128] * 11 + [1]


@given(st.lists(st.integers(-200_000, 200_000), min_size=1, max_size=9), st.integers(1, 3))
def test_products_of_the_lanes_are_the_first_values(values: list[int], words: int) -> None:
    found, largest = weights_of(np.array(values), words), max(map(abs, values))
    if found is None:
        assert largest > 16_250 * (4 * words - 1)
    else:
        count = found.shape[1] // 4
        assert count == words or (count == 1 and largest < 49_216)
        products = found.astype(np.int64) @ np.array(lanes(count))
        np.testing.assert_array_equal(products, values)


@pytest.mark.parametrize(("words", "value"), [(1, 49_215), (2, 114_751), (3, 180_287)])
def test_the_largest_values(words: int, value: int) -> None:
    for number, fits in ((value, True), (value + 1, False)):
        assert (weights_of(np.array([0, number]), words) is not None) == fits
        least = -number + 128 * (4 * words - 1) - 1  # that of -48832, for one word
        assert (weights_of(np.array([least]), words) is not None) == fits


def test_few_values_take_one_word() -> None:
    """Others take all words, so that layers of one shape share code."""
    small, large = (weights_of(np.array([value]), 3) for value in (49_215, 49_216))
    assert small is not None
    assert large is not None
    assert (small.shape, large.shape) == ((1, 4), (1, 12))


def test_no_word() -> None:
    assert weights_of(np.array([3]), 0) is None


@pytest.mark.parametrize(
    ("size", "words"), [(27, 1), (28, 1), (29, 0), (16, 0), (34, 3), (36, 3), (57, 1), (8, 2)]
)
def test_words_without_bytes_of_the_window(size: int, words: int) -> None:
    assert idle_words(size) == words


def test_lanes_are_set_where_that_takes_less_than_additions() -> None:
    assert saved(1, 2, 2, 1) == 1
    assert saved(2, 4, 1, 1) == 0
    assert saved(3, 4, 1, 1) == 2


def test_several_words_save_half_of_the_additions() -> None:
    assert saved(4, 2, 2, 3) == 6
    assert saved(2, 2, 2, 2) == 0


def test_several_words_are_worth_their_flash() -> None:
    """300 bytes of code, and a word for each filter, for four instructions a byte."""
    assert is_worth_words(16, 1, 0)
    assert is_worth_words(16, 2, 4 * 364)
    assert not is_worth_words(16, 2, 4 * 364 - 1)
