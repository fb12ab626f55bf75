"""Which windows load whole vectors, also behind their runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.long_runs import BYTES, LongRuns


@given(
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(1, 30),
    st.integers(1, 3),
    st.integers(0, 9),
)
def test_no_load_reads_behind_the_row(
    size: int,
    kernel: int,
    stride: int,
    before: int,
    after: int,
    channels: int,
    groups: int,
    gap: int,
) -> None:
    """A run is the taps of one group; pixels may have gaps, but none behind the last one."""
    columns = Axis(size, kernel, stride, before, after)
    pixel, first = channels * groups + gap, (groups - 1) * channels
    run = pixel * (kernel - 1) + channels
    runs = LongRuns(run, columns, pixel, channels * groups, first)
    assert (run + runs.padding) % BYTES == 0
    assert 0 <= runs.padding < BYTES
    end = (size - 1) * pixel + channels * groups
    low, high = columns.interior()
    for column in range(low, high):
        last = columns.start(column) * pixel + first + run + runs.padding
        assert (last <= end) == (column < runs.safe)


def test_where_zeros_are_worth_their_flash() -> None:
    """An output saves an instruction, and a byte is worth four. Those behind take more."""
    runs = LongRuns(8, Axis(98, 1), 8, 8)
    assert runs.padding == 8
    assert runs.safe == 97
    assert runs.pays(1, 98)
    assert not LongRuns(8, Axis(60, 1), 8, 8).pays(1, 60)
    assert LongRuns(8, Axis(60, 1), 8, 8).pays(1, 98)
    assert not LongRuns(8, Axis(35, 1), 8, 8).pays(1, 1 << 20)
    assert not LongRuns(16, Axis(98, 1), 16, 16).pays(1, 1 << 20)
    assert not LongRuns(24, Axis(12, 3, 1, 1, 1), 8, 8).pays(3, 144)
    assert LongRuns(24, Axis(48, 3, 1, 1, 1), 8, 8).pays(3, 48 * 48)
