"""What may differ between quantised integers, as numbers without networks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_tools.verifying.judging import TIE, Array, judge, judge_rounded, spread


def rounded(reals: Array, shift: float = 0.0) -> Array:
    """What QuantizeLinear makes of real numbers, in steps."""
    return np.clip(np.rint(reals + shift), -128, 127).astype(np.int8)


def references(reals: Array) -> list[Array]:
    """The reference as it is, and with its ties rounded down and up."""
    return [rounded(reals, shift) for shift in (0.0, -TIE, TIE)]


def test_equal_integers() -> None:
    reals = np.linspace(-140, 140, 1000)
    judged = judge(rounded(reals), references(reals))
    assert (judged.steps, judged.ties, judged.wrong) == (0, 0, 0)


@pytest.mark.parametrize(
    ("real", "got", "wrong"),
    [
        (2.5, 2, False),
        (2.5, 3, False),
        (2.501, 2, False),
        (2.52, 2, True),
        (2.48, 3, True),
        (2.5, 4, True),
        (2.5, 1, True),
        (2.0, 3, True),
        (-3.499, -4, False),
        (-3.4, -4, True),
        (127.5, 127, False),
        (127.5, 126, True),
    ],
)
def test_only_ties_may_be_rounded_the_other_way(real: float, got: int, wrong: bool) -> None:
    judged = judge(np.array([got], np.int8), references(np.array([real])))
    assert bool(judged.wrong) is wrong


@given(st.integers(0, 2**32 - 1))
def test_errors_of_the_last_bits_are_ties(seed: int) -> None:
    """Many ties, computed with errors as float32 sums have them."""
    generator = np.random.default_rng(seed)
    reals = generator.integers(-300, 300, 500) / 2
    noise = generator.uniform(-1, 1, 500) * TIE * 0.9
    judged = judge(rounded(reals + noise), references(reals))
    assert judged.wrong == 0
    assert judged.steps <= 1
    assert judged.ties > 0


@pytest.mark.parametrize("factor", [0.99, 1.01, 1.003])
def test_a_scale_that_is_off_is_no_tie(factor: float) -> None:
    reals = np.random.default_rng(0).uniform(-100, 100, 1000)
    assert judge(rounded(reals * factor), references(reals)).wrong > 50


def test_unsigned_integers_do_not_wrap_around() -> None:
    judged = judge(np.array([255], np.uint8), [np.array([0], np.uint8)] * 3)
    assert (judged.steps, judged.wrong) == (255, 1)


@pytest.mark.parametrize(
    ("ones", "twos", "wrong"),
    [(0, 0, 0), (1, 0, 0), (10, 0, 0), (11, 0, 11), (0, 1, 1), (10, 1, 1)],
)
def test_few_may_be_off_where_ties_are_not_known(ones: int, twos: int, wrong: int) -> None:
    plain = np.zeros(1000, np.int8)
    got = plain.copy()
    got[:ones] = 1
    got[ones : ones + twos] = -2
    assert judge_rounded(got, plain).wrong == wrong


def test_one_of_few_may_be_off() -> None:
    assert judge_rounded(np.array([1, 5], np.int8), np.array([0, 5], np.int8)).wrong == 0
    assert judge_rounded(np.array([1, 6], np.int8), np.array([0, 5], np.int8)).wrong == 2


def test_spread_of_references() -> None:
    one, other = np.array([1.0, 5.0], np.float32), np.array([1.5, 2.0], np.float32)
    assert spread([one, one]) == 0
    assert spread([one, other, one]) == 3
    assert spread([np.array([0], np.uint8), np.array([255], np.uint8)]) == 255
