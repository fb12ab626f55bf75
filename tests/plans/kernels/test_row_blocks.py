"""The table of a kernel that multiplies vectors with blocks of four filters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.gathers import BYTES
from npu_plans.kernels.row_blocks import REACH, WORDS, RowBlocks


@given(
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.integers(0, 15),
    st.integers(0, 99),
)
def test_each_filter_has_its_row_its_bias_and_its_scale(
    vectors: int, filters: int, groups: int, biases: bool, scales: bool, rest: int, seed: int
) -> None:
    """Bytes behind the taps are zero; a last block of fewer filters is shorter."""
    random, plan = np.random.default_rng(seed), RowBlocks(vectors, filters, biases, scales)
    count, taps = groups * filters, vectors * BYTES - rest
    weights = random.integers(-128, 128, (count, taps)).astype(np.int8)
    bias = random.integers(-(2**31), 2**31, count)
    scale = random.uniform(0.001, 1, count).astype(np.float32)
    words = plan.table(weights, bias, scale)
    assert words.dtype == np.int32
    assert len(words) == groups * plan.size
    assert plan.behind == 0
    for number in range(count):
        group, filter = divmod(number, filters)
        lane, place = filter % 4, group * plan.size + filter // 4 * plan.pitch
        block = min(4, filters - filter // 4 * 4)
        if scales:
            assert words[place + lane].view(np.float32) == scale[number]
        if biases:
            assert words[place + block * (plan.head - 1) + lane] == bias[number]
        row = place + block * plan.head
        own = words[row : row + block * vectors * WORDS].reshape(vectors, block, WORDS)
        found = np.ascontiguousarray(own[:, lane]).view(np.int8).ravel()
        np.testing.assert_array_equal(found[:taps], weights[number])
        assert not found[taps:].any()


@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(1, 2),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_last_vectors_of_runs_have_tails(
    runs: int, vectors: int, filters: int, groups: int, tail: int, seed: int
) -> None:
    """A load of the very last one reads words behind all blocks."""
    plan = RowBlocks(runs * vectors, filters, biases=True, scales=False, runs=runs, tail=tail)
    count, random = groups * filters, np.random.default_rng(seed)
    weights = random.integers(-128, 128, (count, runs * vectors * BYTES)).astype(np.int8)
    words = plan.table(weights, np.arange(count), np.ones(count, np.float32))
    assert len(words) == groups * plan.size + 4 - tail
    for number in range(count):
        group, filter = divmod(number, filters)
        lane, place = filter % 4, group * plan.size + filter // 4 * plan.pitch
        block = min(4, filters - filter // 4 * 4)
        assert words[place + lane] == number
        for vector in range(runs * vectors):
            size = tail if (vector + 1) % vectors == 0 else 4
            assert plan.words(vector) == size
            first = place + block * (1 + plan.in_front(vector)) + lane * size
            found = words[first : first + size].view(np.int8)
            own = weights[number, vector * BYTES : vector * BYTES + 4 * size]
            np.testing.assert_array_equal(found, own)
    assert plan.in_front(runs * vectors) == plan.row == runs * plan.run


@pytest.mark.parametrize(("vectors", "near"), [(1, 5), (2, 3), (3, 2), (5, 1), (14, 1)])
def test_near_blocks_share_a_pointer(vectors: int, near: int) -> None:
    plan = RowBlocks(vectors, 32, biases=True, scales=True)
    assert plan.near == near
    assert near == 1 or near * plan.pitch <= REACH < (near + 1) * plan.pitch


def test_what_stays_in_registers() -> None:
    """Two of eight become sums, and one more has first values, unless vectors are on the stack."""
    two, three, four = (RowBlocks(vectors, 8, biases=True, scales=True) for vectors in (2, 3, 4))
    assert two.stays(2, 2)
    assert not two.stays(2, 3)
    assert three.stays(2, 0)
    assert not four.stays(2, 0)
    assert two.biased(4, 2, packed=False)
    assert not two.biased(3, 2, packed=False)
    assert not three.biased(4, 2, packed=False)
    assert three.biased(4, 1, packed=False)
    assert three.biased(4, 2, packed=True)
    assert not RowBlocks(2, 8, biases=False, scales=True).biased(4, 2, packed=False)
