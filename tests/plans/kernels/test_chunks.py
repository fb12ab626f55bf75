"""The chunks of long runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.chunks import MOST_SHARED, REACH, Chunks
from npu_plans.kernels.gathers import BYTES


@given(st.integers(1, 60), st.sampled_from((0, 8, 16, 24, 32, 48)))
def test_chunks_cover_a_run_within_reach(vectors: int, apart: int) -> None:
    chunks = Chunks(BYTES * vectors, apart)
    assert 0 <= chunks.length - chunks.whole < chunks.size
    assert chunks.size % BYTES == chunks.whole % chunks.size == 0
    assert chunks.size + chunks.shared <= REACH
    if chunks.shared:
        assert chunks.shared == apart <= MOST_SHARED
        assert apart % BYTES == 0 < apart < chunks.length


def test_which_pixels_share_vectors() -> None:
    assert Chunks(48, 16).shared == 16
    assert Chunks(96, 32).shared == 32
    assert Chunks(96, 48).shared == 0
    assert Chunks(96, 24).shared == 0
    assert Chunks(32, 32).shared == 0
    assert Chunks(48, 0).shared == 0
