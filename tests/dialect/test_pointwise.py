"""What layers do to single elements: how two become one, and which commute with a maximum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType
from xdsl.utils.exceptions import VerifyException

from npu_dialect.interpreters.pointwise import activate
from npu_dialect.npu.enums import Function
from npu_dialect.npu.functions import FUNCTIONS
from npu_dialect.npu.pointwise import (
    ActivationAttr,
    Bytes,
    FunctionAttr,
    PointwiseAttr,
    TableAttr,
    check_channels,
    kind_of,
)
from npu_dialect.npu.quantization import BYTE_TYPES, limits_of

BOUND = st.integers(-140, 270).map(float) | st.sampled_from([-np.inf, np.inf])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[PointwiseAttr, PointwiseAttr, Bytes]:
    """Two of bounds and tables of the same elements, and all bytes."""
    element = draw(st.sampled_from(BYTE_TYPES))
    low, high = limits_of(element)
    found: list[PointwiseAttr] = []
    for _ in range(2):
        if draw(st.booleans()):
            found.append(ActivationAttr.clamp(*sorted((draw(BOUND), draw(BOUND)))))
        else:
            entries = draw(st.lists(st.integers(low, high), min_size=256, max_size=256))
            found.append(TableAttr.of(element, np.array(entries).astype(kind_of(element))))
    values = np.arange(low, high + 1).astype(kind_of(element))
    return found[0], found[1], values


@given(case=pairs())
def test_two_in_a_row_are_one(case: tuple[PointwiseAttr, PointwiseAttr, Bytes]) -> None:
    first, second, values = case
    both = first.then(second)
    assert both is not None
    np.testing.assert_array_equal(activate(values, both), activate(activate(values, first), second))


def test_functions_do_not_become_one() -> None:
    silu, relu = FunctionAttr.of("silu"), ActivationAttr.relu()
    assert silu.then(relu) is relu.then(silu) is silu.then(silu) is None


@given(
    function=st.sampled_from(Function),
    arguments=st.lists(st.floats(-3, 3, width=32), min_size=2, max_size=2),
    numbers=st.lists(st.floats(-50, 50, width=32) | st.sampled_from([-np.inf, np.inf]), min_size=2),
)
def test_monotone_functions_keep_the_order(
    function: Function, arguments: list[float], numbers: list[float]
) -> None:
    what = FunctionAttr.of(function, arguments[: FUNCTIONS[function].parameters])
    values = activate(np.sort(np.array(numbers, np.float32)), what)
    if what.is_monotone:
        with np.errstate(invalid="ignore"):
            assert not np.isnan(values).any()
            assert (values[1:] >= values[:-1]).all()


@pytest.mark.parametrize("element", BYTE_TYPES)
def test_tables(element: IntegerType) -> None:
    same = TableAttr.identity(element)
    assert same.is_identity
    assert same.is_monotone
    back = TableAttr.of(element, same.entries[::-1])
    assert not back.is_monotone
    assert back.then(back) == same
    with pytest.raises(ValueError, match="expected bounds or a table"):
        same.then(FunctionAttr.of("exp"))


def test_bounds_without_end_change_nothing() -> None:
    assert ActivationAttr.clamp(-np.inf, np.inf).is_identity
    assert not ActivationAttr.relu().is_identity
    assert not FunctionAttr.of("exp").is_identity


def test_channels() -> None:
    slopes = FunctionAttr.of("prelu", [0.5, 0.25])
    check_channels(slopes, (1, 2, 3))
    check_channels(FunctionAttr.of("prelu", [0.5]), (7,))
    for shape in ((1, 3), (2,), ()):
        with pytest.raises(VerifyException, match="expected a map of 2 channels"):
            check_channels(slopes, shape)
